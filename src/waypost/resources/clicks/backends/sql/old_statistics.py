"""Adds statistics of days whose clicks were deleted before they were exported."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy import select

from waypost.database import Tx, bulk, upsert
from waypost.kit.clock import EPOCH, microseconds, parse_timestamp
from waypost.resources import links, qrcodes
from waypost.resources.clicks.backends.sql import sums, top_values
from waypost.resources.clicks.days import find_kept_since
from waypost.resources.clicks.model import (
    DIMENSIONS,
    WHOLE_DAY,
    click_dimensions,
    click_retention,
    click_totals,
    clicks,
)
from waypost.resources.clicks.statistics_export import QUARTER_COLUMNS

_TIMES = ("first_at", "last_at")
_QUARTERS = range(WHOLE_DAY, 96)
_MAX_COUNT = 1 << 31


class OldDay(NamedTuple):
    day: int
    link_id: UUID | None
    """None: of the account."""
    quarters: list[tuple[Any, ...]]
    values: list[tuple[int, str, int]]


def read_day(row: Mapping[str, Any]) -> OldDay | None:
    """Return None for a row that cannot be statistics."""
    try:
        link_id = None if row["link_id"] is None else UUID(row["link_id"])
        day = (date.fromisoformat(row["date"]) - EPOCH.date()).days
        quarters = [tuple(_quarter(quarter)) for quarter in row["quarters"]]
        values = [
            (DIMENSIONS[dimension], _text(value), _count(count))
            for dimension, counts in row["values"].items()
            for value, count in counts.items()
        ]
    except (KeyError, TypeError, ValueError, AttributeError):
        return None
    return OldDay(day, link_id, quarters, values)


async def begin(tx: Tx, kept_since: int) -> bool:
    """Let the days before `kept_since` have statistics without clicks. Return False if clicks of them are kept here."""
    await sums.lock(tx)
    if kept_since <= await find_kept_since(tx):
        return True
    if (await tx.execute(select(clicks.c.id).where(clicks.c.day < kept_since).limit(1))).first():
        return False
    statement = upsert(tx, click_retention).values(id=1, kept_since=kept_since)
    await tx.execute(statement.on_conflict_do_update(index_elements=["id"], set_={"kept_since": kept_since}))
    return True


async def add(tx: Tx, account_id: UUID, days: Sequence[OldDay]) -> int:
    """Add the statistics of days that have none of this subject yet. Return the number of days of links added."""
    await sums.lock(tx)
    stored = await bulk.find(
        tx, click_totals, [(each.day, (each.link_id or account_id).bytes, WHOLE_DAY) for each in days]
    )
    known = {(row[0], row[1]) for row in stored}
    new = {
        (each.day, (each.link_id or account_id).bytes): each
        for each in days
        if (each.day, (each.link_id or account_id).bytes) not in known
    }
    totals = [(*key, *quarter) for key, each in sorted(new.items()) for quarter in each.quarters]
    await bulk.insert(tx, click_totals, totals, on_conflict="ON CONFLICT DO NOTHING")
    values = [(*key, *value) for key, each in sorted(new.items()) for value in each.values]
    await bulk.insert(tx, click_dimensions, values, on_conflict="ON CONFLICT DO NOTHING")
    of_links = [each for each in new.values() if each.link_id]
    await links.add_clicks(tx, _sums(of_links, account_id, "clicks"))
    await qrcodes.add_scans(tx, {link: count for link, _, count in _sums(of_links, account_id, "scans") if count})
    await top_values.clear_cache_of(tx, account_id)
    return len(of_links)


def _sums(days: Sequence[OldDay], account_id: UUID, name: str) -> list[tuple[bytes, bytes, int]]:
    sums: dict[bytes, int] = {}
    index = QUARTER_COLUMNS.index(name)
    for each in days:
        if each.link_id:
            count = sum(row[index] for row in each.quarters if row[0] == WHOLE_DAY)
            sums[each.link_id.bytes] = sums.get(each.link_id.bytes, 0) + count
    return [(link, account_id.bytes, count) for link, count in sums.items()]


def _quarter(row: Mapping[str, Any]) -> Iterator[int | None]:
    """Yield the values of `click_totals` after day and subject."""
    for name in QUARTER_COLUMNS:
        value = row[name]
        if name in _TIMES:
            yield None if value is None else microseconds(parse_timestamp(value))
        elif name == "quarter":
            yield _QUARTERS[_QUARTERS.index(value)]
        else:
            yield _count(value)


def _count(value: Any) -> int:
    if not isinstance(value, int) or not 0 <= value < _MAX_COUNT:
        raise ValueError(value)
    return value


def _text(value: str) -> str:
    if "\0" in value:
        raise ValueError(value)
    return value
