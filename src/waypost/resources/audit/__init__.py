"""The audit log of an account in the dashboard: pages, download, export and retention. `waypost.audit` writes it."""
