"""Decide what a check changes of a domain: pure. No answer from the name servers is no failure."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

from waypost.outbound import TlsProbeResult
from waypost.resources.domains.checks.verification import DnsVerdict
from waypost.resources.domains.model import Domain

MAX_FAILURES = 3
"""Failed checks in a row until a live domain goes down."""
EVERY = timedelta(days=1)
AFTER_NO_ANSWER = timedelta(hours=1)
AFTER_LIVE = timedelta(minutes=15)
"""After the domain went live: by then a proxy in front may have a certificate for it."""
_SPREAD = 3600
"""Checks come earlier by up to so many seconds, by domain, so that those verified together do not stay together."""
_FAILURES_COUNTED = 1_000


@dataclass(frozen=True, slots=True)
class CheckResult:
    values: Mapping[str, Any]
    """Columns to change."""
    went: Literal["up", "down"] | None = None


def apply_verdict(domain: Domain, verdict: DnsVerdict, now: datetime) -> CheckResult:
    if verdict.outcome == "verified":
        verified = _verified(domain, now)
        return (
            CheckResult(verified) if domain.is_live else CheckResult({**verified, "check_at": now + AFTER_LIVE}, "up")
        )
    if domain.is_live:
        return _failed_live(domain, verdict, now)
    failed = {"status": "failed", "failures": _count_failure(domain), "check_at": None}
    return CheckResult({**_checked(domain, verdict, "failed", now), **failed})


def apply_probe(domain: Domain, probe: TlsProbeResult, *, is_issuing: bool) -> Mapping[str, Any]:
    """The columns to change. `is_issuing`: the certificates are ours, so only an error of serving them is new."""
    if is_issuing:
        found: dict[str, Any] = {"tls_error": probe.reason or None} if domain.tls_status == "active" else {}
    elif probe.outcome == "good":
        found = {"tls_status": "active", "tls_expires_at": probe.expires_at, "tls_error": None}
    elif probe.outcome == "bad":
        found = {"tls_status": "failed", "tls_expires_at": None, "tls_error": probe.reason}
    else:
        found = {"tls_status": "none", "tls_expires_at": None, "tls_error": None}
    return {name: value for name, value in found.items() if value != getattr(domain, name)}


def _verified(domain: Domain, now: datetime) -> dict[str, Any]:
    return {
        **_checked(domain, DnsVerdict("verified"), "verified", now),
        "is_live": True,
        "verified_at": now,
        "failures": 0,
        "unverified_since": None,
        "check_at": _next_check(domain, now),
    }


def _failed_live(domain: Domain, verdict: DnsVerdict, now: datetime) -> CheckResult:
    if verdict.outcome == "unclear":
        return CheckResult({**_checked(domain, verdict, "verified", now), "check_at": now + AFTER_NO_ANSWER})
    failures: dict[str, Any] = {"failures": _count_failure(domain)}
    if failures["failures"] < MAX_FAILURES:
        return CheckResult(
            {**_checked(domain, verdict, "verified", now), **failures, "check_at": _next_check(domain, now)}
        )
    down = {"is_live": False, "unverified_since": now, "check_at": None}
    return CheckResult({**_checked(domain, verdict, "failed", now), **failures, **down}, "down")


def _checked(domain: Domain, verdict: DnsVerdict, status: str, now: datetime) -> dict[str, Any]:
    values = {"status": status, "error": verdict.error, "last_checked_at": now, "leased_until": None}
    is_changed = (status, verdict.error) != (domain.status, domain.error)
    return {**values, "updated_at": now} if is_changed else values


def _count_failure(domain: Domain) -> int:
    return min(domain.failures + 1, _FAILURES_COUNTED)


def _next_check(domain: Domain, now: datetime) -> datetime:
    return now + EVERY - timedelta(seconds=domain.id.int % _SPREAD)
