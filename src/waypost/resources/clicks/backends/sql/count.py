"""Counts the clicks that filters select, from their rows.

A statement joins the values of some thousands of clicks into one text for each column, and Python counts them: a
database would sort all clicks for each list. Without click rows, the sums of links are added up.
"""

import asyncio
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy import ARRAY, ColumnElement, Integer, Select, String, and_, any_, bindparam, func, select, type_coerce
from sqlalchemy import cast as sql_cast

from waypost.database import Instant, NamedRow, Tx
from waypost.kit.clock import QUARTER, from_microseconds
from waypost.resources.clicks.backends.sql import matching
from waypost.resources.clicks.backends.sql.top_values import split_agents
from waypost.resources.clicks.days import DaySlice, in_values
from waypost.resources.clicks.label_values import values_of
from waypost.resources.clicks.model import (
    CRAWLER,
    DIMENSIONS,
    HUMAN,
    PREVIEW,
    WHOLE_DAY,
    LabelName,
    ListName,
    StatsTotals,
    click_dimensions,
    click_totals,
    clicks,
)
from waypost.resources.clicks.selection import ClickSelection
from waypost.resources.clicks.stats.tally import SEPARATOR, ClickColumns, Counted, Tally, TooManyClicks
from waypost.resources.links import labels

BATCH_SIZE = 10_000
"""Clicks of a statement. The loop of events waits some milliseconds while they are counted."""
COUNT_SECONDS = 2.0


class _CountedPart(NamedTuple):
    """What one statement counts: some days, or a part of one."""

    days: Sequence[int]
    begin: int
    end: int
    """Microseconds since 1970."""
    is_same_day: bool
    """Whether the part before was of the same day."""


async def count_clicks(
    tx: Tx, selection: ClickSelection, slices: Sequence[DaySlice], sizes: Mapping[int, int], tally: Tally
) -> Counted:
    """Count the clicks in the slices, of which only the first and the last may be parts of days.

    `sizes`: about how many visits each day has. Raises TooManyClicks when it takes longer than COUNT_SECONDS.
    """
    now = asyncio.get_running_loop().time
    deadline = now() + COUNT_SECONDS
    query, known = _query(tx, selection, tally.columns), dict[str, Mapping[LabelName, Collection[str]]]()
    for part in _divide(slices, sizes):
        row = (await tx.execute(query, _parameters(tx, part))).one()
        batch = _read_batch(row, tally.columns)
        if tally.needs_labels:
            new = set(batch.columns["link"]) - known.keys()
            found = await labels.find_labels(tx, [UUID(id_) for id_ in new], shared_domain=tally.shared_domain)
            known |= {id_.hex: values_of(each) for id_, each in found.items()}
        tally.add(batch, known, is_same_day=part.is_same_day)
        if now() > deadline:
            raise TooManyClicks
    return tally.finish()


def _divide(slices: Sequence[DaySlice], sizes: Mapping[int, int]) -> Iterator[_CountedPart]:
    together: list[DaySlice] = []
    size = 0
    for day_slice in slices:
        size += sizes[day_slice.day]
        if together and size > BATCH_SIZE:
            yield _part(together)
            together, size = [], sizes[day_slice.day]
        if size > BATCH_SIZE:
            parts = day_slice.divide(-(-size // BATCH_SIZE))
            yield from (_part([each], is_same_day=each is not parts[0]) for each in parts)
            size = 0
        else:
            together.append(day_slice)
    if together:
        yield _part(together)


def _part(slices: Sequence[DaySlice], *, is_same_day: bool = False) -> _CountedPart:
    return _CountedPart([each.day for each in slices], slices[0].begin, slices[-1].end, is_same_day)


def _query(tx: Tx, selection: ClickSelection, columns: Collection[str]) -> Select[Any]:
    """Select what `_read_batch` reads. Bots have no target, so a filter by target leaves all of them."""
    is_sqlite = tx.dialect.name == "sqlite"
    by_target = [matching.match(tx, each, clicks.c.target) for each in selection.clauses if each.name == "target"]
    others = [matching.match(tx, each, clicks.c[each.name]) for each in selection.clauses if each.name != "target"]
    is_human = clicks.c.kind == HUMAN
    for condition in by_target:
        is_human &= condition

    def joined(text: ColumnElement[Any], condition: ColumnElement[bool] = is_human) -> ColumnElement[str]:
        return (func.group_concat if is_sqlite else func.string_agg)(text, SEPARATOR).filter(condition)

    quarter = _quarter(tx)
    texts = {
        "profile": clicks.c.country + "\t" + clicks.c.device + "\t" + clicks.c.browser + "\t" + clicks.c.platform,
        "referrer": clicks.c.referrer,
        "target": clicks.c.target,
        "link": func.hex(clicks.c.link_id) if is_sqlite else sql_cast(clicks.c.link_id, String),
    }
    counts: list[ColumnElement[Any]] = [
        func.count().filter(clicks.c.kind == CRAWLER),
        func.count().filter(clicks.c.kind == PREVIEW),
        func.min(clicks.c.created_at).filter(is_human),
        func.max(clicks.c.created_at).filter(is_human),
        joined(quarter),
        joined(sql_cast(clicks.c.visitor_id, String)),
        joined(quarter, is_human & clicks.c.is_scan),
        *(joined(texts[name]) for name in columns),
    ]
    query = select(*counts).where(
        _is_on_days(tx),
        clicks.c.created_at >= bindparam("begin", type_=Instant),
        clicks.c.created_at < bindparam("end", type_=Instant),
        *matching.of_links(tx, selection),
        *others,
    )
    index = "link" if selection.subject.link_id or (selection.links and selection.links.few is not None) else "account"
    return query.with_hint(clicks, f"INDEXED BY ix_clicks_{index}", "sqlite")


def _parameters(tx: Tx, part: _CountedPart) -> dict[str, Any]:
    days = part.days if tx.dialect.name == "postgresql" else json.dumps(part.days)
    return {"days": days, "begin": from_microseconds(part.begin), "end": from_microseconds(part.end)}


def _is_on_days(tx: Tx) -> ColumnElement[bool]:
    """The parameter is set in each part, so that the statement is built once."""
    if tx.dialect.name == "postgresql":
        return clicks.c.day == any_(bindparam("days", type_=ARRAY(Integer)))
    days: Any = func.json_each(bindparam("days", type_=String)).table_valued("value")
    return clicks.c.day.in_(select(days.c.value))


def _quarter(tx: Tx) -> ColumnElement[Any]:
    """The quarter of an hour since 1970, as text."""
    if tx.dialect.name == "postgresql":
        seconds = func.floor(func.date_part("epoch", clicks.c.created_at) / (QUARTER // 1_000_000))
        return sql_cast(sql_cast(seconds, Integer), String)
    return type_coerce(clicks.c.created_at, Integer) // QUARTER


def _read_batch(row: NamedRow[*tuple[Any, ...]], columns: Sequence[str]) -> ClickColumns:
    crawlers, previews, first_at, last_at, *texts = row
    quarters, visitors, scans, *others = [[] if text is None else text.split(SEPARATOR) for text in texts]
    values = dict(zip(columns, others, strict=True))
    if "link" in values:
        ids = {text: UUID(text).hex for text in set(values["link"])}
        values["link"] = [ids[text] for text in values["link"]]
    total = StatsTotals(len(quarters), 0, len(scans), crawlers, previews, first_at, last_at)
    return ClickColumns(quarters, visitors, scans, values, total)


async def sum_links(
    tx: Tx, selection: ClickSelection, slices: Sequence[DaySlice], lists: Collection[ListName]
) -> Counted:
    """Add up what links of the selection had, by their sums. Nothing says how many visitors came to several of them.

    Parts of days are quarters of an hour; in lists, the whole day.
    """
    counted, days = Counted(), [each.day for each in slices]
    totals, values = click_totals.c, click_dimensions.c
    has_subject = [_in_set(tx, selection, column) for column in (totals.subject_id, values.subject_id)]
    sums = (func.sum(totals[name]) for name in ("clicks", "scans", "crawlers", "previews"))
    by_quarter = (
        select(totals.day, totals.quarter, *sums, func.min(totals.first_at), func.max(totals.last_at))
        .where(in_values(tx, totals.day, days), has_subject[0], totals.quarter > WHOLE_DAY)
        .group_by(totals.day, totals.quarter)
    )
    counted.add_quarters(
        (
            (day, quarter, StatsTotals(of_quarter, 0, scans, *others))
            for day, quarter, of_quarter, scans, *others in await tx.execute(by_quarter)
        ),
        slices,
    )
    if lists:
        names = {number: name for name, number in DIMENSIONS.items()}
        by_value = (
            select(values.dimension, values.value, func.sum(values.clicks))
            .where(in_values(tx, values.day, days), has_subject[1])
            .group_by(values.dimension, values.value)
        )
        rows = [(names[number], value, count) for number, value, count in await tx.execute(by_value)]
        by_link = (
            select(totals.subject_id, func.sum(totals.clicks))
            .where(in_values(tx, totals.day, days), has_subject[0], totals.quarter == WHOLE_DAY)
            .group_by(totals.subject_id)
        )
        links = [("link", id_.hex, count) for id_, count in await tx.execute(by_link)]
        counted.values = split_agents([*rows, *links])
    return counted


def _in_set(tx: Tx, selection: ClickSelection, subject_id: ColumnElement[UUID]) -> ColumnElement[bool]:
    return and_(*(selection.links.conditions(tx.dialect.name, subject_id) if selection.links else ()))
