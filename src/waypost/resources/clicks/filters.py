"""Filters of clicks, read from the query of a URL. All problems of a query are reported together."""

import re
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Final, Literal, get_args
from uuid import UUID

from sqlalchemy import ColumnElement

from waypost.kit.clock import parse_timestamp
from waypost.kit.errors import Problems
from waypost.kit.fields import ONE_LINE, text_problem
from waypost.kit.ids import parse_id
from waypost.resources.clicks.model import HUMAN, KINDS, ClickKind, clicks

if TYPE_CHECKING:
    from starlette.datastructures import QueryParams

ALL: Final = "all"
ClickKindFilter = Literal[ClickKind, "all"]
DEVICES = ("desktop", "mobile", "tablet", "other")
MAX_TEXT = 2048
TEXT_SCHEMA = {"type": "string", "maxLength": MAX_TEXT, "pattern": ONE_LINE}
FILTERS = ("from", "to", "country", "device", "browser", "platform", "referrer", "kind")

FilterField = Literal["country", "referrer", "device", "browser", "platform"]

UNKNOWN: Mapping[FilterField, str] = {"country": "unknown", "referrer": "direct"}
"""Parameter values that select the empty string: an empty parameter counts as not sent."""

_COUNTRY = re.compile(r"[A-Z][A-Z0-9]")
_TEXTS: tuple[FilterField, ...] = ("browser", "platform", "referrer")
_SPACE_BEFORE_OFFSET = re.compile(r"(?<=\d) (?=\d{2}:?\d{2}$)")


@dataclass(frozen=True, slots=True)
class ClickFilter:
    kind: ClickKind | None = HUMAN
    """None: every kind."""
    start: datetime | None = None
    end: datetime | None = None
    values: dict[FilterField, str] = field(default_factory=dict)

    @property
    def conditions(self) -> list[ColumnElement[bool]]:
        """SQL conditions, without those on time."""
        conditions = [clicks.c[name] == value for name, value in self.values.items()]
        return conditions if self.kind is None else [clicks.c.kind == self.kind, *conditions]


def check_names(query: "QueryParams", names: Collection[str], problems: Problems) -> None:
    """Report unknown names, and repeated ones: their meaning would be ambiguous."""
    for name, count in Counter(name for name, _ in query.multi_items()).items():
        if name not in names:
            problems.add(name, f"Unknown parameter. Use one of: {', '.join(names)}.")
        elif count > 1:
            problems.add(name, "This must be sent only once.")


def read_filter(query: "QueryParams", problems: Problems, now: datetime) -> ClickFilter:
    start, end = read_time_range(query, problems, now)
    values: dict[FilterField, str] = {name: query[name] for name in get_args(FilterField) if name in query}
    for name in _TEXTS:
        text = values.get(name, "")
        if problem := text_problem(text):
            problems.add(name, problem)
        if len(text) > MAX_TEXT:
            problems.add(name, f"This must have at most {MAX_TEXT} characters.")
    if "country" in values:
        values["country"] = values["country"].upper()
        if not _COUNTRY.fullmatch(values["country"]) and query["country"] != UNKNOWN["country"]:
            problems.add("country", "This must be a two-letter country code, such as DE, or unknown.")
    if "device" in values:
        check_choice("device", values["device"], DEVICES, problems)
    check_choice("kind", query.get("kind", HUMAN), (*KINDS, ALL), problems)
    kind = next((kind for kind in KINDS if kind == query.get("kind", HUMAN)), None)
    values |= dict.fromkeys((name for name, word in UNKNOWN.items() if query.get(name) == word), "")
    return ClickFilter(kind, start, end, values)


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


def read_link_id(query: "QueryParams", problems: Problems) -> UUID | None:
    text = query.get("link_id")
    link_id = None if text is None else parse_id(text)
    if text is not None and link_id is None:
        problems.add("link_id", "This must be a UUID.")
    return link_id


def check_choice(name: str, text: str, choices: Collection[str], problems: Problems) -> None:
    if text not in choices:
        problems.add(name, f"This must be one of: {', '.join(choices)}.")


def _timestamp(name: str, query: "QueryParams", problems: Problems) -> datetime | None:
    if name not in query:
        return None
    text = _SPACE_BEFORE_OFFSET.sub("+", query[name])  # a `+` that was not written as %2B reads as a space
    try:
        return parse_timestamp(text)
    except ValueError:
        problems.add(name, "This must be a date and time in ISO 8601 format, such as 2030-01-31T12:00:00Z.")
        return None
