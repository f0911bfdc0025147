"""Checks of domains: DNS verification, the TLS probe of verified ones, and the expiry of unverified ones."""

from waypost.resources.domains.checks.checker import Checker, LiveChanged, check_loop
from waypost.resources.domains.checks.expiry import remove_expired

__all__ = ["Checker", "LiveChanged", "check_loop", "remove_expired"]
