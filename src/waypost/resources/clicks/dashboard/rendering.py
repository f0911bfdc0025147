"""Statistics and clicks as templates render them. Pure."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

from waypost.kit.clock import from_microseconds
from waypost.redirect import DEFAULT_TARGET
from waypost.resources.clicks.dashboard.time_range import StatsChoice
from waypost.resources.clicks.model import Click, StatsTotals
from waypost.resources.clicks.stats.query import Interval
from waypost.resources.clicks.stats.read import StatsLists, StatsSeries
from waypost.resources.links.routing import LinkRouting

UNKNOWN = "Unknown"
DIRECT = "Direct"
DELETED = "Deleted link"
_LABELS: dict[Interval, str] = {
    "hour": "%-d %b %Y, %H:%M",
    "day": "%a, %-d %b %Y",
    "week": "Week of %-d %b %Y",
    "month": "%B %Y",
}


@dataclass(frozen=True, slots=True)
class StatCard:
    name: str
    count: int
    before: int | None
    """None if there is no comparison."""

    @property
    def change(self) -> str:
        if not self.before or self.count == self.before:
            return ""
        percent = round(100 * (self.count - self.before) / self.before)
        return f"{percent:+,}%" if abs(percent) < 100_000 else ""

    @property
    def direction(self) -> str:
        return "" if not self.change else "up" if self.count > (self.before or 0) else "down"


@dataclass(frozen=True, slots=True)
class ValueBar:
    name: str
    clicks: int
    is_country: bool = False
    url: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class ValueList:
    name: str
    id: str
    bars: Sequence[ValueBar]
    total: int
    hints: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class LatestClick:
    id: UUID
    at: datetime
    country: str
    agent: str
    referrer: str
    is_scan: bool
    link: tuple[UUID, str] | None
    """Id and short URL of the link, in lists of an account."""


def cards(total: StatsTotals, before: StatsTotals | None) -> list[StatCard]:
    return [
        StatCard("Clicks", total.clicks, before.clicks if before else None),
        StatCard("Visitors", total.visitors, before.visitors if before else None),
        StatCard("QR scans", total.scans, before.scans if before else None),
    ]


def value_lists(series: StatsSeries, lists: StatsLists) -> list[ValueList]:
    values, total = lists.values, series.total.clicks
    countries = [ValueBar(code or UNKNOWN, count, is_country=bool(code)) for code, count in values["country"]]
    top_links = [ValueList("Top links", "top-links", _links(lists), total)] if series.subject.link_id is None else []
    return [
        *top_links,
        ValueList("Countries", "countries", countries, total),
        ValueList("Referrers", "referrers", _merged(values["referrer"], host), total),
        ValueList("Devices", "devices", _merged(values["device"], device), total),
        ValueList("Browsers", "browsers", _merged(values["browser"], family), total),
        ValueList("Platforms", "platforms", _merged(values["platform"], family), total),
    ]


def chart(choice: StatsChoice, series: StatsSeries) -> dict[str, Any]:
    return {
        "interval": choice.query.interval,
        "zone": choice.query.timezone,
        "at": [int(bucket.at.timestamp()) for bucket in choice.query.buckets],
        "clicks": [point.clicks for point in series.points],
        "visitors": [point.visitors for point in series.points],
        "scans": [point.scans for point in series.points],
    }


def chart_table(choice: StatsChoice, series: StatsSeries) -> list[tuple[str, int, int, int]]:
    label = _LABELS[choice.query.interval]
    return [
        (bucket.at.astimezone(choice.zone).strftime(label), point.clicks, point.visitors, point.scans)
        for bucket, point in zip(choice.query.buckets, series.points, strict=True)
    ]


def latest_click(click: Click, short_url: str | None = None) -> LatestClick:
    """`short_url`: the URL of its link, unless all clicks are of one link."""
    return LatestClick(
        id=UUID(bytes=click.id),
        at=from_microseconds(click.at),
        country=click.country,
        agent=agent(click.device.capitalize(), click.browser, click.platform),
        referrer=host(click.referrer),
        is_scan=click.is_scan,
        link=None if short_url is None else (UUID(bytes=click.link_id), short_url),
    )


def agent(*names: str) -> str:
    """Device, browser and platform as far as they are known."""
    return ", ".join(name for name in names if name not in {"", "other", "Other"}) or "Unknown device"


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


def _links(lists: StatsLists) -> list[ValueBar]:
    counted = [(UUID(value), count) for value, count in lists.values["link"]]
    return [
        ValueBar(lists.names[id_][0], count, url=f"/links/{id_}") if id_ in lists.names else ValueBar(DELETED, count)
        for id_, count in counted
    ]


def _merged(counted: Iterable[tuple[str, int]], name: Callable[[str], str]) -> list[ValueBar]:
    counts: Counter[str] = Counter()
    for value, count in counted:
        counts[name(value)] += count
    return [ValueBar(value, count) for value, count in counts.most_common()]


# The clicks of a link by target, and whether its variants got what their weights say.

OWN_DESTINATION = "Link's own destination"
GONE = "Not in the routing any more"
AS_CONFIGURED = "This is as configured: chance explains the difference from the weights."
DIFFERS = (
    "This differs from the weights more than chance explains (significance level 1%). A visitor who clicks very often,"
    " or a bot that is not recognized, can cause it."
)
NO_WINNER = "Clicks do not show which variant is better. Compare what visitors do at the destinations."
_MIN_VISITORS = 100
_MIN_EXPECTED = 5
"""Visitors that each variant should have: with fewer, chi-square does not have its distribution."""
_CRITICAL = (6.635, 9.210, 11.345, 13.277, 15.086, 16.812, 18.475, 20.090, 21.666, 23.209)
"""The chi-square that chance exceeds in 1 of 100 cases, by degrees of freedom from 1."""


def target_bars(counted: Sequence[tuple[str, int]], routing: LinkRouting | None) -> list[ValueBar]:
    """Return the targets with clicks, then other rules and variants. Nothing for a link that never had any.

    `counted`: names and clicks, most clicks first.
    """
    notes = {rule["name"]: "Rule" for rule in routing.rules} if routing else {}
    notes |= {name: f"Variant, weight {weight}%" for name, weight in _weights(routing)}
    clicks = dict(counted)
    if not clicks or not (notes or clicks.keys() - {DEFAULT_TARGET}):
        return []
    notes[DEFAULT_TARGET] = ""
    return [ValueBar(_label(name), clicks.get(name, 0), note=notes.get(name, GONE)) for name in {**clicks, **notes}]


def is_split(routing: LinkRouting) -> bool:
    """Return whether visitors are divided by the weights. Those of an unsafe destination are sent elsewhere."""
    return len(_weights(routing)) > 1 and not routing.unsafe_urls


def describe_split(clicks: Mapping[str, int], totals: StatsTotals, routing: LinkRouting, since: str) -> list[str]:
    """Compare the clicks of variants with their weights. Call it if `is_split`.

    A visitor gets the same variant all day, so visitors are independent of each other, and clicks are not. Their
    number is estimated by the clicks per visitor of all targets.

    `clicks` and `totals` are those since these weights are used, or of a shorter time; `since` names its beginning.
    """
    weights = _weights(routing)
    total = sum(clicks.get(name, 0) for name, _ in weights)
    visitors = total * totals.visitors / max(1, totals.clicks)
    needed = max(_MIN_VISITORS, -(-_MIN_EXPECTED * 100 // min(weight for _, weight in weights)))
    if visitors < needed:
        counted = f"about {visitors:,.0f} without a rule{since}, {needed:,} are needed"
        return [f"Too few visitors to compare the split with the weights: {counted}."]
    shares = {name: clicks.get(name, 0) / total for name, _ in weights}
    chi_square = sum(visitors * (shares[name] - weight / 100) ** 2 / (weight / 100) for name, weight in weights)
    split = ", ".join(f"{_label(name)} {shares[name]:.1%} (weight {weight}%)" for name, weight in weights)
    verdict = DIFFERS if chi_square > _CRITICAL[len(weights) - 2] else AS_CONFIGURED
    return [f"Clicks without a rule{since}: {split}. {verdict}", NO_WINNER]


def _weights(routing: LinkRouting | None) -> list[tuple[str, int]]:
    """Return the weights of the variants and, if any visitors are left for it, of the link's own destination."""
    weights = [(variant["name"], variant["weight"]) for variant in routing.variants] if routing else []
    rest = 100 - sum(weight for _, weight in weights)
    return [*weights, (DEFAULT_TARGET, rest)] if weights and rest else weights


def _label(name: str) -> str:
    return OWN_DESTINATION if name == DEFAULT_TARGET else name
