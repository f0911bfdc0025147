"""All data of an account: export, archive and deletion."""
