"""Reads the fields of what an API sent. A field of another type refuses its row, and the rest is read."""

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, tzinfo
from typing import Any

from waypost.kit.clock import parse_timestamp
from waypost.resources.imports.source import RefusedRow, SourceLink, UnexpectedAnswer

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
    found: Iterable[Row], id_name: str, read: Callable[[Row], SourceLink]
) -> tuple[list[SourceLink], list[RefusedRow]]:
    """Read each row. Those that raise BadField are refused; `id_name` is the field that they are listed by."""
    links, refused = [], []
    for row in found:
        try:
            links.append(read(row))
        except BadField as error:
            source_id = str(row.get(id_name, "?"))[:255]
            refused.append(RefusedRow(UNSTORABLE.sub("\N{REPLACEMENT CHARACTER}", source_id), str(error)))
    return links, refused


def text(row: Row, name: str) -> str | None:
    """None for a missing, null or empty field. Numbers are written out. Raises BadField."""
    value = row.get(name)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if value is not None and not (isinstance(value, str) and not UNSTORABLE.search(value)):
        raise BadField(f"{name} is not a text.")
    return value or None


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
    """Read `2026-01-31 12:00:00` in this time zone. MySQL's zero date is None. Raises BadField."""
    value = text(row, name)
    if value is None or value.startswith("0000-00-00"):
        return None
    try:
        return datetime.fromisoformat(value).replace(tzinfo=zone).astimezone(UTC)
    except (ValueError, OverflowError):
        raise BadField(f"{name} is not a time: “{value[:40]}”.") from None
