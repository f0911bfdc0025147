"""What shares hide: an attacker who has the link asks for everything that can be asked."""

import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import product

import pytest

from waypost.kit.errors import Problems
from waypost.resources.clicks.filters import ACCOUNT_FILTERS, Filters
from waypost.resources.clicks.model import StatsTotals
from waypost.resources.clicks.stats.read import HourCount, Statistics, ValueCount
from waypost.resources.shares.hiding import NOT_CHOSEN, TOO_MANY_FILTERS, TooFew, check_chosen, hide, subsets

WHOLE = frozenset[int]()
LIMIT = 5


def found(
    country: Mapping[str, int], points: Sequence[int] = (), hours: Iterable[tuple[int, int, int]] = ()
) -> Statistics:
    total = sum(country.values())
    counted = [ValueCount(*each) for each in sorted(country.items(), key=lambda each: -each[1])]
    listed = [HourCount(*each) for each in hours]
    return Statistics(StatsTotals(total, total), [StatsTotals(n, n) for n in points], {"country": counted}, listed, {})


def shown(statistics: Statistics) -> dict[str, int]:
    others = statistics.hidden.others if statistics.hidden else {}
    return {each.value: each.clicks for each in statistics.lists["country"]} | (
        {"(other)": others["country"]} if "country" in others else {}
    )


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ({"DE": 60, "AT": 20}, {"DE": 60, "AT": 20}),
        ({"DE": 60, "AT": 3, "LI": 2}, {"DE": 60, "(other)": 5}),
        ({"DE": 60, "AT": 38, "LI": 2}, {"DE": 60, "(other)": 40}),
        ({"DE": 98, "LI": 2}, {"(other)": 100}),
        ({"DE": 4, "AT": 4}, {"(other)": 8}),
    ],
)
def test_few_clicks_are_summed_up_with_enough_others(counts: dict[str, int], expected: dict[str, int]) -> None:
    assert shown(hide({WHOLE: found(counts)}, LIMIT)) == expected


def test_small_totals_points_and_hours_are_not_shown() -> None:
    with pytest.raises(TooFew):
        hide({WHOLE: found({"DE": 4})}, LIMIT)
    hours = [(1, 9, 30), (1, 10, 2), (2, 9, 60), (2, 10, 1), (3, 9, 7)]
    statistics = hide({WHOLE: found({"DE": 100}, [0, 50, 3, 40, 7], hours)}, LIMIT)
    assert statistics.hidden
    assert {*statistics.hidden.points} == {2, 4}, "the smallest of the others joins the point that is hidden"
    assert [each[:2] for each in statistics.hours] == [(1, 9), (2, 9)]
    assert hide({WHOLE: found({"DE": 100}, [0, 50, 3, 2, 45])}, LIMIT).hidden.points == {2, 3}


def test_what_a_filter_leaves_out_is_not_small_either() -> None:
    base = found({"DE": 60, "AT": 38, "FR": 30})
    assert shown(hide({WHOLE: base, frozenset({0}): found({"DE": 20, "AT": 38})}, LIMIT)) == {"DE": 20, "AT": 38}
    with pytest.raises(TooFew):
        hide({WHOLE: base, frozenset({0}): found({"DE": 60, "AT": 38, "FR": 27})}, LIMIT)
    few_others = found({"DE": 58, "AT": 20, "FR": 10})  # of DE, 2 clicks do not match
    assert shown(hide({WHOLE: base, frozenset({0}): few_others}, LIMIT)) == {"AT": 20, "(other)": 68}


def test_only_visible_values_are_chosen() -> None:
    whole = found({"DE": 60, "AT": 40, "LI": 3, "LU": 4})
    for sent, kept, names in (
        ([("country", "DE")], 1, {}),
        ([("country", "-DE,AT")], 1, {}),
        ([("country", "LI")], 0, {"country": [NOT_CHOSEN]}),
        ([("country", "-LI")], 0, {"country": [NOT_CHOSEN]}),
        ([("country", "ZZ")], 0, {"country": [NOT_CHOSEN]}),
        ([("device", "mobile"), ("browser", "x"), ("country", "DE")], 0,
         {"device": [NOT_CHOSEN], "browser": [NOT_CHOSEN], "country": [TOO_MANY_FILTERS]}),
    ):  # fmt: skip
        problems = Problems()
        filters = check_chosen(Filters.read(sent, ACCOUNT_FILTERS, problems), whole, LIMIT, problems)
        assert (len(filters.clauses), problems.errors) == (kept, names), sent


@pytest.mark.parametrize("seed", range(30))
def test_no_difference_of_two_states_is_small(seed: int) -> None:
    """Each total and entry of a state with filters, and what it differs by from that without: nothing or enough."""
    chance = random.Random(seed)
    clicks = [
        (chance.choice("ABCDEF"), chance.choice("xyz"), chance.choice("pq"))
        for _ in range(chance.choice((30, 60, 120)))
        for _ in range(chance.choice((1, 1, 3)))
    ]

    def of(*conditions: tuple[int, str]) -> Statistics:
        matching = [click for click in clicks if all(click[index] == value for index, value in conditions)]
        return found(Counter(click[0] for click in matching))

    base = of()
    for second, third in product("xyz", "pq"):
        clauses = [(1, second), (2, third)]
        states = {state: of(*(clauses[index] for index in state)) for state in subsets(2)}
        for state in subsets(2)[1:]:
            part = {each: states[each] for each in subsets(2) if each <= state}
            try:
                statistics = hide(part, LIMIT)
            except TooFew:
                continue
            whole = hide({WHOLE: base}, LIMIT)
            assert _is_enough(base.total.clicks - statistics.total.clicks)
            counts = shown(statistics)
            assert all(count >= LIMIT for count in counts.values())
            assert sum(counts.values()) == statistics.total.clicks
            for value, count in counts.items():
                if value != "(other)" and value in shown(whole):
                    assert _is_enough(shown(whole)[value] - count)


def _is_enough(difference: int) -> bool:
    return difference == 0 or difference >= LIMIT
