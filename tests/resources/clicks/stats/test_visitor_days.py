"""Rows of visitors: one for each link, and one of the account for visitors of many links."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from people import START
from resources.clicks.visited import new_click, new_link
from sqlalchemy import delete, select

from waypost.database import Database, bulk
from waypost.kit.clock import QUARTER
from waypost.resources.clicks.backends.sql import write
from waypost.resources.clicks.backends.sql.rebuild import check, rebuild
from waypost.resources.clicks.model import WHOLE_DAY, Click, click_dimensions, click_totals, clicks, visitor_days
from waypost.resources.clicks.stats.aggregate import Aggregate
from waypost.resources.imports.archive.rows import ClickRow

ACCOUNTS = [UUID(int=n) for n in (1, 2)]
LINKS = [new_link(ACCOUNTS[n % 2], id=UUID(int=10 + n)) for n in range(24)]
OF_FIRST = LINKS[::2]


def click(link: int, quarter: int = 0, visitor: int = 0, links: Sequence[Any] = OF_FIRST) -> Click:
    made = new_click(links[link], START, visitor_id=visitor ^ links[link].account_id.int)
    return made._replace(at=made.day * 96 * QUARTER + quarter * QUARTER, quarter=quarter)


async def add(db: Database, *batches: Sequence[Click]) -> None:
    for new in batches:
        async with db.write() as tx:
            await write.lock(tx)
            await write.add(tx, new)
            await write.save(tx, Aggregate.of(new))


async def rows(db: Database) -> dict[tuple[UUID, int], tuple[int, int]]:
    """(morning, afternoon) by subject and visitor."""
    async with db.read() as tx:
        found = (await tx.execute(select(visitor_days))).all()
    return {(row.subject_id, row.visitor_id ^ ACCOUNTS[0].int): (row.morning, row.afternoon) for row in found}


async def visitors(db: Database, account: UUID = ACCOUNTS[0]) -> int:
    query = select(click_totals.c.visitors).where(click_totals.c.quarter == WHOLE_DAY)
    async with db.read() as tx:
        return await tx.scalar(query.where(click_totals.c.subject_id == account)) or 0


async def differences(db: Database) -> list[str]:
    return [each.text async for each in check(db) if "counters" not in each.text]


async def test_one_of_the_account_is_added_for_the_ninth_link(db: Database) -> None:
    await add(db, [click(0), click(1, 3)], [click(n, 4) for n in range(2, 8)])
    assert {subject for subject, _ in await rows(db)} == {link.id for link in OF_FIRST[:8]}
    await add(db, [click(0, 50)], [click(8, 95)], [click(9, 7)])
    stored = await rows(db)
    assert len(stored) == 11
    assert stored[OF_FIRST[0].id, 0] == (1, 1 << 2)
    assert stored[ACCOUNTS[0], 0] == (0b10011001, 1 << 2 | 1 << 47)
    assert (await visitors(db), await differences(db)) == (1, [])


async def test_a_batch_with_all_links_counts_the_visitor_once(db: Database) -> None:
    await add(db, [click(n, n) for n in range(12)], [click(n, n) for n in range(12)], [click(3, 40)])
    assert len(await rows(db)) == 13
    assert (await visitors(db), await differences(db)) == (1, [])


async def test_reads_few_rows_of_a_visitor_of_many_links(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    links = [new_link(ACCOUNTS[0]) for _ in range(300)]
    await add(db, [click(n, n % 96, links=links) for n in range(300)])
    counts, find, find_first = [], bulk.find, bulk.find_first

    async def counted(*arguments: Any) -> list[bulk.BulkRow]:
        found = await find(*arguments)
        counts.append(len(found))
        return found

    async def counted_first(*arguments: Any, limit: int) -> list[bulk.BulkRow]:
        found = await find_first(*arguments, limit=limit)
        counts.append(len(found))
        return found

    monkeypatch.setattr(bulk, "find", counted)
    monkeypatch.setattr(bulk, "find_first", counted_first)
    await add(db, [click(7, 90, links=links), click(8, 91, links=links)])
    assert counts == [9, 3]  # the first ones, then those of both links and of the account
    assert (await visitors(db), await differences(db)) == (1, [])


visits = st.builds(
    click,
    link=st.integers(0, len(LINKS) - 1),
    quarter=st.sampled_from([0, 1, 2, 47, 48, 95]),
    visitor=st.sampled_from([0, 0, 0, 1, -(2**63)]),
    links=st.just(LINKS),
)


@given(batches=st.lists(st.lists(visits, min_size=1, max_size=20), max_size=6))
@settings(
    max_examples=settings().max_examples // 3,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
async def test_rebuilds_what_was_added_in_batches(db: Database, batches: list[list[Click]]) -> None:
    tables = (click_totals, click_dimensions, visitor_days)
    async with db.write() as tx:
        for table in (clicks, *tables):
            await tx.execute(delete(table))
    await add(db, *batches)
    assert await differences(db) == []
    added = await rows(db)
    async with db.write() as tx:
        for table in tables:
            await tx.execute(delete(table))
    await rebuild(db)
    assert await rows(db) == added


async def test_clicks_come_between_the_batches_of_a_rebuild(db: Database) -> None:
    """Rows that are missing count the visitor again, until the rebuild has recounted the day."""
    await add(db, [click(n, n) for n in range(12)])
    async with db.write() as tx:
        await tx.execute(delete(visitor_days).where(visitor_days.c.subject_id != ACCOUNTS[0]))
    await add(db, [click(0, 3)])
    await rebuild(db)
    assert (await visitors(db), await differences(db)) == (1, [])


def test_an_imported_archive_has_visitors_of_its_account() -> None:
    """Two accounts may import the same archive: a visitor must not be known to the second one."""
    link, texts = UUID(int=9), dict.fromkeys(("ip", "country", "referrer", "browser", "platform"), "")
    row = {"id": str(link), "link_id": str(link), "created_at": "2026-01-02T03:04:05+00:00", "kind": "human"}
    row |= {"is_scan": False, "bot": None, "visitor_id": "ff" * 8, "device": "mobile"} | texts
    archived = ClickRow.of(row)
    assert archived
    ids = [archived.to_click(link, link, account).visitor_id for account in (*ACCOUNTS, ACCOUNTS[0])]
    assert ids[0] == ids[2] != ids[1]
    assert all(-(2**63) <= each < 2**63 for each in ids)
