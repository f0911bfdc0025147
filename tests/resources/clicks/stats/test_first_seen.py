"""Sums of first-seen counts equal a count of each visitor."""

from hypothesis import given
from hypothesis import strategies as st

from waypost.resources.clicks.stats.aggregate import QUARTERS_PER_DAY, changes_per_quarter

quarters = st.integers(0, QUARTERS_PER_DAY - 1)
comings = st.lists(quarters, min_size=1, max_size=12)


def table_of(visitors: list[list[int]]) -> list[list[int]]:
    """What `changes_per_quarter` adds for visitors who come in the given order, a row for each quarter."""
    table = [[0] * 6 for _ in range(QUARTERS_PER_DAY)]
    for came in visitors:
        before = 0
        for quarter in came:
            after = before | 1 << quarter
            for place, marks in changes_per_quarter(before, after):
                table[place] = [had + more for had, more in zip(table[place], marks, strict=True)]
            before = after
    return table


def test_counts_of_one_visitor() -> None:
    table = table_of([[40, 41], [41], [41]])
    assert table[40] == [1, 1, 1, 1, 1, 0]
    assert table[41] == [3, 2, 2, 2, 2, 3]


def test_a_repeated_quarter_changes_nothing() -> None:
    assert changes_per_quarter(0b1011, 0b1011) == ()


def test_a_late_visit_reduces_counts_of_later_quarters() -> None:
    assert table_of([[41, 40]]) == table_of([[40, 41]])


@given(st.lists(comings, max_size=6), quarters)
def test_a_day_and_its_ends_are_sums(visitors: list[list[int]], cut: int) -> None:
    table = table_of(visitors)
    assert sum(row[4] for row in table) == len(visitors)
    assert sum(row[4] for row in table[:cut]) == sum(any(quarter < cut for quarter in came) for came in visitors)
    assert sum(row[5] for row in table[cut:]) == sum(any(quarter >= cut for quarter in came) for came in visitors)


@given(st.lists(comings, max_size=6), st.integers(0, QUARTERS_PER_DAY - 4), st.integers(1, 4))
def test_an_hour_may_begin_at_any_quarter(visitors: list[list[int]], start: int, length: int) -> None:
    table = table_of(visitors)
    counted = sum(table[start + further][further] for further in range(length))
    assert counted == sum(any(start <= quarter < start + length for quarter in came) for came in visitors)
