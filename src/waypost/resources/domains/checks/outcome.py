"""Decides what a check changes of a domain, as pure functions. A lookup without a response is not a failure."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from waypost.outbound import TlsProbeResult
from waypost.resources.domains.checks.verification import DnsVerdict
from waypost.resources.domains.model import Domain, DomainStatus

MAX_FAILURES = 3
"""Failed checks in a row after which a domain is no longer served."""
CHECK_INTERVAL = timedelta(days=1)
RETRY_INTERVAL = timedelta(hours=1)
RECHECK_AFTER_SERVED = timedelta(minutes=15)
"""After this a proxy in front may have a certificate for a new domain."""
_SPREAD = 3600
"""A check comes up to this many seconds earlier, by domain, so that checks of many domains spread over time."""
_MAX_COUNTED_FAILURES = 1_000


@dataclass(frozen=True, slots=True)
class CheckResult:
    values: Mapping[str, Any]
    """Columns to change."""
    check_at: datetime
    """When the next check is due."""
    is_now_served: bool | None = None
    """New value of `is_served`; None if unchanged."""


def apply_verdict(domain: Domain, verdict: DnsVerdict, now: datetime) -> CheckResult:
    check_at = now + CHECK_INTERVAL - timedelta(seconds=domain.id.int % _SPREAD)
    failures = min(domain.failures + 1, _MAX_COUNTED_FAILURES)
    status: DomainStatus = "verified"
    is_now_served = None
    if verdict.outcome == "verified":
        is_now_served = None if domain.is_served else True
        values: dict[str, Any] = {"is_served": True, "verified_at": now, "failures": 0, "unverified_since": None}
        check_at = now + RECHECK_AFTER_SERVED if is_now_served else check_at
    elif not domain.is_served:
        status, check_at, values = "failed", now + _wait(failures), {"failures": failures}
    elif verdict.outcome == "unclear":
        check_at, values = now + RETRY_INTERVAL, {}
    elif failures < MAX_FAILURES:
        values = {"failures": failures}
    else:
        status, is_now_served, check_at = "failed", False, now + RETRY_INTERVAL
        values = {"failures": failures, "is_served": False, "unverified_since": now}
    values |= {"status": status, "error": verdict.error, "last_checked_at": now}
    if (status, verdict.error) != (domain.status, domain.error):
        values["updated_at"] = now
    return CheckResult(values, check_at, is_now_served)


def _wait(failures: int) -> timedelta:
    """Records appear within minutes, or hours. A domain that stays unverified is removed after days."""
    return min(timedelta(minutes=2 ** min(failures, 6)), RETRY_INTERVAL)


def apply_probe(domain: Domain, probe: TlsProbeResult, *, is_issuing: bool) -> Mapping[str, Any]:
    """Return the columns to change. `is_issuing`: this service obtains the certificates, so only errors are new."""
    if is_issuing:
        values: dict[str, Any] = {"tls_error": probe.reason or None} if domain.tls_status == "active" else {}
    else:
        status = {"good": "active", "bad": "failed", "none": "none"}[probe.outcome]
        values = {"tls_status": status, "tls_expires_at": probe.expires_at}
        values["tls_error"] = probe.reason if probe.outcome == "bad" else None
    return {name: value for name, value in values.items() if value != getattr(domain, name)}
