"""Logos of domains and accounts, which QR codes show."""
