"""Objects of responses, filled from attributes of the same names: a field is declared once."""

from datetime import datetime
from typing import Any, TypeVar, cast
from uuid import UUID

from waypost.kit.clock import timestamp

T = TypeVar("T")


def json_object(shape: type[T], source: object, /, **others: Any) -> T:
    """Return the fields of a TypedDict. `others`: those that `source` does not have, or has in another form."""
    names = shape.__annotations__
    return cast("T", {name: json_value(others[name] if name in others else getattr(source, name)) for name in names})


def json_value(value: Any) -> Any:
    """Return ids and times as text, and other values as they are."""
    if isinstance(value, datetime):
        return timestamp(value)
    return str(value) if isinstance(value, UUID) else value
