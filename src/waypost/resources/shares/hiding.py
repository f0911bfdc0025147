"""Hides what few people did: entries, totals, points and hours with fewer clicks than a limit. Pure.

A small number is also hidden if it is the difference of numbers that are shown. Within a list, the entries that are not
shown have at least the limit together: otherwise the smallest of the others joins them. Among states of the page, whose
filters divide the same clicks, each part of the division is empty or has at least the limit: that of the chosen
filters, and those with the opposite of some of them.

    state without filters   100 clicks   DE 60, AT 38, (other) 2      → DE 60, (other) 40
    state device=mobile      97 clicks   …                            → not shown: 3 others have another device

Someone who compares numbers of different time ranges or moments learns how what is shown grew. That cannot be hidden.
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import TypeVar
from uuid import UUID

from waypost.kit.errors import Problems
from waypost.resources.clicks.dashboard.value_lists import host_of
from waypost.resources.clicks.filters import FilterName, Filters
from waypost.resources.clicks.model import ListName, StatsTotals
from waypost.resources.clicks.stats.read import Hidden, Statistics, ValueCount

MAX_CLAUSES = 2
"""Filters of a visitor. Each doubles what is read."""
MAX_ENTRIES = 1_000
"""Of each list that is read: the states are compared by them."""
NOT_CHOSEN = "This value cannot be chosen."
TOO_MANY_FILTERS = f"These statistics can be filtered by {MAX_CLAUSES} lists at the same time."

LISTS: Mapping[FilterName, ListName] = {
    "country": "country",
    "device": "device",
    "browser": "browser",
    "platform": "platform",
    "referrer": "referrer",
    "target": "target",
    "link_id": "link",
    "tag": "tag",
    "hostname": "hostname",
    "utm_source": "utm_source",
    "utm_medium": "utm_medium",
    "utm_campaign": "utm_campaign",
    "utm_term": "utm_term",
    "utm_content": "utm_content",
}
"""The list that shows the values of a filter. What no list shows cannot be chosen."""
_OVERLAPPING: frozenset[ListName] = frozenset({"tag"})
"""Lists in which a click can count several times."""

K = TypeVar("K", bound=Hashable)
States = Mapping[frozenset[int], Statistics]
"""The statistics with some of the filters, by their indices."""


class TooFew(Exception):
    """The total is too small to be shown."""


def subsets(count: int) -> list[frozenset[int]]:
    """Return all sets of the indices of `count` filters. The last one is that of all."""
    return [frozenset(each) for size in range(count + 1) for each in combinations(range(count), size)]


def check_chosen(filters: Filters, whole: Statistics, limit: int, problems: Problems) -> Filters:
    """Return the filters whose values are all visible without filters. `whole`: the statistics without filters."""
    clauses = filters.clauses
    if len(clauses) > MAX_CLAUSES:
        problems.add(clauses[MAX_CLAUSES].name, TOO_MANY_FILTERS)
        clauses = clauses[:MAX_CLAUSES]
    try:
        lists = hide({frozenset(): whole}, limit).lists
    except TooFew:
        lists = {}
    visible = {name: {each.value for each in lists.get(LISTS[name], ())} for name in LISTS}
    chosen = []
    for clause in clauses:
        texts = [UUID(text).hex if clause.name == "link_id" else text for text, _ in clause.values]
        if visible[clause.name].issuperset(texts):
            chosen.append(clause)
        else:
            problems.add(clause.name, NOT_CHOSEN)
    return Filters(tuple(chosen))


def hide(states: States, limit: int, *, entries: int | None = None) -> Statistics:
    """Return what may be shown of the state with all filters. `entries`: how many each list has at most.

    Raises TooFew.
    """
    states = {state: _by_host(found) for state, found in states.items()}
    full = max(states, key=len)
    found, totals = states[full], {state: each.total.clicks for state, each in states.items()}
    if totals[full] < limit or not _is_safe(totals, limit):
        raise TooFew
    lists, others = {}, {}
    for name, counted in found.lists.items():
        counts = {state: {e.value: e.clicks for e in each.lists.get(name, ())} for state, each in states.items()}
        sums = None if name in _OVERLAPPING else totals
        shown = _visible(counts, sums, limit, least=limit)
        lists[name] = [each for each in counted if each.value in shown][:entries]
        rest = (totals[full] if sums else sum(counts[full].values())) - sum(counts[full][value] for value in shown)
        if rest and len(shown) < len(counted):
            others[name] = rest
    points = {state: {i: p.clicks for i, p in enumerate(each.points)} for state, each in states.items()}
    visible_points = _visible(points, totals, limit, least=0)
    hours = {state: {(h.weekday, h.hour): h.clicks for h in each.hours} for state, each in states.items()}
    visible_hours = _visible(hours, totals, limit, least=limit) if found.hours else set()
    return replace(
        found,
        total=_people(found.total, limit),
        points=[_people(point, limit) for point in found.points],
        lists=lists,
        hours=[each for each in found.hours if (each.weekday, each.hour) in visible_hours],
        previous=_previous(states, limit),
        hidden=Hidden(others, frozenset(points[full].keys() - visible_points)),
    )


def _previous(states: States, limit: int) -> Statistics | None:
    earlier = {state: each.previous for state, each in states.items()}
    known = {state: each for state, each in earlier.items() if each is not None}
    if len(known) < len(earlier):
        return None
    try:
        return hide(known, limit)
    except TooFew:
        return None


def _visible(
    counts: Mapping[frozenset[int], Mapping[K, int]],
    totals: Mapping[frozenset[int], int] | None,
    limit: int,
    *,
    least: int,
) -> set[K]:
    """Return the keys whose clicks may be shown in the state with all filters.

    `totals`: of the states, if each click has one key at most. `least`: clicks of a key that is shown, or 0.
    """
    full = max(counts, key=len)
    of_keys = {key: {state: counts[state].get(key, 0) for state in counts} for key in counts[full]}
    sums = totals or {state: sum(of_key[state] for of_key in of_keys.values()) for state in counts}
    visible = {key for key, of_key in of_keys.items() if of_key[full] >= least and _is_safe(of_key, limit)}
    rest = {state: total - sum(of_keys[key][state] for key in visible) for state, total in sums.items()}
    for key in sorted(visible, key=lambda key: (of_keys[key][full], str(key))):
        if _is_safe(rest, limit):
            break
        if any(of_keys[key].values()):
            visible.remove(key)
            rest = {state: rest[state] + of_keys[key][state] for state in rest}
    return visible


def _is_safe(of_states: Mapping[frozenset[int], int], limit: int) -> bool:
    """Return whether each part into which the filters divide the clicks is empty or has at least `limit`."""
    return all(part == 0 or part >= limit for part in _parts(of_states))


def _parts(of_states: Mapping[frozenset[int], int]) -> Iterable[int]:
    """Yield the clicks that match some of the filters, and the opposite of the others: by inclusion and exclusion."""
    for state in of_states:
        yield sum((-1) ** (len(other) - len(state)) * clicks for other, clicks in of_states.items() if other >= state)


def _people(totals: StatsTotals, limit: int) -> StatsTotals:
    """Leave out a small number of visitors, and what is known of single clicks and of scans."""
    visitors = totals.visitors if totals.visitors is None or totals.visitors >= limit or not totals.clicks else None
    return StatsTotals(totals.clicks, visitors)


def _by_host(found: Statistics) -> Statistics:
    """Sum up the referrers of each host: that is what visitors choose."""
    if "referrer" not in found.lists:
        return found
    hosts = Counter[str]()
    for each in found.lists["referrer"]:
        hosts[host_of(each.value)] += each.clicks
    counted: Sequence[ValueCount] = [ValueCount(host, clicks) for host, clicks in hosts.most_common()]
    return replace(found, lists={**found.lists, "referrer": [*counted]})
