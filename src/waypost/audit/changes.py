"""What an entry says of a change: short plain values before and after, never a secret. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime
from typing import Any

from waypost.kit.clock import timestamp

MAX_TEXT = 200
"""Characters of a value."""
_MAX_ITEMS = 20


def compare(before: Any, after: Any, *, ignored: Iterable[str] = ()) -> dict[str, list[Any] | None]:
    """Return the fields that differ. `before` and `after`: dataclasses or mappings of values; None has no fields."""
    old, new, left_out = _values(before), _values(after), frozenset(ignored)
    return {
        name: [plain(old.get(name)), plain(new.get(name))]
        for name in (*new, *(name for name in old if name not in new))
        if name not in left_out and old.get(name) != new.get(name)
    }


def compare_secrets(names: Iterable[str]) -> dict[str, list[Any] | None]:
    """Return changes of values that the log must not contain."""
    return dict.fromkeys(names)


def plain(value: Any) -> Any:
    """Return a short JSON value."""
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, datetime):
        return timestamp(value).replace(".000000Z", "Z")
    if isinstance(value, Mapping):
        return shorten(", ".join(f"{name}={text}" for name, text in value.items()))
    if isinstance(value, list | tuple):
        more = [f"and {len(value) - _MAX_ITEMS} more"] if len(value) > _MAX_ITEMS else []
        return [plain(item) for item in value[:_MAX_ITEMS]] + more
    return shorten(str(value))


def shorten(text: str, length: int = MAX_TEXT) -> str:
    return text if len(text) <= length else f"{text[: length - 1]}…"


def _values(compared: Any) -> Mapping[str, Any]:
    if compared is None:
        return {}
    if is_dataclass(compared):
        return {field.name: getattr(compared, field.name) for field in fields(compared)}
    return dict(compared)
