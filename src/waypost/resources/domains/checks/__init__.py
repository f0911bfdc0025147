"""Checks of domains: DNS verification, the TLS probe of verified ones, and the expiry of unverified ones."""

from waypost.resources.domains.checks.checker import Checker, delete_expired
