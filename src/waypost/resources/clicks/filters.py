"""What a query string asks of clicks. Every name and value that does not exist is told, all in one answer."""

import re
from collections import Counter
from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Final
from uuid import UUID

from starlette.requests import Request

from waypost.kit.clock import parse_timestamp
from waypost.kit.errors import Problems
from waypost.kit.fields import ONE_LINE, text_problem
from waypost.kit.ids import parse_id
from waypost.resources.clicks.listing import Filters, Value
from waypost.resources.clicks.model import HUMAN, KINDS, ClickKind
from waypost.web import parameter, read_query

ALL: Final = "all"
DEVICES = ("desktop", "mobile", "tablet", "other")
MAX_TEXT = 2048
FILTERS = ("from", "to", "country", "device", "browser", "platform", "referrer", "kind")

UNKNOWN: Mapping[Value, str] = {"country": "unknown", "referrer": "direct"}
"""What to ask for where the click object holds the empty string: an empty parameter is an absent one."""

_TEXT = {"type": "string"}
_LINE = {**_TEXT, "maxLength": MAX_TEXT, "pattern": ONE_LINE}
PERIOD_PARAMETERS = (
    parameter("from", {**_TEXT, "format": "date-time"}, "Start of the period"),
    parameter("to", {**_TEXT, "format": "date-time"}, "End of the period, exclusive"),
)
PARAMETERS = (
    *PERIOD_PARAMETERS,
    parameter(
        "country",
        {**_TEXT, "pattern": f"^([A-Za-z][A-Za-z0-9]|{UNKNOWN['country']})$"},
        f"Two-letter country code, or `{UNKNOWN['country']}`",
    ),
    parameter("device", {**_TEXT, "enum": list(DEVICES)}, "Type of device"),
    parameter("browser", _LINE, "Browser family"),
    parameter("platform", _LINE, "Operating system family"),
    parameter("referrer", _LINE, f"Origin and path of the referring page, or `{UNKNOWN['referrer']}`"),
    parameter("kind", {**_TEXT, "enum": [*KINDS, ALL], "default": HUMAN}, "Kind of visitor; only people are clicks"),
)
"""For the OpenAPI document."""

_COUNTRY = re.compile(r"[A-Z][A-Z0-9]")
_TEXTS: tuple[Value, ...] = ("browser", "platform", "referrer")
_SPACE_BEFORE_OFFSET = re.compile(r"(?<=\d) (?=\d{2}:?\d{2}$)")


def only(request: Request, names: Collection[str], problems: Problems) -> None:
    """Names that do not exist, and those given twice: two readers may take two different ones."""
    for name, count in Counter(name for name, _ in read_query(request).multi_items()).items():
        if name not in names:
            problems.add(name, f"There is no such parameter. There are: {', '.join(names)}.")
        elif count > 1:
            problems.add(name, "This may be given only once.")


def read_filters(request: Request, problems: Problems, now: datetime) -> Filters:
    given = read_query(request)
    start, end = read_period(given, problems, now)
    values: dict[Value, str] = {}
    for name in (*_TEXTS, "country", "device"):
        if name in given:
            values[name] = given[name]
    for name in _TEXTS:
        _look_at_text(name, values.get(name, ""), problems)
    if "country" in values:
        values["country"] = values["country"].upper()
        if not _COUNTRY.fullmatch(values["country"]) and given["country"] != UNKNOWN["country"]:
            problems.add("country", "This must be a country's code of two letters, or `unknown`.")
    if "device" in values:
        choice("device", values["device"], DEVICES, problems)
    values |= dict.fromkeys((name for name, word in UNKNOWN.items() if given.get(name) == word), "")
    return Filters(_kind(given.get("kind", HUMAN), problems), start, end, values)


def read_period(given: Mapping[str, str], problems: Problems, now: datetime) -> tuple[datetime | None, datetime | None]:
    start, end = _moment("from", given, problems), _moment("to", given, problems)
    if start and start >= now:
        problems.add("from", "This must be a time in the past. Send an earlier one, or leave it out.")
    elif start and end:
        in_order(start, end, problems)
    return start, end


def in_order(start: datetime, end: datetime, problems: Problems) -> None:
    if start >= end:
        problems.add("from", "This must be earlier than `to`.")


def read_link_id(request: Request, problems: Problems) -> UUID | None:
    text = read_query(request).get("link_id")
    found = None if text is None else parse_id(text)
    if text is not None and found is None:
        problems.add("link_id", "This must be a UUID.")
    return found


def choice(name: str, text: str, choices: Collection[str], problems: Problems) -> None:
    if text not in choices:
        problems.add(name, f"This must be one of: {', '.join(choices)}.")


def _kind(text: str, problems: Problems) -> ClickKind | None:
    choice("kind", text, (*KINDS, ALL), problems)
    return next((kind for kind in KINDS if kind == text), None)


def _moment(name: str, given: Mapping[str, str], problems: Problems) -> datetime | None:
    if name not in given:
        return None
    text = _SPACE_BEFORE_OFFSET.sub("+", given[name])  # a `+` that was not written as %2B reads as a space
    try:
        return parse_timestamp(text)
    except ValueError:
        problems.add(name, "This must be an ISO 8601 timestamp, such as 2030-01-31T12:00:00Z.")
        return None


def _look_at_text(name: str, text: str, problems: Problems) -> None:
    if problem := text_problem(text):
        problems.add(name, problem)
    if len(text) > MAX_TEXT:
        problems.add(name, f"This may have at most {MAX_TEXT} characters.")
