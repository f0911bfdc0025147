"""Time, handed in wherever a test needs to set it. All datetimes are aware and in UTC."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

Clock = Callable[[], datetime]

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def now() -> datetime:
    return datetime.now(UTC)


def timestamp(at: datetime) -> str:
    """The specification's form: `2026-11-20T02:56:16.123456Z`."""
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def parse_timestamp(text: str) -> datetime:
    """ISO 8601 with any offset; none means UTC. Raises ValueError, also for dates outside years 1 to 9999."""
    if not text.isascii() or "T" not in text.upper().replace(" ", "T"):
        raise ValueError(text)
    parsed = datetime.fromisoformat(text.strip())
    try:
        return parsed.replace(tzinfo=UTC) if parsed.tzinfo is None else parsed.astimezone(UTC)
    except OverflowError as error:
        raise ValueError(text) from error


def microseconds(at: datetime) -> int:
    """Microseconds since 1970, exactly: a float of seconds would round."""
    return (at - EPOCH) // _MICROSECOND


def from_microseconds(count: int) -> datetime:
    return EPOCH + timedelta(microseconds=count)
