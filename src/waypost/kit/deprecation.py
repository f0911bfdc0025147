"""What will be removed: an endpoint, a parameter or a field, declared once where it is.

The headers `Deprecation` (RFC 9745) and `Sunset` (RFC 8594), and what the OpenAPI document says, follow from it.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from email.utils import format_datetime
from typing import Any

PAGE = "https://waypost.github.io/waypost/reference/endpoints/#deprecated"
"""Lists what is deprecated, in the documentation of the newest release."""


@dataclass(frozen=True)
class Deprecation:
    since: date
    instead: str
    """A sentence that says what to use."""
    sunset: date | None = None
    """The first day on which it may be gone, if that is known."""

    def __call__(self, schema: dict[str, Any]) -> None:
        """Mark what describes it in the OpenAPI document, such as the schema of a field: its `json_schema_extra`."""
        end = f", will be removed on {self.sunset} or later" if self.sunset else ""
        mark = f"**Deprecated** since {self.since}{end}. {self.instead}"
        schema |= {"deprecated": True, "description": f"{mark}\n\n{schema.get('description') or ''}".strip()}


def headers(deprecations: Collection[Deprecation]) -> Iterator[tuple[bytes, bytes]]:
    """Yield the headers of a response to a request that uses these. Each has the earliest of their days."""
    yield b"deprecation", b"@%d" % _midnight(min(each.since for each in deprecations)).timestamp()
    if sunsets := [each.sunset for each in deprecations if each.sunset]:
        yield b"sunset", format_datetime(_midnight(min(sunsets)), usegmt=True).encode()
    yield b"link", f'<{PAGE}>; rel="deprecation"; type="text/html"'.encode()


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)
