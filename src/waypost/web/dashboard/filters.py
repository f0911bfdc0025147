"""Template filters for numbers and times."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from waypost.kit.clock import timestamp

_UNITS = ((86_400 * 365, "year"), (86_400 * 30, "month"), (86_400, "day"), (3_600, "hour"), (60, "minute"))


def number(count: int) -> str:
    """12,345"""
    return f"{count:,}"


def short(count: int) -> str:
    """12.3k for 12,345"""
    for unit, sign in ((1_000_000_000, "bn"), (1_000_000, "m"), (1_000, "k")):
        if count >= unit:
            return f"{count / unit:.3g}{sign}" if count < 999.5 * unit else f"{count // unit}{sign}"
    return str(count)


def share(count: int, total: int) -> str:
    """12%"""
    percent = 100 * count / max(1, total)
    return "<1%" if 0 < percent < 1 else f"{percent:.0f}%"


def ago(at: datetime, now: datetime) -> str:
    seconds = (now - at).total_seconds()
    for unit, name in _UNITS:
        count = int(abs(seconds) // unit)
        if count:
            duration = f"{count} {name}{'' if count == 1 else 's'}"
            return f"{duration} ago" if seconds > 0 else f"in {duration}"
    return "just now" if seconds >= 0 else "in a moment"


def day(at: datetime) -> str:
    return f"{at:%-d %b %Y}"


FILTERS: Mapping[str, Callable[..., Any]] = {
    "number": number,
    "short": short,
    "share": share,
    "ago": ago,
    "day": day,
    "timestamp": timestamp,
}
