"""Names of time zones, and their days."""

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, time, tzinfo
from functools import cache
from importlib.resources import files
from zoneinfo import available_timezones

UTC_NAME = "UTC"
_NOT_ZONES = {"localtime", "Factory"}
"""The zone of the machine, and a placeholder."""


@cache
def zone_names() -> frozenset[str]:
    """Cached, because it reads directories."""
    return frozenset(available_timezones() - _NOT_ZONES)


def midnight(day: date, zone: tzinfo) -> datetime:
    # a skipped midnight is computed with the offset before the gap, which is the time of the change
    return datetime.combine(day, time(), zone).astimezone(UTC)


@cache
def zone_choices() -> Sequence[str]:
    """Return what people choose from: UTC, and the zones of all places by their current names."""
    rows = (line.split("\t") for line in _lines("zone.tab") if not line.startswith("#"))
    return (UTC_NAME, *sorted({row[2] for row in rows} & zone_names()))


def reported_zone(name: str) -> str:
    """Return the zone that a browser reports: `Asia/Kolkata` also for its old name `Asia/Calcutta`. UTC if unknown."""
    current = _current_names().get(name, name)
    if name not in zone_choices() and current in zone_choices():
        return current
    return name if name in zone_names() else UTC_NAME


@cache
def _current_names() -> Mapping[str, str]:
    links = (line.split() for line in _lines("tzdata.zi") if line.startswith("L "))
    return {old: current for _, current, old in links}


def _lines(file: str) -> Sequence[str]:
    return (files("tzdata") / "zoneinfo" / file).read_text("utf-8").splitlines()
