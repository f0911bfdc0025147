"""Values in Python and in JSON."""

import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from datetime import datetime, timezone
from enum import Enum
from os import PathLike
from typing import IO, Any, Final, TypeAlias, TypeVar
from urllib.parse import quote
from uuid import UUID

T = TypeVar("T")

Json: TypeAlias = Mapping[str, Any]
File: TypeAlias = "bytes | IO[bytes] | PathLike[str]"
"""Content of a file, an open file, or its path."""


class Omitted(Enum):
    """The type of `OMITTED`: an argument that was not given, in contrast to None, which is sent as null."""

    OMITTED = "omitted"

    def __repr__(self) -> str:
        return "OMITTED"


OMITTED: Final = Omitted.OMITTED


def to_json(value: Any) -> Any:
    """Return a result, or an argument, as the API writes it in JSON.

    Raises ValueError for a time without a time zone.
    """
    if value is None or isinstance(value, str | int | float):
        return value
    if is_dataclass(value):
        return {
            each.name.rstrip("_"): to_json(field)
            for each in fields(value)
            # what has a default may be missing in JSON
            if (field := getattr(value, each.name)) is not None or each.default is MISSING
        }
    if isinstance(value, Mapping):
        return {name: to_json(each) for name, each in value.items() if each is not OMITTED}
    if isinstance(value, datetime):
        return _timestamp(value)
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, Iterable) and not isinstance(value, bytes | bytearray):
        return [to_json(each) for each in value]
    raise TypeError(f"{type(value).__name__} cannot be sent as JSON.")


def _timestamp(at: datetime) -> str:
    if at.tzinfo is None:
        raise ValueError(f"{at} needs a time zone, such as datetime.timezone.utc.")
    return at.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def path_of(*parts: str | UUID) -> str:
    """Join the segments of a path. Raises ValueError for an empty one, which would lead to another endpoint."""
    texts = [str(part) for part in parts]
    if any(text in {"", ".", ".."} for text in texts):
        raise ValueError("An ID must not be empty.")
    return "/" + "/".join(quote(text, safe="") for text in texts)


# What follows reads JSON. A field that an older service does not send is None, or empty if it is a list.


def new(kind: type[T], /, **fields: Any) -> T:
    """Return a frozen object with these fields. Its own `__init__` assigns one after the other, which is slow."""
    made = object.__new__(kind)
    object.__setattr__(made, "__dict__", fields)
    return made


if sys.version_info >= (3, 11):
    _parse_time = datetime.fromisoformat
else:

    def _parse_time(text: str) -> datetime:  # it does not know the Z yet
        return datetime.fromisoformat(text[:-1] + "+00:00" if text.endswith("Z") else text)


def read_time(value: Any) -> Any:
    return None if value is None else _parse_time(value)


def read_many(read: Callable[[Any], T], values: Any) -> list[T]:
    return [read(each) for each in values or ()]


def read_optional(read: Callable[[Any], T], value: Any) -> T | None:
    return None if value is None else read(value)
