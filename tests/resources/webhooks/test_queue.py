"""R8, R9, R11: claims, leases and settlement in SQL."""

import asyncio
import re
from datetime import datetime, timedelta
from typing import Any

import pytest
from people import START, FakeClock
from resources.webhooks.scripted import Subscription, deliveries, delivery, queue_up, subscribe, unsubscribe
from sqlalchemy import delete, text
from statements import noted

from waypost.database import Database
from waypost.resources.webhooks import delivery_limiter, queue
from waypost.resources.webhooks.delivery_limiter import INITIAL_LIMIT, MAX_IN_FLIGHT, DeliveryLimiter
from waypost.resources.webhooks.model import MAX_ATTEMPTS, webhooks
from waypost.resources.webhooks.queue import ClaimedDelivery, DeliveryOutcome

LEASE = timedelta(seconds=30)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
async def alice(db: Database) -> Subscription:
    return await subscribe(db, "alice.example")


async def claim(
    db: Database, clock: FakeClock, *, limit: int = 256, limiter: DeliveryLimiter | None = None
) -> list[ClaimedDelivery]:
    async with db.write() as tx:
        await queue.lock_deliveries(tx)
        return await queue.claim(tx, clock=clock, lease=LEASE, limit=limit, limiter=limiter or DeliveryLimiter())


async def settle(db: Database, *outcomes: DeliveryOutcome) -> None:
    if not outcomes:
        return
    async with db.write() as tx:
        await queue.lock_deliveries(tx)
        await queue.settle(tx, outcomes)


async def is_due(db: Database, clock: FakeClock, limiter: DeliveryLimiter | None = None) -> bool | None:
    async with db.read() as tx:
        return await queue.is_due(tx, clock(), limiter or DeliveryLimiter())


def again(claimed: ClaimedDelivery, at: datetime) -> DeliveryOutcome:
    return DeliveryOutcome(claimed, "pending", at, 500, "answered 500")


async def test_claims_and_settles_a_delivery(db: Database, clock: FakeClock, alice: Subscription) -> None:
    (id_,) = await queue_up(db, alice)
    assert await is_due(db, clock)
    (claimed,) = await claim(db, clock)
    row = await delivery(db)
    assert (claimed.id, claimed.receiver.webhook_id, claimed.attempt, claimed.created_at) == (id_, alice.id, 1, START)
    assert (claimed.url, claimed.event, claimed.body) == ("https://alice.example/hook", "link.clicked", row.body)
    assert (row.status, row.attempts, row.leased_until) == ("pending", 1, START + LEASE)  # counted before it is sent
    assert not await is_due(db, clock)
    assert await claim(db, clock) == []
    await settle(db, DeliveryOutcome(claimed, "delivered", response_status=204))
    row = await delivery(db)
    assert (row.status, row.attempts, row.response_status, row.error) == ("delivered", 1, 204, None)
    assert row.next_attempt_at is row.leased_until is None


async def test_nothing_is_claimed_before_it_is_due(db: Database, clock: FakeClock, alice: Subscription) -> None:
    await queue_up(db, alice, at=START + timedelta(microseconds=1))
    assert (await is_due(db, clock), await claim(db, clock)) == (False, [])
    clock.move(timedelta(microseconds=1))
    assert await is_due(db, clock)
    assert len(await claim(db, clock)) == 1


async def test_a_lease_that_runs_out_is_claimed_again(db: Database, clock: FakeClock, alice: Subscription) -> None:
    await queue_up(db, alice)
    (first,) = await claim(db, clock)
    clock.move(LEASE - timedelta(microseconds=1))
    assert await claim(db, clock) == []
    clock.move(timedelta(microseconds=1))
    (second,) = await claim(db, clock)
    assert (second.id, second.attempt, second.body) == (first.id, 2, first.body)


async def test_who_lost_the_lease_changes_nothing(db: Database, clock: FakeClock, alice: Subscription) -> None:
    await queue_up(db, alice)
    (late,) = await claim(db, clock)
    clock.move(LEASE)
    (current,) = await claim(db, clock)
    before = await delivery(db)
    await settle(db, DeliveryOutcome(late, "delivered", response_status=200))
    assert await delivery(db) == before
    await settle(db, DeliveryOutcome(current, "failed", error="refused", counts_as_attempt=False))
    after = await delivery(db)
    await settle(db, DeliveryOutcome(current, "delivered"), again(late, START))
    assert await delivery(db) == after
    assert (after.status, after.attempts) == ("failed", 1)


async def test_who_is_late_but_was_not_replaced_still_counts(
    db: Database, clock: FakeClock, alice: Subscription
) -> None:
    await queue_up(db, alice)
    (late,) = await claim(db, clock)
    clock.move(LEASE * 2)
    await settle(db, DeliveryOutcome(late, "delivered", response_status=200))
    assert await claim(db, clock) == []
    assert (await delivery(db)).status == "delivered"


async def test_five_attempts_and_no_more(db: Database, clock: FakeClock, alice: Subscription) -> None:
    await queue_up(db, alice)
    for attempt in range(1, MAX_ATTEMPTS + 1):
        (claimed,) = await claim(db, clock)
        assert claimed.attempt == attempt
        clock.move(LEASE)
    assert await is_due(db, clock)
    assert await claim(db, clock) == []
    row = await delivery(db)
    assert (row.status, row.attempts, row.next_attempt_at, row.leased_until) == ("failed", MAX_ATTEMPTS, None, None)
    assert row.error == "the process ended during the last attempt"
    assert not await is_due(db, clock)


async def test_a_fifth_attempt_under_way_is_left_to_end(db: Database, clock: FakeClock, alice: Subscription) -> None:
    await queue_up(db, alice)
    for _ in range(MAX_ATTEMPTS - 1):
        await claim(db, clock)
        clock.move(LEASE)
    (fifth,) = await claim(db, clock)
    assert await claim(db, clock) == []
    await settle(db, DeliveryOutcome(fifth, "delivered", response_status=200))
    assert (await delivery(db)).status == "delivered"


async def test_what_was_not_sent_was_no_attempt(db: Database, clock: FakeClock, alice: Subscription) -> None:
    await queue_up(db, alice)
    (claimed,) = await claim(db, clock)
    await settle(
        db,
        DeliveryOutcome(claimed, "failed", error="the host has an address that is not public", counts_as_attempt=False),
    )
    row = await delivery(db)
    assert (row.status, row.attempts, row.error) == ("failed", 0, "the host has an address that is not public")


async def test_a_deleted_subscription(db: Database, clock: FakeClock, alice: Subscription) -> None:
    """R11: nothing of it begins any more, and what was under way does not come back."""
    await queue_up(db, alice, 3)
    (under_way,) = await claim(db, clock, limit=1)
    await unsubscribe(db, alice)
    assert not await is_due(db, clock)
    assert await claim(db, clock) == []
    await settle(db, again(under_way, START))
    clock.move(LEASE * 100)
    assert await claim(db, clock) == []
    rows = await deliveries(db)
    assert [row.status for row in rows] == ["cancelled"] * 3
    assert sum(row.attempts for row in rows) == 1


async def test_what_belongs_to_no_subscription_is_not_looked_for_forever(
    db: Database, clock: FakeClock, alice: Subscription
) -> None:
    bob = await subscribe(db)
    await queue_up(db, alice, 3)
    await queue_up(db, bob)
    async with db.write() as tx:
        await tx.execute(delete(webhooks).where(webhooks.c.id == alice.id))
    assert [each.receiver.webhook_id for each in await claim(db, clock, limit=2)] == [bob.id]
    assert not await is_due(db, clock)


async def test_a_deletion_during_a_claim(db: Database, clock: FakeClock, alice: Subscription) -> None:
    await queue_up(db, alice, 3)
    async with db.write() as tx:
        await queue.lock_deliveries(tx)
        deleting = asyncio.create_task(unsubscribe(db, alice))
        await asyncio.wait([deleting], timeout=0.1)  # time enough to overtake, if it could
        claimed = await queue.claim(tx, clock=clock, lease=LEASE, limit=2, limiter=DeliveryLimiter())
    await deleting
    assert len(claimed) <= 2
    await settle(db, *(again(each, START) for each in claimed))
    assert {row.status for row in await deliveries(db)} == {"cancelled"}


async def test_no_more_of_a_subscription_than_its_pace_allows(db: Database, clock: FakeClock) -> None:
    limiter = DeliveryLimiter()
    alice = await subscribe(db)
    await queue_up(db, alice, MAX_IN_FLIGHT * 2)
    first = await claim(db, clock, limiter=limiter)
    assert len(first) == INITIAL_LIMIT
    assert await is_due(db, clock, limiter) is None
    for _ in range(3):
        limiter.record_result(alice.receiver, succeeded=True)
    assert len(await claim(db, clock, limiter=limiter)) == 3
    for _ in range(3):
        limiter.record_result(alice.receiver, succeeded=False)
    await settle(db, *(DeliveryOutcome(each, "delivered") for each in first))
    assert await claim(db, clock, limiter=limiter) == []  # three are under way, and one would be allowed
    clock.move(LEASE)
    assert len(await claim(db, clock, limiter=limiter)) == 1  # nobody is behind the three any more
    for _ in range(MAX_IN_FLIGHT * 2):
        limiter.record_result(alice.receiver, succeeded=True)
    assert len(await claim(db, clock, limiter=limiter)) == MAX_IN_FLIGHT - 1


async def test_those_that_do_not_succeed_share_half_of_the_places(
    db: Database, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delivery_limiter, "MAX_FAILING", 3)
    limiter, several = DeliveryLimiter(), [await subscribe(db, f"{number}.example") for number in range(5)]
    for each in several:
        await queue_up(db, each, 2)
    assert len(await claim(db, clock, limiter=limiter)) == 3
    assert await is_due(db, clock, limiter) is None
    limiter.record_result(several[4].receiver, succeeded=True)
    assert {each.receiver.webhook_id for each in await claim(db, clock, limiter=limiter)} <= {several[4].id}
    clock.move(LEASE)
    again = await claim(db, clock, limiter=limiter)
    assert sum(each.receiver.webhook_id != several[4].id for each in again) == 3
    assert sum(each.receiver.webhook_id == several[4].id for each in again) == 2


async def test_chooses_at_most_the_limit_and_one_of_each_first(db: Database, clock: FakeClock) -> None:
    several = [await subscribe(db, f"{number}.example") for number in range(5)]
    for each in several:
        await queue_up(db, each, 4)
    first = await claim(db, clock, limit=6)
    counts = [sum(each.receiver.webhook_id == of.id for each in first) for of in several]
    assert sorted(counts) == [1, 1, 1, 1, 2]
    second = await claim(db, clock, limit=4)  # those with the fewest under way
    assert several[counts.index(2)].id not in {each.receiver.webhook_id for each in second}


async def test_the_oldest_of_a_subscription_first(db: Database, clock: FakeClock, alice: Subscription) -> None:
    clock.move(timedelta(seconds=3))
    (late,) = await queue_up(db, alice, at=START + timedelta(seconds=2))
    (early,) = await queue_up(db, alice, at=START + timedelta(seconds=1))
    assert [(await claim(db, clock, limit=1))[0].id for _ in range(2)] == [early, late]


async def test_who_was_longest_without_a_turn_comes_first(db: Database, clock: FakeClock) -> None:
    """More subscriptions than places, and each has more to send: none is passed over again and again."""
    limiter, served = DeliveryLimiter(), []
    several = [await subscribe(db, f"{number}.example") for number in range(6)]
    for each in several:
        await queue_up(db, each, 6)
    for _ in range(6):
        claimed = await claim(db, clock, limit=2, limiter=limiter)
        for each in claimed:
            limiter.record_start(each.receiver)
            served.append(each.receiver.webhook_id)
        await settle(db, *(again(each, START + timedelta(days=1)) for each in claimed))
    assert sorted(served[:6]) == sorted(served[6:]) == sorted(each.id for each in several)


async def test_two_claims_at_once_take_different_ones(db: Database, clock: FakeClock) -> None:
    for number in range(20):
        await queue_up(db, await subscribe(db, f"{number}.example"), 8)
    claims = await asyncio.gather(*(claim(db, clock, limit=5 * INITIAL_LIMIT) for _ in range(4)))
    ids = [each.id for some in claims for each in some]
    assert len(ids) == len(set(ids)) == 20 * INITIAL_LIMIT  # and of no subscription more than its limit allows, in all
    assert all(each.attempt == 1 for some in claims for each in some)


async def test_claims_settlements_and_deletions_do_not_wait_for_each_other_in_a_circle(
    db: Database, clock: FakeClock
) -> None:
    several = [await subscribe(db, f"{number}.example") for number in range(8)]
    for each in several:
        await queue_up(db, each, 30)

    async def work() -> None:
        for _ in range(10):
            claimed = await claim(db, clock, limit=30)
            await settle(db, *(again(each, START) for each in reversed(claimed)))
            clock.move(timedelta(seconds=1))

    await asyncio.gather(work(), work(), work(), *(unsubscribe(db, each) for each in several[:4]))
    gone = {each.id for each in several[:4]}
    assert {row.status for row in await deliveries(db) if row.webhook_id in gone} == {"cancelled"}


_WALKS = re.compile(r"SCAN (d|webhook_deliveries|webhooks)\b(?! USING (COVERING )?INDEX ix_webhook_deliveries_[pl]e)")


async def test_a_claim_seeks(db: Database, clock: FakeClock) -> None:
    """Each step is one look into an index. Told on SQLite, whose plans are plain words."""
    if db.dialect == "postgresql":
        return
    await queue_up(db, await subscribe(db), 2)
    plans = [await plan(db, *each) for each in await asked(db, lambda: claim(db, clock))]
    (of_queues,) = [each for each in plans if "queue" in each]
    assert of_queues.count("ix_webhook_deliveries_pending") == 4
    (in_flight,) = [each for each in plans if "leased" in each]
    assert in_flight.count("ix_webhook_deliveries_leased") == 3
    assert [each for each in plans if _WALKS.search(each)] == []


@pytest.mark.parametrize("statistics", ["none", "old", "new"])
async def test_what_is_pending_costs_a_claim_nothing(
    db: Database, clock: FakeClock, alice: Subscription, statistics: str
) -> None:
    """Told on PostgreSQL, which counts the rows that each step of a plan touches."""
    if db.dialect == "sqlite":
        return
    # an earlier test may have left statistics in this database
    await run(db, "TRUNCATE webhook_deliveries CASCADE")
    await run(db, "DELETE FROM pg_statistic WHERE starelid = 'webhook_deliveries'::regclass")
    bob = await subscribe(db)
    if statistics == "old":
        await queue_up(db, bob, 3_000)
        await run(db, "UPDATE webhook_deliveries SET status = 'delivered'")
        await run(db, "ANALYZE webhook_deliveries")
    await queue_up(db, alice, 3_000)
    await queue_up(db, bob, 3_000, at=START + timedelta(days=1))
    await claim(db, clock)
    if statistics == "new":
        await run(db, "ANALYZE webhook_deliveries")
    statements = await asked(db, lambda: claim(db, clock, limiter=DeliveryLimiter()))
    limiter = DeliveryLimiter()
    for _ in range(MAX_IN_FLIGHT):
        limiter.record_result(alice.receiver, succeeded=True)
    statements += await asked(db, lambda: claim(db, clock, limiter=limiter))
    assert len(statements) == 7
    for statement, parameters in statements:
        assert max(await touched(db, statement, parameters)) < 4 * MAX_IN_FLIGHT, (
            statement
        )  # old versions of rows included


async def run(db: Database, statement: str) -> None:
    async with db.write() as tx:
        await tx.execute(text(statement))


async def touched(db: Database, statement: str, parameters: Any) -> list[int]:
    async with db.write() as tx:
        (reported,) = (await tx.exec_driver_sql(f"EXPLAIN (ANALYZE, FORMAT JSON) {statement}", parameters)).scalars()
        await tx.exec_driver_sql("ROLLBACK")
    return _rows(reported[0]["Plan"])


def _rows(node: dict[str, Any]) -> list[int]:
    own = (node["Actual Rows"] + node.get("Rows Removed by Filter", 0)) * node["Actual Loops"]
    return [own, *(count for each in node.get("Plans", ()) for count in _rows(each))]


async def asked(db: Database, ask: Any) -> list[tuple[str, Any]]:
    with noted() as statements:
        await ask()
    return [
        (sql, parameters)
        for sql, parameters in statements
        if "webhook" in sql and "EXPLAIN" not in sql and "advisory" not in sql
    ]


async def plan(db: Database, statement: str, parameters: Any) -> str:
    async with db.write() as tx:
        found = await tx.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters)
        return "\n".join(row.detail for row in found)
