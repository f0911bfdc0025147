"""Time. Callers pass a clock wherever a test needs to set it. All datetimes are aware and in UTC."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

Clock = Callable[[], datetime]

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
DAY = 86_400_000_000
"""Microseconds of a day."""
QUARTER = DAY // 96
"""Microseconds of a quarter of an hour."""
_SPACE_BEFORE_OFFSET = re.compile(r"(?<=\d) (?=\d{2}:?\d{2}$)")
_ISO_8601 = re.compile(
    r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}(:?\d{2})?)?)?", re.ASCII | re.IGNORECASE
)
_MICROSECOND = timedelta(microseconds=1)


def now() -> datetime:
    return datetime.now(UTC)


def timestamp(at: datetime) -> str:
    """Format a time for the API: `2026-11-20T02:56:16.123456Z`."""
    utc = at if at.tzinfo is UTC else at.astimezone(UTC)  # which takes as long as the rest
    return f"{utc.isoformat(timespec='microseconds')[:-6]}Z"


def parse_timestamp(text: str) -> datetime:
    """Parse ISO 8601 with any offset. Without an offset it is UTC, and a date is its midnight.

    Raise ValueError, also for dates outside years 1 to 9999 and for rare forms such as weeks.
    """
    if not _ISO_8601.fullmatch(text):
        raise ValueError(text)
    parsed = datetime.fromisoformat(text.upper())
    try:
        return parsed.replace(tzinfo=UTC) if parsed.tzinfo is None else parsed.astimezone(UTC)
    except OverflowError as error:
        raise ValueError(text) from error


def parse_query_timestamp(text: str) -> datetime:
    """Parse as `parse_timestamp` what a query contains: a `+` that was not written as %2B reads as a space."""
    return parse_timestamp(_SPACE_BEFORE_OFFSET.sub("+", text))


def microseconds(at: datetime) -> int:
    """Microseconds since 1970, exactly: a float of seconds would round."""
    return (at - EPOCH) // _MICROSECOND


def from_microseconds(count: int) -> datetime:
    return EPOCH + timedelta(microseconds=count)
