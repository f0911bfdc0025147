"""The clicks of each tag, hostname and UTM parameter: the clicks of an account's links, by what these have now."""

from collections.abc import Sequence

from sqlalchemy import func, select, union_all

from waypost.database import Tx
from waypost.resources.clicks.backends.sql.top_values import partial_count_queries
from waypost.resources.clicks.days import SignedSlice, in_values
from waypost.resources.clicks.label_values import LabelValues, sum_labels
from waypost.resources.clicks.model import DIMENSIONS, Subject, click_dimensions

_BATCH = 20_000  # links

_dimensions = click_dimensions.c


async def find_label_values(
    tx: Tx, subject: Subject, days: Sequence[int], partial_days: Sequence[SignedSlice], *, shared_domain: str
) -> LabelValues:
    found: LabelValues = {}
    after = ""
    while True:
        clicks = await _count_links(tx, subject, days, partial_days, after)
        for name, counts in (await sum_labels(tx, clicks, shared_domain=shared_domain)).items():
            found[name] = found[name] + counts if name in found else counts
        if len(clicks) < _BATCH:
            return found
        after = max(clicks)


async def _count_links(
    tx: Tx, subject: Subject, days: Sequence[int], partial_days: Sequence[SignedSlice], after: str
) -> dict[str, int]:
    """Return the clicks of the next links, in the order of their hex digits."""
    counts = select(_dimensions.value, _dimensions.clicks).where(
        in_values(tx, _dimensions.day, days),
        _dimensions.subject_id == subject.id,
        _dimensions.dimension == DIMENSIONS["link"],
        _dimensions.value > after,
    )
    of_partial_days = partial_count_queries(tx, subject, partial_days).get("link")
    counted = [counts] if of_partial_days is None else [counts, of_partial_days]
    value, count = union_all(*counted).subquery().c
    query = select(value, func.sum(count)).where(value > after).group_by(value).order_by(value).limit(_BATCH)
    return {link: int(total) for link, total in await tx.execute(query)}
