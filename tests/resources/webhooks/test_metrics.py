"""Metrics of deliveries: attempts and results as they happen, and gauges of what is pending."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import structlog
from measured import increases
from people import FakeClock
from resources.webhooks.scripted import Receivers, deliver, new_loop, queue_up, subscribe
from sqlalchemy import text

from waypost.database import Database, Tx
from waypost.kit.ids import new_id
from waypost.outbound import NotPublic
from waypost.resources.webhooks.metrics import CACHE_SECONDS, PendingGauges, pending_query
from waypost.resources.webhooks.outbox import WebhookEvent, record_for

DELAY = "waypost_webhook_first_attempt_delay_seconds"
RESULTS = "waypost_webhook_results_total"


async def test_counts_attempts_results_and_delay(db: Database) -> None:
    clock, receivers = FakeClock(), Receivers()
    alice = await subscribe(db)
    await queue_up(db, alice, 3)
    clock.move(timedelta(seconds=2))
    with increases() as risen:
        await deliver(new_loop(db, receivers, clock))
    assert risen["waypost_webhook_attempts_total"] == risen[f"{RESULTS} delivered"] == 3
    assert (risen[f"{DELAY}_count"], risen[f"{DELAY}_sum"]) == (3, 6)
    assert {f"{DELAY}_bucket 1.0", f"{DELAY}_bucket 2.5"} & set(risen) == {f"{DELAY}_bucket 2.5"}


async def test_results_by_what_came_of_the_attempt(db: Database) -> None:
    clock, receivers = FakeClock(), Receivers()
    await queue_up(db, await subscribe(db, "broken.example"))
    await queue_up(db, await subscribe(db, "private.example"))
    receivers.will("broken.example", 500)
    receivers.will("private.example", NotPublic("10.0.0.1"))
    with increases() as risen:
        for _ in range(5):
            await deliver(new_loop(db, receivers, clock))
            clock.move(timedelta(minutes=5))
    assert {name: count for name, count in risen.items() if RESULTS in name} == {
        f"{RESULTS} retried": 4,
        f"{RESULTS} failed": 1,
        f"{RESULTS} refused": 1,
    }
    assert risen[f"{DELAY}_count"] == 2


async def gauges(asked: PendingGauges) -> dict[str, float]:
    return {gauge.name.removeprefix("waypost_webhook_"): gauge.value for gauge in await asked.gauges()}


async def test_nothing_waits(db: Database) -> None:
    alice = await subscribe(db)
    await queue_up(db, alice)
    await deliver(new_loop(db, Receivers(), FakeClock()))
    assert await gauges(PendingGauges(db, clock=FakeClock())) == {"pending": 0, "oldest_pending_seconds": 0}


async def test_what_waits(db: Database) -> None:
    """The oldest by its event, whichever subscription's turn and whenever its next attempt."""
    at = datetime.now(UTC)
    bob, alice = await subscribe(db, "bob.example"), await subscribe(db, "alice.example")
    for number, to in enumerate((alice, bob, alice)):
        async with db.write() as tx:
            due = at - timedelta(hours=number)
            await record_for(tx, WebhookEvent("link.clicked", to.account_id, new_id(), due, {}), to.id)
    found = await gauges(PendingGauges(db, clock=FakeClock(at + timedelta(seconds=90))))
    assert found == {"pending": 3, "oldest_pending_seconds": pytest.approx(90, abs=5)}


async def test_a_count_is_told_again_for_a_while(db: Database) -> None:
    moments, clock = FakeClock(), FakeClock(datetime.now(UTC))
    asked = PendingGauges(db, clock=clock, monotonic=lambda: moments().timestamp())
    alice = await subscribe(db)
    await queue_up(db, alice)
    first = await gauges(asked)
    await queue_up(db, alice)
    moments.move(timedelta(seconds=CACHE_SECONDS - 1))
    clock.move(timedelta(seconds=60))
    later = await gauges(asked)
    assert (first["pending"], later["pending"]) == (1, 1)
    assert later["oldest_pending_seconds"] >= 55  # goes on, count or no count
    moments.move(timedelta(seconds=1))
    assert (await gauges(asked))["pending"] == 2


async def test_without_the_database_there_are_none(tmp_path: Path) -> None:
    gone = Database(f"postgresql://postgres@/none?host={tmp_path}")
    moments = FakeClock()
    asked = PendingGauges(gone, clock=moments, monotonic=lambda: moments().timestamp())
    with structlog.testing.capture_logs() as logs:
        for _ in range(3):
            assert await gauges(asked) == {}
            moments.move(timedelta(seconds=CACHE_SECONDS))
    await gone.close()
    assert [each["event"] for each in logs] == ["pending deliveries cannot be counted"]


async def test_only_the_index_of_those_pending_is_read(db: Database) -> None:
    async with db.write() as tx:
        statement = str(pending_query(db.dialect).compile(dialect=tx.dialect, compile_kwargs={"literal_binds": True}))
        if db.dialect == "sqlite":
            opened = {row.p2: row.p1 for row in await steps(tx, "OpenRead", statement)}
            (table,) = await tx.execute(text("SELECT rootpage FROM sqlite_schema WHERE name = 'webhook_deliveries'"))
            read = {row.p1 for row in await steps(tx, "Column", statement)}
            assert opened
            assert opened.get(table.rootpage) not in read
        else:
            for way in ("seqscan", "bitmapscan"):
                await tx.execute(text(f"SET LOCAL enable_{way} = off"))  # a small table is faster read as a whole
            plan = "".join(row[0] for row in await tx.exec_driver_sql(f"EXPLAIN {statement}"))
            assert "Index Only Scan using ix_webhook_deliveries_pending" in plan


async def steps(tx: Tx, opcode: str, statement: str) -> list[Any]:
    return [row for row in await tx.exec_driver_sql(f"EXPLAIN {statement}") if row.opcode == opcode]
