"""Attacks on a running service, and their effect on other users."""
