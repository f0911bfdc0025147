"""Counts of first-seen visitors: sums that give the exact number of visitors in any hour or beginning or end of a day.

A visitor is one within a UTC day. Of each visitor the quarters of an hour with visits are known, as bits. Each quarter
counts how many of its visitors were not seen before: within the last 15, 30 or 45 minutes, on the day; and how many
were not seen again on the day. Visitors of a day or its beginning are the sum of `firsts`, of its end the sum of
`lasts`, and of an hour from any quarter on the sum of `visitors` of that one, `new_in_15` of the next, `new_in_30` and
`new_in_45` of the last two: each visitor is in exactly one of the terms.
"""

from functools import lru_cache

QUARTERS = 96
"""In a day."""

FirstSeenCounts = tuple[int, int, int, int, int, int]
"""(visitors, new_in_15, new_in_30, new_in_45, firsts, lasts) of one quarter."""

_ONE: FirstSeenCounts = (1, 1, 1, 1, 1, 1)
_NONE: FirstSeenCounts = (0, 0, 0, 0, 0, 0)


def count_changes(before: int, after: int) -> tuple[tuple[int, FirstSeenCounts], ...]:
    """What further quarters of a visitor add to the counts of quarters, or take from those known before.

    Both are bits, and `after` has all of `before`. Returns pairs of a quarter and what to add there.
    """
    if before == after:
        return ()
    return _counts(after) if not before else _difference(before, after)


@lru_cache(1_000)  # of one or two quarters, as nearly all are, there are few; the others are long
def _counts(bits: int) -> tuple[tuple[int, FirstSeenCounts], ...]:
    if not bits & (bits - 1):
        return ((bits.bit_length() - 1, _ONE),)
    return tuple((quarter, _count(bits, quarter)) for quarter in range(QUARTERS) if bits >> quarter & 1)


def _count(bits: int, quarter: int) -> FirstSeenCounts:
    earlier = bits & ((1 << quarter) - 1)
    away = quarter - earlier.bit_length() + 1 if earlier else QUARTERS  # quarters; 1: seen in the one before
    return 1, int(away > 1), int(away > 2), int(away > 3), int(not earlier), int(not bits >> quarter + 1)


def _difference(before: int, after: int) -> tuple[tuple[int, FirstSeenCounts], ...]:
    old = dict(_counts(before))
    found = []
    for quarter, counts in _counts(after):
        added = tuple(new - known for new, known in zip(counts, old.get(quarter, _NONE), strict=True))
        if any(added):
            found.append((quarter, added))
    return tuple(found)  # type: ignore[arg-type]  # a tuple of six, as `counts` is
