"""R30: one queue for everything expensive, with a share for each account."""

import asyncio
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager

import pytest

from waypost.kit.errors import Unavailable
from waypost.kit.fair_queue import FairQueue, TimeBudget


class Work:
    """Jobs that begin when they get a slot and end on demand."""

    def __init__(self, queue: FairQueue) -> None:
        self.queue = queue
        self.begun: list[Hashable] = []
        self._ends: dict[Hashable, list[asyncio.Event]] = {}
        self.tasks: list[asyncio.Task[None]] = []

    async def ask(self, *keys: Hashable) -> None:
        for key in keys:
            self.tasks.append(asyncio.create_task(self._job(key)))
            await settled()

    async def end(self, key: Hashable) -> None:
        """End the oldest running job of that key."""
        self._ends[key].pop(0).set()
        await settled()

    @property
    def running(self) -> list[Hashable]:
        return sorted(key for key, ends in self._ends.items() for _ in ends)

    async def _job(self, key: Hashable) -> None:
        async with self.queue.slot(key):
            self.begun.append(key)
            end = asyncio.Event()
            self._ends.setdefault(key, []).append(end)
            await end.wait()


async def settled() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


@asynccontextmanager
async def work(slots: int, *, per_key: int, **limits: int) -> AsyncIterator[Work]:
    """The queue is empty at the end of each test."""
    queue = FairQueue(slots, per_key=per_key, **limits)
    begun = Work(queue)
    yield begun
    for task in begun.tasks:
        task.cancel()
    await asyncio.gather(*begun.tasks, return_exceptions=True)
    assert (queue._free, queue._running, queue._queues) == (slots, {}, {})


async def test_one_account_never_fills_the_pool() -> None:
    async with work(3, per_key=2) as jobs:
        await jobs.ask(*"aaaaaa")
        assert jobs.running == ["a", "a"]
        await jobs.ask("b")
        assert jobs.running == ["a", "a", "b"], "a slot was left for the others"


async def test_free_slots_rotate_among_waiting_accounts() -> None:
    async with work(1, per_key=1) as jobs:
        await jobs.ask(*"aaaabbc")
        for key in "abcaba":
            await jobs.end(key)
        assert "".join(map(str, jobs.begun)) == "abcabaa"


async def test_a_freed_slot_skips_an_account_at_its_limit() -> None:
    async with work(2, per_key=1) as jobs:
        await jobs.ask(*"aaabb")
        await jobs.end("b")
        assert jobs.running == ["a", "b"]
        assert jobs.begun == ["a", "b", "b"]


async def test_an_unused_slot_goes_to_an_account_below_its_limit() -> None:
    async with work(2, per_key=1) as jobs:
        await jobs.ask("a", "a")
        assert jobs.running == ["a"]
        await jobs.end("a")
        assert jobs.running == ["a"]


async def test_too_many_of_one_account_are_refused_at_once() -> None:
    async with work(1, per_key=1, max_waiting_per_key=2) as jobs:
        await jobs.ask(*"aaa")
        with pytest.raises(Unavailable):
            async with jobs.queue.slot("a"):
                pytest.fail("it was let in")
        await jobs.ask("b")
        await jobs.end("a")
        assert jobs.running == ["b"], "the others may still wait"


async def test_too_many_of_all_accounts_are_refused_at_once() -> None:
    async with work(1, per_key=1, max_waiting=3) as jobs:
        await jobs.ask(*"abcd")
        with pytest.raises(Unavailable) as refused:
            async with jobs.queue.slot("e"):
                pytest.fail("it was let in")
        assert refused.value.retry_after >= 1


async def test_a_caller_that_waits_too_long_is_refused() -> None:
    async with work(1, per_key=1) as jobs:
        await jobs.ask("a")
        with pytest.raises(Unavailable):
            async with jobs.queue.slot("b", TimeBudget(0)):
                pytest.fail("it was let in")
        assert not jobs.queue._queues


async def test_several_queues_share_one_time_limit() -> None:
    budget = TimeBudget(0.02)
    with pytest.raises(TimeoutError):
        async with budget.use():
            await asyncio.Event().wait()
    with pytest.raises(TimeoutError):
        async with budget.use():
            await asyncio.sleep(0)
            await asyncio.Event().wait()


async def test_a_cancelled_caller_leaves_the_queue() -> None:
    async with work(1, per_key=1) as jobs:
        await jobs.ask(*"aab")
        jobs.tasks[1].cancel()
        await settled()
        await jobs.end("a")
        assert jobs.begun == ["a", "b"]


@pytest.mark.parametrize("served_first", [True, False])
async def test_cancelling_a_caller_at_its_turn_frees_the_slot(served_first: bool) -> None:
    async with work(1, per_key=1) as jobs:
        await jobs.ask(*"abc")
        acts = [jobs._ends["a"].pop(0).set, jobs.tasks[1].cancel]
        for act in acts if served_first else reversed(acts):
            act()
        if served_first:
            await asyncio.sleep(0)
        await settled()
        assert jobs.running == ["c"]


async def test_a_failed_job_frees_its_slot() -> None:
    async with work(1, per_key=1) as jobs:
        with pytest.raises(ZeroDivisionError):
            async with jobs.queue.slot("a"):
                raise ZeroDivisionError
        await jobs.ask("b")
        assert jobs.running == ["b"]


async def test_serves_many_waiting_callers() -> None:
    queue, most = FairQueue(4, per_key=2, max_waiting=1_000, max_waiting_per_key=100), 0
    inside: list[int] = []

    async def job(key: int) -> None:
        nonlocal most
        async with queue.slot(key):
            inside.append(key)
            most = max(most, len(inside))
            assert inside.count(key) <= 2
            await asyncio.sleep(0)
            inside.remove(key)

    await asyncio.gather(*(job(number % 7) for number in range(200)))
    assert most == 4
    assert (queue._free, queue._running, queue._queues) == (4, {}, {})
