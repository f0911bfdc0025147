"""Checks of domains: DNS verification, the TLS probe of verified ones, and the expiry of unverified ones."""

from waypost.resources.domains.checks.checker import Checker, LiveChanged, check_loop
from waypost.resources.domains.checks.expiry import ClaimExpiry

__all__ = ["Checker", "ClaimExpiry", "LiveChanged", "check_loop"]
