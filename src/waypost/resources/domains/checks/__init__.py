"""Checks whether domains are still proven, ends claims that never were, and sees how proven ones answer over TLS."""

from waypost.resources.domains.checks.checker import Checker, LiveChanged, check_loop
from waypost.resources.domains.checks.expiry import Expiry

__all__ = ["Checker", "Expiry", "LiveChanged", "check_loop"]
