"""Parameters of statistics and of lists of clicks in a URL. All problems of a query are reported together."""

from collections import Counter
from collections.abc import Collection
from datetime import datetime
from typing import TYPE_CHECKING, Final, Literal

from waypost.kit.clock import parse_query_timestamp
from waypost.kit.errors import Problems
from waypost.resources.clicks.filters import ACCOUNT_FILTERS, ClickFilter, FilterName, Filters
from waypost.resources.clicks.model import HUMAN, KINDS, ClickKind

if TYPE_CHECKING:
    from starlette.datastructures import QueryParams

ALL: Final = "all"
ClickKindFilter = Literal[ClickKind, "all"]


def check_names(query: "QueryParams", names: Collection[str], problems: Problems) -> None:
    """Report unknown names, and repeated ones: the meaning of all but filters would be ambiguous."""
    for name, count in Counter(name for name, _ in query.multi_items()).items():
        if name not in names:
            problems.add(name, f"Unknown parameter. Use one of: {', '.join(names)}.")
        elif count > 1 and name not in ACCOUNT_FILTERS:
            problems.add(name, "This must be sent only once.")


def read_click_filter(
    query: "QueryParams", names: Collection[FilterName], problems: Problems, now: datetime
) -> ClickFilter:
    start, end = read_time_range(query, problems, now)
    check_choice("kind", query.get("kind", HUMAN), (*KINDS, ALL), problems)
    kind = next((kind for kind in KINDS if kind == query.get("kind", HUMAN)), None)
    return ClickFilter(kind, start, end, Filters.read(query.multi_items(), names, problems))


def read_time_range(query: "QueryParams", problems: Problems, now: datetime) -> tuple[datetime | None, datetime | None]:
    """Return (start, end)."""
    start, end = _timestamp("from", query, problems), _timestamp("to", query, problems)
    if start and start >= now:
        problems.add("from", "This must be a time in the past. Send an earlier one, or leave it out.")
    elif start and end:
        check_order(start, end, problems)
    return start, end


def check_order(start: datetime, end: datetime, problems: Problems) -> None:
    if start >= end:
        problems.add("from", "This must be earlier than `to`.")


def check_choice(name: str, text: str, choices: Collection[str], problems: Problems) -> None:
    if text not in choices:
        problems.add(name, f"This must be one of: {', '.join(choices)}.")


def _timestamp(name: str, query: "QueryParams", problems: Problems) -> datetime | None:
    if name not in query:
        return None
    try:
        return parse_query_timestamp(query[name])
    except ValueError:
        problems.add(name, "This must be a date and time in ISO 8601 format, such as 2030-01-31T12:00:00Z.")
        return None
