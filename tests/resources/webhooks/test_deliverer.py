"""R8, R9, R11: queue, limiter and attempts together, with scripted receivers."""

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest
from people import START, FakeClock
from resources.webhooks.scripted import (
    BACKOFF,
    HANGS,
    Receivers,
    deliver,
    deliveries,
    delivery,
    new_loop,
    queue_up,
    subscribe,
    unsubscribe,
)

from waypost.database import Database
from waypost.kit.errors import Unavailable
from waypost.kit.ids import new_id
from waypost.kit.signing import find_problem
from waypost.outbound import NotPublic, Unreachable
from waypost.resources.webhooks.deliverer import Deliverer
from waypost.resources.webhooks.delivery_limiter import INITIAL_HOST_LIMIT, INITIAL_LIMIT
from waypost.worker.loop import WorkerLoop

HOST = "receiver.example"
Loop = WorkerLoop[Any, Any]


@pytest.fixture
def receivers() -> Receivers:
    return Receivers()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def loop(db: Database, receivers: Receivers, clock: FakeClock) -> Loop:
    return new_loop(db, receivers, clock)


async def test_delivers_everything_that_is_due(db: Database, loop: Loop, receivers: Receivers) -> None:
    alice = await subscribe(db, HOST)
    ids = await queue_up(db, alice, 100)
    await deliver(loop)
    assert sorted(each.id for each in receivers.sent) == sorted(ids)
    assert all(
        find_problem(alice.secret, each.headers["X-Signature"], each.body, now=START.timestamp()) is None
        for each in receivers.sent
    )
    assert {(row.status, row.attempts, row.response_status) for row in await deliveries(db)} == {("delivered", 1, 200)}


async def test_the_latest_answer_is_kept(db: Database, loop: Loop, receivers: Receivers, clock: FakeClock) -> None:
    """Also of a delivery that was taken, and none of an attempt that got none."""
    await queue_up(db, await subscribe(db, HOST), 1)
    receivers.will(HOST, b"busy", Unreachable("timed out"), (302, b"over\x00\tthere"), (201, b'{"ok": true}'))
    reported = []
    for wait in (0, *BACKOFF[:3]):
        clock.move(timedelta(seconds=wait))
        await deliver(loop)
        (row,) = await deliveries(db)
        reported.append((row.status, row.error, row.response_body))
    assert reported == [
        ("pending", "answered 500: busy", "busy"),
        ("pending", "timed out", None),
        ("pending", "redirects are not followed (302): over there", "over there"),
        ("delivered", None, '{"ok": true}'),
    ]


async def test_nothing_to_do(loop: Loop) -> None:
    assert not await loop.step()


async def test_a_failing_receiver_is_tried_five_times_at_the_waits_told(
    db: Database, loop: Loop, receivers: Receivers, clock: FakeClock
) -> None:
    receivers.will(HOST, 500, Unreachable("timed out"), 302, b"busy", 503)
    alice = await subscribe(db, HOST)
    await queue_up(db, alice)
    for number, wait in enumerate(BACKOFF, start=1):
        await deliver(loop)
        row = await delivery(db)
        assert (row.status, row.attempts, len(receivers.sent)) == ("pending", number, number)
        assert row.next_attempt_at == clock() + timedelta(seconds=wait)
        clock.move(timedelta(seconds=wait, microseconds=-1))
        await deliver(loop)
        assert len(receivers.sent) == number
        clock.move(timedelta(microseconds=1))
    await deliver(loop)
    row = await delivery(db)
    assert (row.status, row.attempts, row.response_status, row.error) == ("failed", 5, 503, "answered 503")
    clock.move(timedelta(days=1))
    await deliver(loop)
    assert len({each.body for each in receivers.sent}) == 1
    assert len({each.headers["X-Delivery-Id"] for each in receivers.sent}) == 1
    assert len({each.headers["X-Webhook-Timestamp"] for each in receivers.sent}) == len(receivers.sent) == 5


async def test_a_later_attempt_that_succeeds_is_the_last(
    db: Database, loop: Loop, receivers: Receivers, clock: FakeClock
) -> None:
    receivers.will(HOST, b"no", 200)
    await queue_up(db, await subscribe(db, HOST))
    for _ in range(3):
        await deliver(loop)
        clock.move(timedelta(seconds=BACKOFF[-1]))
    row = await delivery(db)
    assert (row.status, row.attempts, row.response_status, row.error) == ("delivered", 2, 200, None)
    assert len(receivers.sent) == 2


async def test_a_private_address_is_final(db: Database, loop: Loop, receivers: Receivers, clock: FakeClock) -> None:
    receivers.will(HOST, NotPublic("10.0.0.1 may not be connected to"))
    await queue_up(db, await subscribe(db, HOST))
    for _ in range(3):
        await deliver(loop)
        clock.move(timedelta(days=1))
    row = await delivery(db)
    assert (row.status, row.attempts, len(receivers.sent)) == ("failed", 0, 1)


async def test_who_is_deleted_while_an_attempt_is_under_way(
    db: Database, loop: Loop, receivers: Receivers, clock: FakeClock
) -> None:
    receivers.will(HOST, HANGS)
    alice = await subscribe(db, HOST)
    await queue_up(db, alice, INITIAL_LIMIT + 2)
    await loop.step()
    await unsubscribe(db, alice)
    receivers.let_go()
    await deliver(loop)
    clock.move(timedelta(days=1))
    await deliver(loop)
    assert {row.status for row in await deliveries(db)} == {"cancelled"}
    assert len(receivers.sent) == INITIAL_LIMIT


async def test_one_that_hangs_delays_nobody(db: Database, receivers: Receivers, clock: FakeClock) -> None:
    """R9, by order rather than time: of fifty others each has its first attempt in the first round."""
    loop = new_loop(db, receivers, clock, max_concurrent=64)
    receivers.will("hangs.example", HANGS)
    hanging = await subscribe(db, "hangs.example")
    await queue_up(db, hanging, 1_000, at=START - timedelta(hours=1))
    healthy = [await subscribe(db, f"{number}.example") for number in range(50)]
    for each in healthy:
        await queue_up(db, each, 20)
    await loop.step()
    await asyncio.sleep(0)
    assert sorted(set(receivers.hosts())) == sorted(["hangs.example", *(f"{number}.example" for number in range(50))])
    while receivers.hosts().count("0.example") < 20 or len(receivers.sent) < 50 * 20 + INITIAL_LIMIT:
        assert await loop.step()
    assert receivers.hosts().count("hangs.example") == INITIAL_LIMIT
    receivers.let_go()
    await loop.close()


async def test_many_subscriptions_to_one_host_are_one_click_to_it_after_the_other(
    db: Database, receivers: Receivers, clock: FakeClock
) -> None:
    """Twenty subscriptions of an account to one URL, and two workers: a click does not become a burst."""
    account = new_id()
    many = [await subscribe(db, HOST, account_id=account) for _ in range(20)]
    receivers.will(HOST, HANGS)
    for each in many:
        await queue_up(db, each)
    both = [new_loop(db, receivers, clock) for _ in range(2)]
    await asyncio.gather(*(each.step() for each in both))
    assert len(receivers.hanging) == INITIAL_HOST_LIMIT // 2
    receivers.let_go()
    for each in both:
        await deliver(each)
    assert {row.status for row in await deliveries(db)} == {"delivered"}
    assert len(receivers.sent) == 20


async def test_who_works_has_a_turn_at_a_host_where_others_hang(
    db: Database, receivers: Receivers, clock: FakeClock
) -> None:
    """A shared host, such as a workflow service: twenty subscriptions of another account hang there."""
    loop, other = new_loop(db, receivers, clock), new_id()
    working = await subscribe(db, HOST)
    await queue_up(db, working)
    await deliver(loop)
    receivers.will(HOST, HANGS)
    for _ in range(20):
        await queue_up(db, await subscribe(db, HOST, account_id=other), 10, at=START - timedelta(hours=1))
    await loop.step()
    before = set(receivers.hanging)
    assert len(before) == INITIAL_HOST_LIMIT // 2
    (id_,) = await queue_up(db, working)
    await loop.step()
    assert receivers.hanging - before == {id_}
    receivers.let_go()
    await loop.close()


async def test_more_that_hang_than_there_are_places(db: Database, receivers: Receivers, clock: FakeClock) -> None:
    """All places are taken by who hangs and has more waiting: the others still have their turn as places come free."""
    loop = new_loop(db, receivers, clock, max_concurrent=4)
    for number in range(8):
        receivers.will(f"slow{number}.example", Unreachable("timed out"))
        await queue_up(db, await subscribe(db, f"slow{number}.example"), 20, at=START - timedelta(hours=1))
    await queue_up(db, await subscribe(db, HOST))
    await deliver(loop)
    assert receivers.hosts().index(HOST) < 12  # in the third round, when all others have had one turn


async def test_no_more_at_once_than_in_all(db: Database, receivers: Receivers, clock: FakeClock) -> None:
    loop = new_loop(db, receivers, clock, max_concurrent=5)
    for number in range(4):
        receivers.will(f"{number}.example", HANGS)
        await queue_up(db, await subscribe(db, f"{number}.example"), 4)
    for _ in range(3):
        await loop.step()
        assert len(receivers.hanging) == 5
    receivers.let_go()
    await deliver(loop)
    assert len(receivers.sent) == 16


async def test_one_that_hangs_soon_holds_one_place(db: Database, receivers: Receivers, clock: FakeClock) -> None:
    loop = new_loop(db, receivers, clock)
    receivers.will(HOST, *[Unreachable("timed out")] * INITIAL_LIMIT, HANGS)
    await queue_up(db, await subscribe(db, HOST), 100)
    for _ in range(4):
        await loop.step()
    assert (len(receivers.sent), len(receivers.hanging)) == (INITIAL_LIMIT + 1, 1)
    receivers.let_go()
    await loop.close()


async def test_two_deliverers_send_nothing_twice(db: Database, receivers: Receivers, clock: FakeClock) -> None:
    for number in range(10):
        await queue_up(db, await subscribe(db, f"{number}.example"), 30)
    await asyncio.gather(*(deliver(new_loop(db, receivers, clock, max_concurrent=40)) for _ in range(2)))
    ids = [each.id for each in receivers.sent]
    assert len(ids) == len(set(ids)) == 300
    assert {(row.status, row.attempts) for row in await deliveries(db)} == {("delivered", 1)}


async def test_two_deliverers_share_what_a_receiver_gets_at_once(
    db: Database, receivers: Receivers, clock: FakeClock
) -> None:
    receivers.will(HOST, HANGS)
    await queue_up(db, await subscribe(db, HOST), 50)
    both = [new_loop(db, receivers, clock) for _ in range(2)]
    await asyncio.gather(*(each.step() for each in both))
    assert len(receivers.hanging) == INITIAL_LIMIT
    receivers.let_go()
    for each in both:
        await each.close()


async def test_the_end_settles_what_is_under_way(
    db: Database, loop: Loop, receivers: Receivers, clock: FakeClock
) -> None:
    receivers.will(HOST, HANGS)
    await queue_up(db, await subscribe(db, HOST), INITIAL_LIMIT)
    await loop.step()
    closing = asyncio.create_task(loop.close())
    await asyncio.sleep(0)
    receivers.let_go()
    await closing
    assert {(row.status, row.attempts) for row in await deliveries(db)} == {("delivered", 1)}


async def test_what_ends_in_an_outage_is_settled_after_it(
    db: Database, loop: Loop, receivers: Receivers, monkeypatch
) -> None:
    receivers.will(HOST, HANGS)
    await queue_up(db, await subscribe(db, HOST), INITIAL_LIMIT)
    await loop.step()
    receivers.let_go()
    await loop._has_ended.wait()

    def gone() -> None:
        raise Unavailable("gone")

    with monkeypatch.context() as outage:
        outage.setattr(db, "write", gone)
        for _ in range(3):
            with pytest.raises(Unavailable):
                await loop.step()
    await deliver(loop)
    assert {(row.status, row.attempts) for row in await deliveries(db)} == {("delivered", 1)}
    assert len(receivers.sent) == INITIAL_LIMIT


async def test_what_cannot_be_counted_is_delivered(
    db: Database, receivers: Receivers, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_: Deliverer, __: object, claimed: Sequence[object]) -> None:
        if claimed:
            raise ZeroDivisionError

    monkeypatch.setattr(Deliverer, "on_commit", broken)
    loop = new_loop(db, receivers, clock)
    await queue_up(db, await subscribe(db, HOST))
    with pytest.raises(ZeroDivisionError):
        await loop.step()
    await loop.close()
    assert receivers.hosts() == [HOST]
    assert [row.status for row in await deliveries(db)] == ["delivered"]
