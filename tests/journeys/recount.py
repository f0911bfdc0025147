"""VisitTotals added up once more from the click rows, in the plainest way there is, and compared row for row.

Both are read in one snapshot, so they must agree at any moment, whatever is going on.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Any

from sqlalchemy import Connection, Row, Select, Table, create_engine, select

from waypost.resources.clicks.model import (
    DIMENSIONS,
    MAX_LINK_ROWS,
    WHOLE_DAY,
    click_dimensions,
    click_totals,
    clicks,
    visitor_days,
)
from waypost.resources.links.model import link_clicks
from waypost.resources.qrcodes.model import qr_scans

VisitTotals = dict[tuple[Any, ...], tuple[Any, ...]]
"""Rows of a table: key and the rest."""

_KINDS = ("human", "crawler", "preview", "prefetch")


def agree(database_url: str) -> list[Row[Any]]:
    """The click rows, once everything that is added up agrees with them."""
    engine = create_engine(database_url.replace("postgresql://", "postgresql+psycopg://"))
    isolation = "REPEATABLE READ" if engine.name == "postgresql" else "SERIALIZABLE"
    with engine.connect().execution_options(isolation_level=isolation) as connection:
        if engine.name == "sqlite":
            connection.exec_driver_sql("BEGIN")  # or each statement would see a moment of its own
        rows = list(connection.execute(select(clicks)))
        assert _rows(connection, click_totals) == _totals(rows)
        assert _rows(connection, click_dimensions) == _dimensions(rows)
        assert _rows(connection, visitor_days) == _visitor_days(rows)
        humans = Counter(row.link_id for row in rows if row.kind == "human")
        counters = connection.execute(
            select(link_clicks.c.link_id, link_clicks.c.clicks).where(link_clicks.c.clicks > 0)
        )
        assert dict(map(tuple, counters)) == humans
        scanned = Counter(row.link_id for row in rows if row.kind == "human" and row.is_scan)
        assert dict(map(tuple, connection.execute(select(qr_scans).where(qr_scans.c.scans > 0)))) == scanned
    engine.dispose()
    return rows


def _rows(connection: Connection, table: Table) -> VisitTotals:
    size = len(table.primary_key)
    statement: Select[Any] = select(table)
    return {tuple(row[:size]): tuple(row[size:]) for row in connection.execute(statement)}


def _totals(rows: Iterable[Row[Any]]) -> VisitTotals:
    found: dict[tuple[Any, ...], list[Row[Any]]] = defaultdict(list)
    for row in rows:
        for subject in (row.link_id, row.account_id):
            for quarter in (WHOLE_DAY, _quarter(row)):
                found[row.day, subject, quarter].append(row)
    marks = _marks(rows)
    return {key: (*_counts(own), *marks.get(key, (0,) * 6), *_moments(own)) for key, own in found.items()}


def _counts(rows: list[Row[Any]]) -> tuple[int, ...]:
    kinds = Counter(row.kind for row in rows)
    return *(kinds[kind] for kind in _KINDS), sum(row.is_scan for row in rows if row.kind == "human")


def _moments(rows: list[Row[Any]]) -> tuple[Any, Any]:
    moments = [row.created_at for row in rows if row.kind == "human"]
    return min(moments, default=None), max(moments, default=None)


def _marks(rows: Iterable[Row[Any]]) -> dict[tuple[Any, ...], list[int]]:
    """(visitors, new in 15, 30, 45 minutes, firsts, lasts) of each day, subject and quarter. Of a day all are new."""
    found: dict[tuple[Any, ...], list[int]] = defaultdict(lambda: [0] * 6)
    for (day, _, subject), quarters in _quarters(rows, "link_id", "account_id").items():
        for quarter in quarters:
            news = (not quarters & set(range(quarter - back, quarter)) for back in (1, 2, 3))
            marks = (True, *news, quarter == min(quarters), quarter == max(quarters))
            own = found[day, subject, quarter]
            own[:] = [count + mark for count, mark in zip(own, marks, strict=True)]
        whole = found[day, subject, WHOLE_DAY]
        whole[:] = [count + 1 for count in whole]
    return found


def _quarters(rows: Iterable[Row[Any]], *subjects: str) -> dict[tuple[Any, ...], set[int]]:
    """In which each visitor came, by day, visitor and subject."""
    found: dict[tuple[Any, ...], set[int]] = defaultdict(set)
    for row in rows:
        if row.kind == "human":
            for name in subjects:
                found[row.day, row.visitor_id, getattr(row, name)].add(_quarter(row))
    return found


def _visitor_days(rows: Iterable[Row[Any]]) -> VisitTotals:
    """Of each link; of an account only for visitors of more than eight links."""
    seen = _quarters(rows, "link_id")
    links = Counter((day, visitor) for day, visitor, _ in seen)
    of_accounts = _quarters((row for row in rows if links[row.day, row.visitor_id] > MAX_LINK_ROWS), "account_id")
    bits = {key: sum(1 << quarter for quarter in quarters) for key, quarters in (seen | of_accounts).items()}
    return {key: (each & (1 << 48) - 1, each >> 48) for key, each in bits.items()}


def _dimensions(rows: Iterable[Row[Any]]) -> VisitTotals:
    found: Counter[tuple[Any, ...]] = Counter()
    for row in rows:
        if row.kind == "human":
            for subject in (row.link_id, row.account_id):
                found[row.day, subject, DIMENSIONS["country"], row.country] += 1
                found[row.day, subject, DIMENSIONS["referrer"], row.referrer] += 1
                found[row.day, subject, DIMENSIONS["agent"], f"{row.device}\t{row.browser}\t{row.platform}"] += 1
            found[row.day, row.account_id, DIMENSIONS["link"], row.link_id.hex] += 1
    return {key: (count,) for key, count in found.items()}


def _quarter(row: Row[Any]) -> int:
    return row.created_at.hour * 4 + row.created_at.minute // 15
