"""What a check makes of a domain: pure. Three failures in a row take a live one down, and silence is none of them."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

from waypost.outbound import TlsProbeResult
from waypost.resources.domains.checks.findings import Proof
from waypost.resources.domains.model import Domain

STRIKES = 3
EVERY = timedelta(days=1)
AGAIN = timedelta(hours=1)
"""After a check of a live domain that nobody answered."""
SOON = timedelta(minutes=15)
"""After it went live: by then a proxy in front may have a certificate for it."""
_SPREAD = 3600
"""Seconds by which checks come earlier, each domain's by its own part of it: those proven together part again."""
_MOST_FAILURES = 1_000


@dataclass(frozen=True, slots=True)
class Settled:
    values: Mapping[str, Any]
    went: Literal["up", "down"] | None = None


def settled(domain: Domain, proof: Proof, now: datetime) -> Settled:
    if proof.outcome == "proven":
        proven = _proven(domain, now)
        return Settled(proven) if domain.is_live else Settled({**proven, "check_at": now + SOON}, "up")
    if domain.is_live:
        return _doubted(domain, proof, now)
    failed = {"status": "failed", "failures": _more(domain), "check_at": None}
    return Settled({**_checked(domain, proof, "failed", now), **failed})


def probed(domain: Domain, seen: TlsProbeResult, *, is_issuing: bool) -> Mapping[str, Any]:
    """Empty when nothing changes. `is_issuing`: the certificates are ours, and only how they arrive is news."""
    if is_issuing:
        found: dict[str, Any] = {"tls_error": seen.reason or None} if domain.tls_status == "active" else {}
    elif seen.outcome == "good":
        found = {"tls_status": "active", "tls_expires_at": seen.expires_at, "tls_error": None}
    elif seen.outcome == "bad":
        found = {"tls_status": "failed", "tls_expires_at": None, "tls_error": seen.reason}
    else:
        found = {"tls_status": "none", "tls_expires_at": None, "tls_error": None}
    return {name: value for name, value in found.items() if value != getattr(domain, name)}


def _proven(domain: Domain, now: datetime) -> dict[str, Any]:
    return {
        **_checked(domain, Proof("proven"), "verified", now),
        "is_live": True,
        "verified_at": now,
        "failures": 0,
        "unverified_since": None,
        "check_at": _next(domain, now),
    }


def _doubted(domain: Domain, proof: Proof, now: datetime) -> Settled:
    if proof.outcome == "unclear":
        return Settled({**_checked(domain, proof, "verified", now), "check_at": now + AGAIN})
    strikes = {"failures": _more(domain)}
    if strikes["failures"] < STRIKES:
        return Settled({**_checked(domain, proof, "verified", now), **strikes, "check_at": _next(domain, now)})
    down = {"is_live": False, "unverified_since": now, "check_at": None}
    return Settled({**_checked(domain, proof, "failed", now), **strikes, **down}, "down")


def _checked(domain: Domain, proof: Proof, status: str, now: datetime) -> dict[str, Any]:
    values = {"status": status, "error": proof.error, "last_checked_at": now, "leased_until": None}
    is_news = (status, proof.error) != (domain.status, domain.error)
    return {**values, "updated_at": now} if is_news else values


def _more(domain: Domain) -> int:
    return min(domain.failures + 1, _MOST_FAILURES)


def _next(domain: Domain, now: datetime) -> datetime:
    return now + EVERY - timedelta(seconds=domain.id.int % _SPREAD)
