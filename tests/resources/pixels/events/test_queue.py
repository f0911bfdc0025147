"""When events are sent, which of them wait, and that none is lost or left behind."""

import asyncio
from uuid import UUID

import pytest
from people import START
from resources.pixels.events.platforms import HANGS, Platforms
from resources.pixels.events.sent import Env, new_event, new_pixel

from waypost.database import Database
from waypost.kit.ids import new_id
from waypost.resources.pixels import events
from waypost.resources.pixels.events import model, queue


def reported(platforms: Platforms, platform: str = "") -> list[list[str]]:
    return [[event["event_id"] for event in got.events] for got in platforms.received(platform)]


async def hang(env: Env, platforms: Platforms, platform: str, requests: int = 1) -> None:
    """Wait until `requests` requests are in flight."""
    while len(platforms.received(platform)) < requests:
        await env.sender.step()


async def test_sends_the_events_of_a_busy_pixel_in_batches(db: Database, env: Env, platforms: Platforms) -> None:
    pixel = await new_pixel(db, "facebook")
    given = [*await env.queue(pixel), *await env.queue(pixel), *await env.queue(pixel)]
    await env.run()
    assert reported(platforms) == [[each.id for each in given]]


async def test_sends_an_event_once_that_is_recorded_twice(db: Database, env: Env, platforms: Platforms) -> None:
    pixel = await new_pixel(db, "facebook")
    one = events.PixelEvent(new_id(), pixel, "facebook", new_event(user_agent='"\\\0{}'))
    for _ in range(2):
        async with db.write() as tx:
            await events.record_all(tx, [one, one], now=START)
    await env.run()
    assert reported(platforms) == [[one.view.id]]
    assert platforms.received()[0].events[0]["user_data"]["client_user_agent"] == '"\\\0{}'


async def test_a_platform_that_hangs_delays_no_other(db: Database, env: Env, platforms: Platforms) -> None:
    platforms.will("facebook", HANGS)
    slow = await new_pixel(db, "facebook")
    await env.queue(slow)
    await hang(env, platforms, "facebook")
    others = [await new_pixel(db, platform) for platform in ("facebook", "tiktok") for _ in range(10)]
    for pixel in others:
        await env.queue(pixel)
    while sum([(await env.results(pixel)).sent for pixel in others]) < len(others):
        await env.sender.step()
    assert len(await env.waiting()) == 1
    await env.sender.stop()


async def test_retries_a_request_that_hung(
    db: Database, env: Env, platforms: Platforms, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queue, "DEADLINE", 0.5)
    platforms.will("facebook", HANGS)
    pixel = await new_pixel(db, "facebook")
    await env.queue(pixel)
    await env.run()
    assert (await env.results(pixel)).reason == "facebook: timed out"
    env.pass_by(seconds=2)
    await env.run()
    assert ((await env.results(pixel)).sent, await env.nothing_is_left()) == (1, True)


async def test_an_account_has_one_request_to_a_platform_in_flight(db: Database, env: Env, platforms: Platforms) -> None:
    platforms.will("facebook", HANGS)
    account = new_id()
    first, second = [await new_pixel(db, "facebook", account_id=account) for _ in range(2)]
    await env.queue(first)
    await hang(env, platforms, "facebook")
    await env.queue(second)
    env.pass_by(seconds=1)
    stranger = await new_pixel(db, "facebook")
    env.pass_by(seconds=1)
    await env.queue(stranger)
    while not (await env.results(stranger)).sent:
        await env.sender.step()
    assert (await env.results(second)).sent == 0
    await env.sender.stop()


async def test_sends_the_batch_of_a_killed_process_again(db: Database, env: Env, platforms: Platforms) -> None:
    platforms.will("facebook", HANGS)
    pixel = await new_pixel(db, "facebook")
    given = await env.queue(pixel, new_event(), new_event())
    await hang(env, platforms, "facebook")
    other = env.new_sender()
    assert not await other.step()
    env.clock.move(queue.QUEUE.lease)
    while await other.step():
        pass
    assert reported(platforms) == [[each.id for each in given]] * 2
    assert ((await env.results(pixel)).sent, await env.nothing_is_left()) == (2, True)
    await env.sender.stop()  # it comes too late to count them again
    assert (await env.results(pixel)).sent == 2


async def test_settles_requests_in_flight_on_shutdown(db: Database, env: Env, platforms: Platforms) -> None:
    pixel = await new_pixel(db, "facebook")
    await env.queue(pixel)
    await env.sender.step()
    await env.sender.close()
    assert (len(platforms.received()), (await env.results(pixel)).sent) == (1, 1)
    assert await env.nothing_is_left()


async def test_retry_after_holds_the_pixel_and_no_other(db: Database, env: Env, platforms: Platforms) -> None:
    platforms.will("tiktok", (429, {"Retry-After": "60"}, {}))
    account = new_id()
    held, other = [await new_pixel(db, "tiktok", account_id=account) for _ in range(2)]
    (first,) = await env.queue(held)
    await env.run()
    env.pass_by(seconds=59)
    (later,), (of_other,) = await env.queue(held), await env.queue(other)
    await env.run()
    assert reported(platforms) == [[first.id], [of_other.id]]
    env.pass_by(seconds=1)
    await env.run()
    assert reported(platforms)[2:] == [[first.id], [later.id]]  # the batch is the same
    assert await env.nothing_is_left()


async def test_an_older_event_that_comes_later_is_not_lost(db: Database, env: Env, platforms: Platforms) -> None:
    pixel = await new_pixel(db, "facebook")
    (first,) = await env.queue(pixel)
    await env.sender.step()
    await asyncio.to_thread(platforms.wait_for, "facebook", 1)
    late = events.PixelEvent(UUID(int=1), pixel, "facebook", new_event())
    async with db.write() as tx:
        await events.record_all(tx, [late], now=env.clock())
    await env.run()
    assert reported(platforms) == [[first.id], [late.view.id]]
    assert ((await env.results(pixel)).sent, await env.nothing_is_left()) == (2, True)


async def test_events_that_come_after_a_batch_wait_for_the_next_one(
    db: Database, env: Env, platforms: Platforms
) -> None:
    pixel = await new_pixel(db, "facebook")
    (first,) = await env.queue(pixel)
    await events.enqueue_batches(db, clock=env.clock)
    later = [*await env.queue(pixel), *await env.queue(pixel)]
    while await env.batches():
        await env.sender.send()
    assert reported(platforms) == [[first.id]]
    await env.run()
    assert reported(platforms) == [[first.id], [each.id for each in later]]


async def test_after_a_batch_is_given_up_the_next_one_has_all_its_attempts(
    db: Database, env: Env, platforms: Platforms
) -> None:
    platforms.will("facebook", *[500] * 15)
    pixel = await new_pixel(db, "facebook")
    (first,) = await env.queue(pixel)
    await env.run()
    (second,) = await env.queue(pixel)
    for _ in range(20):
        env.pass_by(hours=1)
        await env.run()
    assert reported(platforms) == [[first.id]] * 8 + [[second.id]] * 8
    found = await env.results(pixel)
    assert (found.dropped, found.sent, await env.nothing_is_left()) == (1, 1, True)


async def test_drops_events_beyond_the_limit(
    db: Database, env: Env, platforms: Platforms, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queue, "MAX_PENDING_PER_PIXEL", 3)
    full, other = await new_pixel(db, "facebook"), await new_pixel(db, "facebook")
    given = await env.queue(full, *(new_event() for _ in range(2_010)))
    await env.queue(other, *(new_event() for _ in range(3)))
    await env.sweep()
    found = await env.results(full)
    assert (found.dropped, found.reason) == (2_007, "more events were pending than are stored")
    assert await env.results(other) == model.EventResults()
    await env.run()
    assert [each.id for each in given[:3]] in reported(platforms)
    assert await env.nothing_is_left()


async def test_a_concurrent_deletion_leaves_nothing(db: Database, env: Env, platforms: Platforms) -> None:
    platforms.will("facebook", HANGS)
    pixel = await new_pixel(db, "facebook")
    await env.queue(pixel)
    await hang(env, platforms, "facebook")
    await env.delete(pixel)
    await env.sweep()
    assert await env.nothing_is_left()
    await env.sender.stop()
    assert await env.nothing_is_left()


async def test_writes_nothing_while_nothing_is_pending(db: Database, env: Env) -> None:
    await new_pixel(db, "facebook")
    async with db.write():  # on SQLite another one would wait for its end
        assert not await env.sender.step()
        assert not await events.delete_unsendable(env.db, clock=env.clock)
