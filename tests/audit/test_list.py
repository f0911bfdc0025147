"""Lists of the audit log: filters, pages, and how many entries are read for one."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from people import START
from sqlalchemy import text
from statements import noted

from waypost import audit
from waypost.audit import Actor, AuditAction, Item, store
from waypost.audit.model import AuditEntry
from waypost.audit.store import AuditFilter, list_before
from waypost.database import Database
from waypost.kit.ids import new_id

ACCOUNT, OTHER = new_id(), new_id()
ANNA = Actor(ACCOUNT, "person", new_id(), "anna@example.com", "192.0.2.1")
KEY = Actor(ACCOUNT, "key", new_id(), "CI")
COMMAND = Actor.command(ACCOUNT, "waypost import")


async def record(
    db: Database, number: int, actor: Actor = ANNA, action: AuditAction = "link.created", item: Item | None = None
) -> None:
    async with db.write() as tx:
        at = START + timedelta(minutes=number)
        await audit.record(tx, actor, action, at, item or Item(new_id(), f"go.test/{number}"))


async def find(db: Database, before: UUID | None = None, *, limit: int = 10, **filters: Any) -> Sequence[AuditEntry]:
    async with db.read() as tx:
        entries, _ = await list_before(tx, ACCOUNT, AuditFilter(**filters), before, limit=limit)
    return entries


def numbers(entries: Sequence[AuditEntry]) -> list[int]:
    return [(entry.at - START) // timedelta(minutes=1) for entry in entries]


async def test_an_entry_is_read_as_it_was_written(db: Database) -> None:
    item, changes = Item(new_id(), "go.test/a"), {"title": ["Old", "New"], "password": None}
    async with db.write() as tx:
        await audit.record(tx, ANNA, "link.updated", START, item, changes=changes, details={"count": 2})
    [entry] = await find(db)
    assert (entry.at, entry.actor, entry.action, entry.item) == (START, ANNA, "link.updated", item)
    assert (entry.changes, entry.details) == (changes, {"count": 2})


async def test_filters_combine(db: Database) -> None:
    link = Item(new_id(), "go.test/Sale")
    await record(db, 1, KEY)
    await record(db, 2, item=link)
    await record(db, 3, KEY, "link.updated", link)
    await record(db, 4, COMMAND, "import.started")
    await record(db, 5, action="link.updated", item=link)
    await record(db, 6, Actor(OTHER, "person", ANNA.id, "anna@example.com"), item=link)
    assert numbers(await find(db)) == [5, 4, 3, 2, 1]
    assert numbers(await find(db, actor_id=KEY.id)) == [3, 1]
    assert numbers(await find(db, actor_type="command")) == [4]
    assert numbers(await find(db, action="link.updated")) == [5, 3]
    assert numbers(await find(db, item_id=link.id)) == [5, 3, 2]
    assert numbers(await find(db, text="sale")) == [5, 3, 2]
    assert numbers(await find(db, text="sale%")) == []
    assert numbers(await find(db, item_id=link.id, actor_id=ANNA.id, action="link.updated", text="SALE")) == [5]
    minute = timedelta(minutes=1)
    assert numbers(await find(db, since=START + 2 * minute, until=START + 4 * minute)) == [3, 2]
    assert numbers(await find(db, since=START + 2 * minute, until=START + 5 * minute, actor_id=ANNA.id)) == [2]


@pytest.mark.parametrize("filters", [{}, {"actor_id": ANNA.id}, {"text": "go.test"}])
async def test_pages_follow_each_other(db: Database, filters: dict[str, Any]) -> None:
    for number in range(5):
        await record(db, number)
    pages, before = [], None
    for _ in range(3):
        async with db.read() as tx:
            entries, before = await list_before(tx, ACCOUNT, AuditFilter(**filters), before, limit=2)
        pages.append(numbers(entries))
    assert pages == [[4, 3], [2, 1], [0]]
    assert before is None


async def test_a_filter_without_an_index_reads_a_part_of_the_log(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "MAX_SCANNED", 3)
    for number in range(7):
        await record(db, number, item=Item(None, "rare" if number == 2 else "frequent"))
    async with db.read() as tx:
        found, before = await list_before(tx, ACCOUNT, AuditFilter(text="rare"), None, limit=10)
        assert (found, before is None) == ([], False)
        found, before = await list_before(tx, ACCOUNT, AuditFilter(text="rare"), before, limit=10)
        assert (numbers(found), before is None) == ([2], False)
        found, before = await list_before(tx, ACCOUNT, AuditFilter(text="rare"), before, limit=10)
        assert (found, before) == ([], None)


@pytest.mark.parametrize("name", ["actor_id", "action", "item_id", None])
async def test_each_filter_has_an_index(db: Database, name: str | None) -> None:
    """Also while the databases believe that nearly every entry matches, and would rather read all in their order."""
    rows = [
        {"account_id": ACCOUNT, "id": store.new_entry_id(START), "at": START, "actor_type": "person"}
        | {"actor_id": ANNA.id, "actor_name": "a", "action": "link.created", "item_id": ANNA.id, "item": ""}
        for _ in range(3_000)
    ]
    async with db.write() as tx:
        await tx.execute(store.audit_entries.insert(), rows)
        await tx.execute(text("ANALYZE audit_entries"))
    value = "link.created" if name == "action" else ANNA.id
    async with db.read() as tx:
        with noted() as statements:
            await list_before(tx, ACCOUNT, AuditFilter(**({name: value} if name else {})), None, limit=10)
        statement, parameters = next(each for each in statements if "audit_entries" in each[0])
        prefix = "EXPLAIN QUERY PLAN " if db.dialect == "sqlite" else "EXPLAIN "
        plan = str((await tx.exec_driver_sql(prefix + statement, parameters)).all())
    index = f"ix_audit_entries_{name}" if name else "PRIMARY KEY" if db.dialect == "sqlite" else "pk_audit_entries"
    assert index in plan, plan


async def test_values_are_short(db: Database) -> None:
    long = {f"field {number}": [None, "x" * 10_000] for number in range(100)}
    changes = audit.compare(None, {name: after for name, (_, after) in long.items()})
    async with db.write() as tx:
        await audit.record(tx, ANNA, "link.updated", START, Item(None, "n" * 10_000), changes=changes)
    [entry] = await find(db)
    assert len(entry.changes) == 30
    assert len(entry.changes["field 0"][1]) == 200
    assert len(entry.item.name) == 200
