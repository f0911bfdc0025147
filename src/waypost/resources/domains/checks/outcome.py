"""Decide what a check changes of a domain: pure. No answer from the name servers is no failure."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

from waypost.outbound import TlsProbeResult
from waypost.resources.domains.checks.verification import DnsVerdict
from waypost.resources.domains.model import Domain, DomainStatus

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
    next_check = now + EVERY - timedelta(seconds=domain.id.int % _SPREAD)
    failures = min(domain.failures + 1, _FAILURES_COUNTED)
    status: DomainStatus = "verified"
    went: Literal["up", "down"] | None = None
    if verdict.outcome == "verified":
        went = None if domain.is_live else "up"
        changed: dict[str, Any] = {"is_live": True, "verified_at": now, "failures": 0, "unverified_since": None}
        changed["check_at"] = now + AFTER_LIVE if went else next_check
    elif not domain.is_live:
        status, changed = "failed", {"failures": failures, "check_at": None}
    elif verdict.outcome == "unclear":
        changed = {"check_at": now + AFTER_NO_ANSWER}
    elif failures < MAX_FAILURES:
        changed = {"failures": failures, "check_at": next_check}
    else:
        status, went = "failed", "down"
        changed = {"failures": failures, "check_at": None, "is_live": False, "unverified_since": now}
    changed |= {"status": status, "error": verdict.error, "last_checked_at": now, "leased_until": None}
    if (status, verdict.error) != (domain.status, domain.error):
        changed["updated_at"] = now
    return CheckResult(changed, went)


def apply_probe(domain: Domain, probe: TlsProbeResult, *, is_issuing: bool) -> Mapping[str, Any]:
    """The columns to change. `is_issuing`: the certificates are ours, so only an error of serving them is new."""
    if is_issuing:
        found: dict[str, Any] = {"tls_error": probe.reason or None} if domain.tls_status == "active" else {}
    else:
        status = {"good": "active", "bad": "failed", "none": "none"}[probe.outcome]
        found = {"tls_status": status, "tls_expires_at": probe.expires_at}
        found["tls_error"] = probe.reason if probe.outcome == "bad" else None
    return {name: value for name, value in found.items() if value != getattr(domain, name)}
