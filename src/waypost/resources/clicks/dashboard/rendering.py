"""Figures and clicks as pages tell them. Pure."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

from waypost.kit.clock import from_microseconds
from waypost.resources.clicks.dashboard.time_range import Chosen
from waypost.resources.clicks.model import Click
from waypost.resources.clicks.stats.read.buckets import Interval
from waypost.resources.clicks.stats.read.service import Stats

UNKNOWN = "Unknown"
DIRECT = "Direct"
_LABELS: dict[Interval, str] = {
    "hour": "%-d %b %Y, %H:%M",
    "day": "%a, %-d %b %Y",
    "week": "Week of %-d %b %Y",
    "month": "%B %Y",
}


@dataclass(frozen=True, slots=True)
class Stat:
    name: str
    count: int
    before: int | None
    """None: there is nothing to compare with."""

    @property
    def change(self) -> str:
        if self.before is None or self.count == self.before:
            return ""
        if self.before == 0:
            return "new"
        percent = round(100 * (self.count - self.before) / self.before)
        return f"{percent:+,}%" if abs(percent) < 100_000 else ""

    @property
    def way(self) -> str:
        return "" if not self.change else "up" if self.count > (self.before or 0) else "down"


@dataclass(frozen=True, slots=True)
class Bar:
    name: str
    clicks: int
    is_country: bool = False
    url: str = ""
    """Of the page that tells more."""


@dataclass(frozen=True, slots=True)
class Bars:
    name: str
    id: str
    bars: Sequence[Bar]
    total: int


@dataclass(frozen=True, slots=True)
class Row:
    """One of the latest clicks."""

    id: UUID
    at: datetime
    country: str
    agent: str
    referrer: str
    is_scan: bool
    link: tuple[UUID, str] | None
    """Its id and what it is called, where clicks of several links stand together."""


def stats_of(stats: Stats) -> list[Stat]:
    total, before = stats.total, stats.before
    return [
        Stat("Clicks", total.clicks, before.clicks if before else None),
        Stat("Visitors", total.visitors, before.visitors if before else None),
        Stat("QR scans", total.scans, before.scans if before else None),
    ]


def lists_of(stats: Stats) -> list[Bars]:
    """None at all where they are told later."""
    values, total = stats.values, stats.total.clicks
    if not values:
        return []
    countries = [Bar(code or UNKNOWN, count, is_country=bool(code)) for code, count in values["country"]]
    return [
        Bars("Countries", "countries", countries, total),
        Bars("Referrers", "referrers", _merged(values["referrer"], host), total),
        Bars("Devices", "devices", _merged(values["device"], device), total),
        Bars("Browsers", "browsers", _merged(values["browser"], family), total),
        Bars("Platforms", "platforms", _merged(values["platform"], family), total),
    ]


def top_links(stats: Stats) -> list[Bars]:
    if not stats.values:
        return []
    bars = []
    for value, count in stats.values["link"]:
        id_ = UUID(value)
        short_url, _ = stats.names.get(id_, ("", ""))
        bars.append(Bar(short_url or "A deleted link", count, url=f"/links/{id_}" if short_url else ""))
    return [Bars("Top links", "top-links", bars, stats.total.clicks)]


def chart_of(chosen: Chosen, stats: Stats) -> dict[str, Any]:
    return {
        "interval": chosen.asked.interval,
        "zone": chosen.asked.timezone,
        "at": [int(entry.at.timestamp()) for entry in chosen.asked.entries],
        "clicks": [each.clicks for each in stats.series],
        "visitors": [each.visitors for each in stats.series],
        "scans": [each.scans for each in stats.series],
    }


def series_of(chosen: Chosen, stats: Stats) -> list[tuple[str, int, int, int]]:
    label = _LABELS[chosen.asked.interval]
    return [
        (entry.at.astimezone(chosen.zone).strftime(label), each.clicks, each.visitors, each.scans)
        for entry, each in zip(chosen.asked.entries, stats.series, strict=True)
    ]


def row_of(click: Click, name: str | None = None) -> Row:
    """`name` of its link, where it shall be told."""
    id_ = UUID(bytes=click.link_id)
    return Row(
        id=UUID(bytes=click.id),
        at=from_microseconds(click.at),
        country=click.country,
        agent=", ".join(filter(None, (device(click.device), click.browser, click.platform))),
        referrer=host(click.referrer),
        is_scan=click.is_scan,
        link=None if name is None else (id_, name),
    )


def host(referrer: str) -> str:
    if not referrer:
        return DIRECT
    try:
        return urlsplit(referrer).netloc.removeprefix("www.") or referrer
    except ValueError:
        return referrer


def device(name: str) -> str:
    return name.capitalize() or UNKNOWN


def family(name: str) -> str:
    return name or UNKNOWN


def _merged(counted: Iterable[tuple[str, int]], name: Callable[[str], str]) -> list[Bar]:
    counts: Counter[str] = Counter()
    for value, count in counted:
        counts[name(value)] += count
    return [Bar(value, count) for value, count in counts.most_common()]
