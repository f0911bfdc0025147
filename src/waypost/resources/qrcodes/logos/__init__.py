"""Logos in QR codes, of the account and of its domains: uploaded, shown, deleted."""
