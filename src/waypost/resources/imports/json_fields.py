"""Reads the fields of what an API sent. A field of another type refuses its row, and the rest is read."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, tzinfo
from typing import Any

from waypost.kit.clock import parse_timestamp
from waypost.resources.imports.source import ClickPage, RefusedRow, SourceClick, SourceLink, UnexpectedAnswer
from waypost.resources.imports.tables.dates import ZeroDate, is_zero_date

Row = Mapping[str, Any]

MAX_SECONDS = 1e11
"""Numbers beyond are milliseconds."""
MAX_NUMBER = 10**15
"""What a database adds up must fit into 64 bits."""
UNSTORABLE = re.compile("[\0\ud800-\udfff]")
"""JSON may contain NUL and halves of surrogate pairs; databases refuse them."""


class BadField(UnexpectedAnswer):
    """The message names the field, and says what is wrong. In a row it refuses the row, elsewhere the answer."""


def rows(answer: Any, *names: str) -> list[Row]:
    """Return the list of objects found below these names. Raises UnexpectedAnswer."""
    found = answer
    for name in names:
        found = found.get(name) if isinstance(found, dict) else None
    if not isinstance(found, list) or not all(isinstance(row, dict) for row in found):
        raise UnexpectedAnswer(f"The source did not send a list of {names[-1] if names else 'objects'}.")
    return found


def read_links(
    found: Sequence[Row], id_name: str, read: Callable[[Row], SourceLink], places: Iterable[str] | None = None
) -> tuple[list[SourceLink], list[RefusedRow]]:
    """Read each row. Those that raise BadField are refused; `id_name` is the field that they are listed by.

    `places`: of each row, if they are in a file.
    """
    links, refused = [], []
    for row, place in zip(found, places or [""] * len(found), strict=True):
        try:
            link = read(row)
            links.append(replace(link, place=place) if place else link)
        except BadField as error:
            source_id = UNSTORABLE.sub("\N{REPLACEMENT CHARACTER}", str(row.get(id_name, "?"))[:255])
            refused.append(RefusedRow(source_id, f"{place}: {error}" if place else str(error)))
    return links, refused


def read_clicks(found: Iterable[Row], read: Callable[[Row], SourceClick | None], next_cursor: str | None) -> ClickPage:
    """Read each row. Those for which `read` returns None, or raises BadField or ZeroDate, are counted."""
    clicks, unreadable = list[SourceClick](), 0
    for row in found:
        try:
            click = read(row)
        except (BadField, ZeroDate):
            click = None
        if click:
            clicks.append(click)
        unreadable += click is None
    return ClickPage(clicks, next_cursor, unreadable)


def text(row: Row, name: str) -> str | None:
    """None for a missing, null or empty field. Numbers are written out. Raises BadField."""
    value = row.get(name)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if isinstance(value, str) and UNSTORABLE.search(value):
        raise BadField(f"{name} has characters that are not text, or of another encoding.")
    if value is not None and not isinstance(value, str):
        raise BadField(f"{name} is not a text.")
    return value or None


def sent_text(row: Row, name: str) -> str | None:
    """None for a missing field, and "" for a null or empty one. Raises BadField."""
    return (text(row, name) or "") if name in row else None


def required_text(row: Row, name: str) -> str:
    """Raises BadField."""
    value = text(row, name)
    if value is None:
        raise BadField(f"{name} is missing.")
    return value


def nested(row: Row, name: str) -> Row:
    """Return the object in a field, empty if it is missing. Raises BadField."""
    value = row.get(name) or {}
    if not isinstance(value, dict):
        raise BadField(f"{name} is not an object.")
    return value


def integer(row: Row, name: str) -> int | None:
    """Accepts digits as a text too. Raises BadField."""
    value = row.get(name)
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 16:
        return int(value)
    if value is not None and (not isinstance(value, int) or isinstance(value, bool) or abs(value) > MAX_NUMBER):
        raise BadField(f"{name} is not a number.")
    return value


def time(row: Row, name: str) -> datetime | None:
    """Read ISO 8601, or seconds or milliseconds since 1970. A time without a zone is UTC. Raises BadField."""
    value = row.get(name)
    if value is None or value == "":
        return None
    try:
        if isinstance(value, str) and not value.isdigit():
            return parse_timestamp(value)
        seconds = float(value)
        return datetime.fromtimestamp(seconds / 1000 if abs(seconds) > MAX_SECONDS else seconds, UTC)
    except (ValueError, TypeError, OverflowError, OSError):
        raise BadField(f"{name} is not a time: “{str(value)[:40]}”.") from None


def names(row: Row, name: str, key: str | None = None) -> list[str]:
    """Return a list of texts, or of what `key` is in a list of objects. Raises BadField."""
    values = row.get(name) or []
    if isinstance(values, list):
        found = [value.get(key) if key and isinstance(value, dict) else value for value in values]
        if all(isinstance(value, str) and not UNSTORABLE.search(value) for value in found):
            return [value for value in found if value]
    raise BadField(f"{name} is not a list of texts.")


def objects(row: Row, name: str) -> list[Row]:
    """Return a list of objects, empty for a missing or null field. Raises BadField."""
    values = row.get(name) or []
    if isinstance(values, list) and all(isinstance(value, dict) for value in values):
        return values
    raise BadField(f"{name} is not a list of objects.")


def local_time(row: Row, name: str, zone: tzinfo) -> datetime | None:
    """Read `2026-01-31 12:00:00` in this time zone. Raises BadField, ZeroDate."""
    value = text(row, name)
    if value is None:
        return None
    if is_zero_date(value):
        raise ZeroDate(value)
    try:
        return datetime.fromisoformat(value).replace(tzinfo=zone).astimezone(UTC)
    except (ValueError, OverflowError):
        raise BadField(f"{name} is not a time: “{value[:40]}”.") from None
