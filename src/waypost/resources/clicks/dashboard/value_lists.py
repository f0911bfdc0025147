"""The lists of a page of statistics, on cards with tabs. Pure."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import NamedTuple
from urllib.parse import urlsplit
from uuid import UUID

from waypost.kit.preferences import Preferences
from waypost.redirect import DEFAULT_TARGET
from waypost.resources.clicks.filters import EMPTY_WORDS, FilterName
from waypost.resources.clicks.model import StatsTotals
from waypost.resources.clicks.stats.read import OTHERS, HourCount, Statistics, ValueCount
from waypost.resources.links.routing import LinkRouting
from waypost.visitors.choices import value_name
from waypost.visitors.places import find_place
from waypost.visitors.symbols import Icon, find_icon

DIRECT = "Direct"
DELETED = "Deleted link"
OWN_DESTINATION = "Link's own destination"


@dataclass(frozen=True, slots=True)
class ValueBar:
    name: str
    clicks: int
    values: Sequence[str] = ()
    """Of the filter that leaves these clicks."""
    icon: Icon | None = None
    page: str = ""
    """Of the link."""
    note: str = ""
    parts: "Sequence[ValueBar]" = ()
    """Hosts, if several are one place."""
    visitors: int | None = None
    """If they were counted."""


@dataclass(frozen=True, slots=True)
class ValueList:
    name: str
    id: str
    filter: FilterName
    """With these values."""
    bars: Sequence[ValueBar]
    total: int
    hints: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class ListCard:
    name: str
    lists: Sequence[ValueList]
    """One is shown at a time."""

    @property
    def id(self) -> str:
        return f"card-{self.lists[0].id}"


def list_cards(found: Statistics, targets: ValueList | None) -> list[ListCard]:
    """Return the cards with lists that have entries."""
    total, hidden = found.total, found.hidden
    scans = [("true", total.scans), ("false", total.clicks - total.scans)] if total.scans and not hidden else []
    bars: dict[str, Sequence[ValueBar]] = {
        name: [replace(name_value(name, each.value, each.clicks), visitors=each.visitors) for each in counted]
        for name, counted in found.lists.items()
    }
    bars["is_scan"] = [name_value("is_scan", value, clicks) for value, clicks in scans if clicks]
    bars["referrer"] = referrer_bars(found.lists["referrer"])
    bars["link_id"] = [_link(found.names, each.value, each.clicks) for each in found.lists.get("link", ())]
    for list_, clicks in (hidden.others if hidden else {}).items():
        of_filter = "link_id" if list_ == "link" else list_
        bars[of_filter] = [*bars[of_filter], ValueBar(OTHERS, clicks)]
    cards = []
    for name, members in _CARDS.items():
        lists = [ValueList(*names, bars[names[-1]], total.clicks) for names in members if bars.get(names[-1])]
        cards += [ListCard(name, lists)] if lists else []
    return [*cards, ListCard("Targets", [targets])] if targets else cards


_CARDS: Mapping[str, Sequence[tuple[str, str, FilterName]]] = {
    "Sources": [
        ("Referrers", "referrers", "referrer"),
        ("Campaigns", "campaigns", "utm_campaign"),
        ("UTM sources", "utm-sources", "utm_source"),
        ("UTM mediums", "utm-mediums", "utm_medium"),
        ("UTM terms", "utm-terms", "utm_term"),
        ("UTM contents", "utm-contents", "utm_content"),
        ("QR or link", "scans", "is_scan"),
    ],
    "Places": [("Countries", "countries", "country")],
    "Technology": [
        ("Devices", "devices", "device"),
        ("Browsers", "browsers", "browser"),
        ("Platforms", "platforms", "platform"),
    ],
    "Links": [("Top links", "top-links", "link_id"), ("Tags", "tags", "tag"), ("Domains", "hostnames", "hostname")],
}
"""Name, id and filter of each list."""
_NAMES = {
    ("is_scan", "true"): "QR code scanned",
    ("is_scan", "false"): "Link followed",
    ("target", DEFAULT_TARGET): OWN_DESTINATION,
}


def name_value(filter_: str, value: str, clicks: int = 0) -> ValueBar:
    """Return the bar of a value of a filter, as people call it."""
    if filter_ == "referrer":
        return _source(source_name(value), clicks, Counter({value: clicks}))
    name = _NAMES.get((filter_, value)) or value_name(filter_, value)
    empty = EMPTY_WORDS.get(filter_, "unknown").capitalize()  # type: ignore[call-overload]  # lists without a filter
    return ValueBar(name or empty, clicks, [value], find_icon(filter_, value))


_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_LEVELS = 5


class HeatMap(NamedTuple):
    days: Sequence[tuple[str, Sequence[tuple[int, int]]]]
    """Name and hours, each with its clicks and its level, which is 0 without clicks and at most _LEVELS."""
    peak: str


def heat_map(hours: Sequence[HourCount], preferences: Preferences) -> HeatMap | None:
    if not hours:
        return None
    clicks = {(weekday, hour): count for weekday, hour, count in hours}
    (weekday, hour), most = max(clicks.items(), key=lambda each: each[1])
    days = [
        (name, [(count, ceil(_LEVELS * count / most)) for at in range(24) for count in [clicks.get((number, at), 0)]])
        for number, name in enumerate(_WEEKDAYS, 1)
    ]
    peak = (
        f"Most clicks come on {_WEEKDAYS[weekday - 1]}s from {preferences.hour(hour)} to {preferences.hour(hour + 1)}"
    )
    return HeatMap(
        days, f"{peak}: {preferences.number(most)}, {preferences.percent(most / sum(clicks.values()))} of all."
    )


def source_name(referrer: str) -> str:
    """Return the place of a referrer, or else its host."""
    host = host_of(referrer)
    place = find_place(host)
    return place.name if place else host.removeprefix("www.") or DIRECT


def referrer_bars(counted: Iterable[ValueCount]) -> list[ValueBar]:
    """Return a bar for each place or host, with the hosts of a place that has several."""
    clicks: Counter[str] = Counter()
    hosts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for referrer, count, _ in counted:
        name, host = source_name(referrer), host_of(referrer)
        clicks[name] += count
        hosts[name][host] += count
    return [_source(name, count, hosts[name]) for name, count in clicks.most_common()]


def _source(name: str, clicks: int, hosts: Counter[str]) -> ValueBar:
    if name == DIRECT:
        return ValueBar(name, clicks, [""])
    place = find_place(next(iter(hosts)))
    icon = Icon("brands", place.icon) if place and place.icon else Icon("letter", name[0].upper())
    parts = [ValueBar(host, count, [host]) for host, count in hosts.most_common()]
    return ValueBar(name, clicks, list(hosts), icon, parts=parts if place and len(parts) > 1 else ())


def host_of(referrer: str) -> str:
    try:
        return urlsplit(referrer).netloc or referrer
    except ValueError:
        return referrer


def _link(names: Mapping[UUID, tuple[str, str]], value: str, clicks: int) -> ValueBar:
    link_id = UUID(value)
    if link_id not in names:
        return ValueBar(DELETED, clicks)
    return ValueBar(names[link_id][0], clicks, [str(link_id)], page=f"/links/{link_id}")


# The clicks of a link by target, and whether its variants got what their weights say.

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
    return [
        ValueBar(_label(name), clicks.get(name, 0), [name] if name in clicks else (), note=notes.get(name, GONE))
        for name in {**clicks, **notes}
    ]


def is_split(routing: LinkRouting) -> bool:
    """Return whether visitors are divided by the weights. Those of an unsafe destination are sent elsewhere."""
    return len(_weights(routing)) > 1 and not routing.unsafe_urls


def describe_split(
    clicks: Mapping[str, int], totals: StatsTotals, routing: LinkRouting, since: str, preferences: Preferences
) -> list[str]:
    """Compare the clicks of variants with their weights. Call it if `is_split`.

    A visitor gets the same variant all day, so visitors are independent of each other, and clicks are not. Their
    number is estimated by the clicks per visitor of all targets.

    `clicks` and `totals` are those since these weights are used, or of a shorter time; `since` names its beginning.
    """
    weights = _weights(routing)
    total = sum(clicks.get(name, 0) for name, _ in weights)
    visitors = total * (totals.visitors or 0) / max(1, totals.clicks)
    needed = max(_MIN_VISITORS, -(-_MIN_EXPECTED * 100 // min(weight for _, weight in weights)))
    if visitors < needed:
        counted = f"about {preferences.number(visitors)} without a rule{since}, {preferences.number(needed)} are needed"
        return [f"Too few visitors to compare the split with the weights: {counted}."]
    shares = {name: clicks.get(name, 0) / total for name, _ in weights}
    chi_square = sum(visitors * (shares[name] - weight / 100) ** 2 / (weight / 100) for name, weight in weights)
    split = ", ".join(
        f"{_label(name)} {preferences.percent(shares[name])} (weight {weight}%)" for name, weight in weights
    )
    verdict = DIFFERS if chi_square > _CRITICAL[len(weights) - 2] else AS_CONFIGURED
    return [f"Clicks without a rule{since}: {split}. {verdict}", NO_WINNER]


def _weights(routing: LinkRouting | None) -> list[tuple[str, int]]:
    """Return the weights of the variants and, if any visitors are left for it, of the link's own destination."""
    weights = [(variant["name"], variant["weight"]) for variant in routing.variants] if routing else []
    rest = 100 - sum(weight for _, weight in weights)
    return [*weights, (DEFAULT_TARGET, rest)] if weights and rest else weights


def _label(name: str) -> str:
    return OWN_DESTINATION if name == DEFAULT_TARGET else name
