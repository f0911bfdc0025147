"""Members of accounts: roles, invitations, and the transfer of ownership."""
