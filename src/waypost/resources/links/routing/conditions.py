"""Checks the conditions of rules, and returns them in the form in which they are stored."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, ClassVar, cast, get_args

from waypost.kit.clock import parse_timestamp, timestamp
from waypost.kit.docs import field
from waypost.kit.errors import Problems
from waypost.kit.fields import REQUIRED, Body, Documented, Text, max_characters, max_entries, text_problem
from waypost.kit.timezones import zone_names
from waypost.resources.links.routing.model import (
    FROM,
    OPERATOR,
    TO,
    VALUES,
    WEEKDAYS,
    ConditionJson,
    ConditionType,
    Operator,
)
from waypost.visitors.countries import COUNTRIES
from waypost.visitors.devices import Device

MAX_VALUES = 250
"""All countries are fewer."""
MAX_VALUE = 255
MAX_REPORTED = 20
"""Wrong values of one condition."""

NO_TEXT = "This must be a string."
NO_BLANK = "This must not be blank."
TOO_LONG = f"This must have at most {MAX_VALUE} characters."
EMPTY_LIST = "This must have at least 1 entry."
NO_COUNTRY = "This must be an ISO 3166-1 country code of two letters, such as DE."
NO_LANGUAGE = "This must be a language code without a region, such as de or pt."
NO_TIME = "This must be a date and time in ISO 8601 format, such as 2030-01-31T12:00:00Z."
NO_TIME_OF_DAY = "This must be a time from 00:00 to 23:59."
NO_WEEKDAY = "This must be a day of the week from 1 for Monday to 7 for Sunday."
NO_ZONE = "This must be a time zone of the IANA database, such as Europe/Berlin."
NO_DEVICE = f"This must be one of: {', '.join(get_args(Device))}."
NEITHER = "Send from, to or both."
NOT_AFTER = "This must be after from."

_LANGUAGE = re.compile(r"[a-z]{2,8}")
_TIME_OF_DAY = re.compile(r"([01][0-9]|2[0-3]):[0-5][0-9]")


class ConditionFields(Body):
    """Which of the fields it needs depends on its type."""

    REQUIRED = ("type",)

    type: ConditionType | None = field(
        "What the condition compares; `device`, `platform` and `browser` as in statistics"
    )
    operator: Operator | None = field(OPERATOR)
    values: (
        Annotated[
            list[Any],
            max_entries(MAX_VALUES),
            Documented({"minItems": 1, "items": {"type": "string", "maxLength": MAX_VALUE}}),
        ]
        | None
    ) = field(VALUES)
    name: Annotated[Text, max_characters(MAX_VALUE)] | None = field(
        "Name of the query parameter, for `query`", "campaign"
    )
    from_: Text | None = field(FROM, "09:00", alias="from")
    to: Text | None = field(TO, "17:00")
    weekdays: (
        Annotated[
            list[Any],
            max_entries(7),
            Documented({"minItems": 1, "items": {"type": "integer", "minimum": 1, "maximum": 7}}),
        ]
        | None
    ) = field(WEEKDAYS, [1, 2, 3, 4, 5])
    timezone: Text | None = field("IANA time zone of a schedule, such as Europe/Berlin", "Europe/Berlin")

    EXAMPLE: ClassVar = {"type": "platform", "operator": "in", "values": ["iOS"]}


def check_condition(fields: ConditionFields, problems: Problems) -> ConditionJson:
    """Return the condition with the fields of its type. If there are problems, it must not be used."""
    type_ = fields.type
    checked = _CHECKS[type_](fields, problems) if type_ else {}
    return cast("ConditionJson", {"type": type_, "operator": fields.operator or "in", **checked})


def _check_device(fields: ConditionFields, problems: Problems) -> dict[str, Any]:
    return _values(fields, problems, str.lower, lambda text: None if text in get_args(Device) else NO_DEVICE)


def _check_name(fields: ConditionFields, problems: Problems) -> dict[str, Any]:
    """Platforms and browsers are those of statistics, where new ones appear."""
    return _values(fields, problems, str, lambda text: None if text.strip() else NO_BLANK)


def _check_country(fields: ConditionFields, problems: Problems) -> dict[str, Any]:
    return _values(fields, problems, str.upper, lambda text: None if text in COUNTRIES else NO_COUNTRY)


def _check_language(fields: ConditionFields, problems: Problems) -> dict[str, Any]:
    return _values(fields, problems, str.lower, lambda text: None if _LANGUAGE.fullmatch(text) else NO_LANGUAGE)


def _check_query(fields: ConditionFields, problems: Problems) -> dict[str, Any]:
    if not fields.name:
        _add_missing("name", problems)
    return {"name": fields.name, **_values(fields, problems, str, lambda _: None)}


def _check_time(fields: ConditionFields, problems: Problems) -> dict[str, Any]:
    times = {}
    for name, text in (("from", fields.from_), ("to", fields.to)):
        try:
            times[name] = parse_timestamp(text) if text is not None else None
        except ValueError:
            problems.add(name, NO_TIME)
    start, end = times.get("from"), times.get("to")
    if not problems and start is None and end is None:
        problems.add("from", NEITHER)
    if start and end and start >= end:
        problems.add("to", NOT_AFTER)
    return {name: timestamp(at) if at else None for name, at in times.items()}


def _check_schedule(fields: ConditionFields, problems: Problems) -> dict[str, Any]:
    for name, text in (("from", fields.from_), ("to", fields.to)):
        if text is None:
            _add_missing(name, problems)
        elif not _TIME_OF_DAY.fullmatch(text):
            problems.add(name, NO_TIME_OF_DAY)
    if fields.timezone is None:
        _add_missing("timezone", problems)
    elif fields.timezone not in zone_names():
        problems.add("timezone", NO_ZONE)
    weekdays = _entries("weekdays", fields.weekdays, problems)
    for index, day in enumerate(weekdays):
        if type(day) is not int or not 1 <= day <= 7:
            problems.add(f"weekdays.{index}", NO_WEEKDAY)
    return {
        "weekdays": [] if problems else sorted(set(weekdays)),
        "from": fields.from_,
        "to": fields.to,
        "timezone": fields.timezone,
    }


_CHECKS: Mapping[ConditionType, Callable[[ConditionFields, Problems], dict[str, Any]]] = {
    "device": _check_device,
    "platform": _check_name,
    "browser": _check_name,
    "country": _check_country,
    "language": _check_language,
    "query": _check_query,
    "time": _check_time,
    "schedule": _check_schedule,
}


def _values(
    fields: ConditionFields,
    problems: Problems,
    canonical: Callable[[str], str],
    find_problem: Callable[[str], str | None],
) -> dict[str, Any]:
    """Return the values in their canonical form, each once."""
    values: dict[str, None] = {}
    wrong = 0
    for index, sent in enumerate(_entries("values", fields.values, problems)):
        value = canonical(sent) if isinstance(sent, str) else ""
        if problem := _find_text_problem(sent) or find_problem(value):
            wrong += 1
            if wrong <= MAX_REPORTED:
                problems.add(f"values.{index}", problem)
        values[value] = None
    return {"values": list(values)}


def _find_text_problem(sent: Any) -> str | None:
    if not isinstance(sent, str):
        return NO_TEXT
    return TOO_LONG if len(sent) > MAX_VALUE else text_problem(sent)


def _entries(name: str, entries: Sequence[Any] | None, problems: Problems) -> Sequence[Any]:
    if entries is None:
        _add_missing(name, problems)
    elif not entries:
        problems.add(name, EMPTY_LIST)
    return entries or ()


def _add_missing(name: str, problems: Problems) -> None:
    if name not in problems:
        problems.add(name, REQUIRED)
