"""Logos of domains and accounts, which QR codes show."""

from waypost.resources.domains.logos.model import Logo
