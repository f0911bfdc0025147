"""Reads archives of accounts of Waypost, and imports them. docs/reference/export.md."""
