"""What a visit of a destination says of its link, and when it is visited again. Pure."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Literal

from waypost.kit.clock import parse_timestamp, timestamp
from waypost.kit.urls import BadUrl
from waypost.outbound import BadCertificate, NoSuchHost, NotPublic, OutboundError, Unreachable, Unsafe
from waypost.resources.links import rules
from waypost.resources.links.health.model import LinkHealth

DAYS_UNTIL_BROKEN = 3
_GONE = frozenset({404, 410})
_DAY = timedelta(days=1)
_FEW_VISITS = 5
"""With fewer visits in an hour, nothing can be said of the network."""

VisitResult = Literal["ok", "uncertain", "gone"]
_SEVERITY: tuple[VisitResult, ...] = ("ok", "uncertain", "gone")


@dataclass(frozen=True, slots=True)
class DestinationVisit:
    """What a visit of a destination found."""

    result: VisitResult
    http_status: int | None = None
    reason: str | None = None
    failed_at_network: bool = False
    """Whether no server answered: that can be our fault."""

    def to_held(self, at: datetime) -> dict[str, Any]:
        return asdict(self) | {"at": timestamp(at)}


def read_held(held: dict[str, Any]) -> tuple[DestinationVisit, datetime]:
    return DestinationVisit(**{name: held[name] for name in DestinationVisit.__dataclass_fields__}), parse_timestamp(
        held["at"]
    )


def visit_with_status(status: int) -> DestinationVisit:
    """Some sites answer people but not us, and some the other way round: only what is plainly gone counts as gone."""
    if status < 400:
        return DestinationVisit("ok", status)
    return DestinationVisit("gone" if status in _GONE else "uncertain", status, f"the server responded {status}")


def visit_with_error(error: OutboundError | BadUrl) -> DestinationVisit:
    if isinstance(error, Unreachable):
        is_gone = isinstance(error, NoSuchHost | BadCertificate)
        return DestinationVisit("gone" if is_gone else "uncertain", None, error.in_words, error.is_of_network)
    reason = (
        rules.NOT_PUBLIC if isinstance(error, NotPublic) else rules.UNSAFE if isinstance(error, Unsafe) else str(error)
    )
    return DestinationVisit("uncertain", None, reason)


def worst(visits: Iterable[tuple[str, DestinationVisit]]) -> DestinationVisit:
    """Return the worst visit of a link's destinations, the first of which is that of the link itself."""
    (_, own), *others = visits
    found = own
    for url, visit in others:
        if _SEVERITY.index(visit.result) > _SEVERITY.index(found.result):
            found = replace(visit, reason=f"{url}: {visit.reason}")
    return found


def after_visit(before: LinkHealth, visit: DestinationVisit, at: datetime, next_regular: datetime) -> LinkHealth:
    """Return the health after a visit. `next_regular`: when the destination is visited next if nothing is wrong."""
    if visit.result == "ok":
        since = before.since if before.status == "ok" else at
        return LinkHealth(before.link_id, before.account_id, next_regular, "ok", at, visit.http_status, since=since)
    is_first = not before.failures
    is_new_day = is_first or before.checked_at is None or before.checked_at.date() != at.date()
    failures = before.failures + is_new_day
    gone_days = before.gone_days + (visit.result == "gone" and (is_new_day or not before.gone_days))
    failed = replace(
        before,
        status="broken" if gone_days >= DAYS_UNTIL_BROKEN else "uncertain",
        checked_at=at,
        since=at if is_first else before.since,
        failures=failures,
        gone_days=gone_days,
        due_at=at + _DAY if failures < DAYS_UNTIL_BROKEN else next_regular,
        held=None,
    )
    if before.status == "broken" and visit.result != "gone":  # it says nothing new, so what is known stays
        return failed
    return replace(failed, http_status=visit.http_status, reason=visit.reason)


def failed_at_network(visits: int, failures: int) -> bool:
    """Return whether so many of an hour's visits failed at the network that it is rather ours."""
    return visits >= _FEW_VISITS and failures * 2 > visits
