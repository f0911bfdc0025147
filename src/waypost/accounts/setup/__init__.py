"""How people and accounts begin: sign-up, the first start, and set-up by the owner."""
