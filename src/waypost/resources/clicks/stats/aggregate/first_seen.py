"""How many different visitors came within any stretch of time, from counts that simply add up.

A visitor is one within a day, so a day's visitors are known by the quarters of an hour in which they came, as bits. For
each of these quarters it is counted whether the visitor had come before: within the last 15, 30 or 45 minutes, within
the day; and whether again later that day. Then visitors of a whole day or its first part are the sum of `firsts`, of
its last part the sum of `lasts`, and of an hour that begins at any quarter `visitors` of that one, `new_in_15` of the
next, `new_in_30` and `new_in_45` of the last two: each visitor is in exactly one of the terms.
"""

from functools import lru_cache

QUARTERS = 96
"""Of an hour, in a day."""

Marks = tuple[int, int, int, int, int, int]
"""(visitors, new_in_15, new_in_30, new_in_45, firsts, lasts) of one quarter."""

_ALONE: Marks = (1, 1, 1, 1, 1, 1)
_NOTHING: Marks = (0, 0, 0, 0, 0, 0)


def changes(before: int, after: int) -> tuple[tuple[int, Marks], ...]:
    """What a visitor's further quarters add to the counts; also to those of quarters known before, or take from them.

    Both are bits, and `after` has all of `before`. Gives pairs of a quarter and what is to be added there.
    """
    if before == after:
        return ()
    return _marks(after) if not before else _difference(before, after)


@lru_cache(1_000)  # of one or two quarters, as nearly all are, there are few; the others are long
def _marks(bits: int) -> tuple[tuple[int, Marks], ...]:
    if not bits & (bits - 1):
        return ((bits.bit_length() - 1, _ALONE),)
    return tuple((quarter, _mark(bits, quarter)) for quarter in range(QUARTERS) if bits >> quarter & 1)


def _mark(bits: int, quarter: int) -> Marks:
    earlier = bits & ((1 << quarter) - 1)
    since = (
        quarter - earlier.bit_length() + 1 if earlier else QUARTERS
    )  # quarters since the one before; 1: the last one
    return 1, int(since > 1), int(since > 2), int(since > 3), int(not earlier), int(not bits >> quarter + 1)


def _difference(before: int, after: int) -> tuple[tuple[int, Marks], ...]:
    old = dict(_marks(before))
    found = []
    for quarter, marks in _marks(after):
        added = tuple(new - known for new, known in zip(marks, old.get(quarter, _NOTHING), strict=True))
        if any(added):
            found.append((quarter, added))
    return tuple(found)  # type: ignore[arg-type]  # a tuple of six, as `marks` is
