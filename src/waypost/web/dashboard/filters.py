"""Template filters: icons, and times and numbers by the preferences of who reads the page."""

import zlib
from collections.abc import Callable, Mapping
from datetime import date, datetime
from typing import Any

from markupsafe import Markup

from waypost.kit.clock import parse_timestamp, timestamp
from waypost.kit.preferences import Preferences

_UNITS = ((86_400 * 365, "year"), (86_400 * 30, "month"), (86_400, "day"), (3_600, "hour"), (60, "minute"))


# strokes in a box of 24 by 24, in the color of the surrounding text
_SHAPES = {
    "home": "M3 11.5 12 4l9 7.5M5.5 10v10h13V10",
    "link": (
        "M10 14a4.5 4.5 0 0 0 6.4 0l3-3A4.5 4.5 0 0 0 13 4.6l-1 1"
        "M14 10a4.5 4.5 0 0 0-6.4 0l-3 3a4.5 4.5 0 0 0 6.4 6.4l1-1"
    ),
    "globe": "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18ZM3 12h18M12 3c5 5 5 13 0 18M12 3c-5 5-5 13 0 18",
    "pixel": "M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8ZM12 2v3M12 19v3M2 12h3M19 12h3",
    "hook": "M12 3v11a4 4 0 1 1-8 0M12 3l-4 4M12 3l4 4M16 14h5",
    "key": "M14.5 9.5a5 5 0 1 0-3 3L13 14h2v2h2v2h3v-3l-5.5-5.5ZM7.5 7.5h.01",
    "card": "M3 6h18v12H3zM3 10h18",
    "person": "M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8ZM4 21c0-4 3.5-7 8-7s8 3 8 7",
    "shield": "M12 3l8 3v6c0 5-3.5 8-8 9-4.5-1-8-4-8-9V6z",
    "book": "M12 6.5C10 4.8 7 4.5 4 5v13c3-.5 6-.2 8 1.5 2-1.7 5-2 8-1.5V5c-3-.5-6-.2-8 1.5ZM12 6.5v13",
    "out": "M10 4H5v16h5M14 8l4 4-4 4M18 12H9",
    "plus": "M12 5v14M5 12h14",
    "tag": "M4 4h7l9 9-7 7-9-9V4ZM8 8h.01",
    "copy": "M9 9h11v11H9zM5 15H4V4h11v1",
    "search": "M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14ZM16 16l5 5",
    "qr": "M4 4h6v6H4zM14 4h6v6h-6zM4 14h6v6H4zM14 14h2v2h-2zM18 18h2v2h-2zM18 14h2M14 18v2",
    "chart": "M4 20V4M4 20h16M8 16v-4M12 16V8M16 16v-6",
    "check": "M5 12.5 10 17 19 7",
    "warning": "M12 4 2.5 20h19ZM12 10v4M12 17v.01",
    "bin": "M4 7h16M9 7V4h6v3M6 7l1 13h10l1-13",
    "note": "M5 4h14v11l-5 5H5ZM14 20v-5h5M8 8h8M8 12h4",
    "pen": "M4 20h4L19 9l-4-4L4 16z",
    "power": "M12 3v9M7.5 6.5a8 8 0 1 0 9 0",
    "grip": "M9 6h.01M15 6h.01M9 12h.01M15 12h.01M9 18h.01M15 18h.01",
    "plug": "M9 3v5M15 3v5M6 8h12v4a6 6 0 0 1-12 0zM12 18v3",
    "in": "M12 3v11M7.5 10 12 14.5 16.5 10M4 17v4h16v-4",
    "export": "M12 15V4M7.5 8 12 3.5 16.5 8M4 17v4h16v-4",
    "team": (
        "M9 11a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7ZM2.5 20c0-3.5 3-6 6.5-6s6.5 2.5 6.5 6"
        "M16 4.5a3.5 3.5 0 0 1 0 6.5M18 14.5c2 .8 3.5 2.8 3.5 5.5"
    ),
    "gear": (
        "M12 9a3 3 0 1 0 0 6 3 3 0 0 0 0-6ZM12 2.5v3M12 18.5v3M2.5 12h3"
        "M18.5 12h3M5.3 5.3l2.1 2.1M16.6 16.6l2.1 2.1M5.3 18.7l2.1-2.1M16.6 7.4l2.1-2.1"
    ),
    "columns": "M4 5h16v14H4zM10 5v14M15 5v14",
    "star": "M12 3.5 14.6 9l6 .8-4.4 4.1 1.1 5.9L12 17l-5.3 2.8 1.1-5.9L3.4 9.8 9.4 9z",
    "dice": "M4 4h16v16H4zM8.5 8.5h.01M15.5 8.5h.01M12 12h.01M8.5 15.5h.01M15.5 15.5h.01",
    "more": "M5 12h.01M12 12h.01M19 12h.01",
}
_ICONS = {
    name: Markup(  # noqa: S704  # our own constants
        f'<svg class="icon" viewBox="0 0 24 24" width="20" height="20" aria-hidden="true"><path d="{shape}"/></svg>'
    )
    for name, shape in _SHAPES.items()
}


LETTER_COLORS = ("red", "orange", "yellow", "green", "teal", "blue", "violet", "pink")


def favicon(host: str) -> Markup:
    """Return the first letter of a host in a color of its own, in place of its icon: pages load nothing from it."""
    name = host.removeprefix("www.")
    color = LETTER_COLORS[zlib.crc32(name.encode()) % len(LETTER_COLORS)]
    return Markup('<span class="letter {}" data-letter="{}" aria-hidden="true"></span>').format(color, name[:1].upper())


def share(count: int, total: int) -> str:
    """12%"""
    percent = 100 * count / max(1, total)
    return "<1%" if 0 < percent < 1 else f"{percent:.0f}%"


def _ago(at: datetime, now: datetime) -> str:
    """3 days ago"""
    seconds = (now - at).total_seconds()
    for unit, name in _UNITS:
        count = int(abs(seconds) // unit)
        if count:
            duration = f"{count} {name}{'' if count == 1 else 's'}"
            return f"{duration} ago" if seconds > 0 else f"in {duration}"
    return "just now" if seconds >= 0 else "in a moment"


def time_ago(context: Mapping[str, Any], at: datetime, now: datetime) -> Markup:
    """3 days ago"""
    return _element(context, at, _ago(at, now))


def day(context: Mapping[str, Any], at: datetime | str | date) -> Markup | str:
    """28 Nov 2026. `at`: may be as in JSON. A date is a day of another time zone, which the page names."""
    if isinstance(at, date) and not isinstance(at, datetime):
        return _preferences(context).day(at)
    at = _instant(at)
    return _element(context, at, _preferences(context).day(at))


def time(context: Mapping[str, Any], at: datetime | str, *, zone: bool = True) -> Markup:
    """28 Nov 2026, 14:05 Europe/Berlin. `at`: may be as in JSON. `zone`: unless it is named above."""
    at, preferences = _instant(at), _preferences(context)
    return _element(context, at, preferences.zoned(at) if zone else preferences.time(at))


def number(context: Mapping[str, Any], count: float) -> str:
    """12,345"""
    return _preferences(context).number(count)


def short(context: Mapping[str, Any], count: int) -> str:
    """12.3k for 12,345"""
    return _preferences(context).short(count)


def _instant(at: datetime | str) -> datetime:
    return parse_timestamp(at) if isinstance(at, str) else at


def _element(context: Mapping[str, Any], at: datetime, text: str) -> Markup:
    """Return a time, with its second and the name of the time zone for who points at it."""
    preferences = _preferences(context)
    title = f"{preferences.second(at)} {preferences.zone_name}"
    return Markup('<time datetime="{}" title="{}">{}</time>').format(timestamp(at), title, text)


def _preferences(context: Mapping[str, Any]) -> Preferences:
    """Raises KeyError in a macro that was imported without context."""
    preferences: Preferences = context["preferences"]
    return preferences


def icon(name: str) -> Markup:
    """Return an icon. Raises KeyError for an unknown name, a mistake in a template."""
    return _ICONS[name]


FILTERS: Mapping[str, Callable[..., Any]] = {"share": share, "icon": icon, "favicon": favicon}
PREFERRED: Mapping[str, Callable[..., Any]] = {"number": number, "short": short, "day": day, "time": time}
"""Those that get the context of the template, with `preferences`."""
