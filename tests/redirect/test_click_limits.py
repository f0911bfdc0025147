"""Clicks of links with a limit, counted by all processes of a machine."""

import asyncio
import multiprocessing
import os
import signal
from pathlib import Path

import pytest
from stopped import resume, stop, stopped

from waypost.kit.errors import Unavailable
from waypost.redirect.click_limits import ClickLimits
from waypost.redirect.route_options import ClickLimit

LINK, OTHER = b"1" * 32, b"2" * 24 + b"1" * 8  # the same slot
_FORK = multiprocessing.get_context("fork")


class Clicks:
    """A spool of one byte per click, which is never drained."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / "spool"
        self.path.touch()
        self.stored = 0
        self.counted = 0
        self.is_gone = False

    async def read(self, _link: bytes) -> int:
        if self.is_gone:
            raise Unavailable
        return self.stored

    async def count(self, _link: bytes) -> int:
        self.counted += 1
        await asyncio.sleep(0)
        return self.recorded

    @property
    def recorded(self) -> int:
        return self.path.stat().st_size

    def record(self) -> bytes:
        with self.path.open("ab") as file:
            file.write(b".")
        return b"visit"


@pytest.fixture
def clicks(tmp_path: Path) -> Clicks:
    return Clicks(tmp_path)


def limits_of(clicks: Clicks) -> ClickLimits:
    return ClickLimits(clicks.path.with_name("click_counts"), clicks.read, clicks.count)


async def visit(limits: ClickLimits, clicks: Clicks, limit: int, version: int = 1, *, times: int = 1) -> int:
    """Return how many of the visits were answered."""
    visits = (limits.take(LINK, ClickLimit(limit, version), clicks.record) for _ in range(times))
    return sum(answer is not None for answer in await asyncio.gather(*visits))


async def test_processes_answer_exactly_as_many_as_the_limit(clicks: Clicks) -> None:
    clicks.record()

    def run(answers) -> None:
        answers.put(asyncio.run(visit(limits_of(clicks), clicks, 300, times=100)))

    answers = _FORK.SimpleQueue()
    processes = [_FORK.Process(target=run, args=(answers,)) for _ in range(4)]
    for process in processes:
        process.start()
    assert sum(answers.get() for _ in processes) == 299
    for process in processes:
        process.join()
    assert clicks.recorded == 300


@pytest.mark.parametrize(("is_recorded", "answered"), [(False, 2), (True, 2)])
async def test_a_process_killed_between_spool_and_count_takes_no_click(
    clicks: Clicks, *, is_recorded: bool, answered: int
) -> None:
    """It may leave one click uncounted."""
    limits = limits_of(clicks)
    assert await visit(limits, clicks, 3) == 1

    def die() -> bytes:
        if is_recorded:
            clicks.record()
        os.kill(os.getpid(), signal.SIGKILL)
        return b""

    process = _FORK.Process(target=lambda: asyncio.run(limits_of(clicks).take(LINK, ClickLimit(3, 1), die)))
    process.start()
    await asyncio.to_thread(process.join)
    assert process.exitcode == -signal.SIGKILL
    assert await visit(limits, clicks, 3, times=5) == answered


async def test_a_changed_routing_counts_again(clicks: Clicks) -> None:
    limits = limits_of(clicks)
    assert await visit(limits, clicks, 2, times=5) == 2
    assert await limits.is_used_up(LINK, ClickLimit(2, 1))
    assert await visit(limits, clicks, 3, 2, times=5) == 1
    clicks.record()  # while there was no limit
    assert await visit(limits, clicks, 5, 3, times=5) == 1
    assert clicks.counted == 3


async def test_clicks_of_other_machines_count_when_they_are_stored(clicks: Clicks) -> None:
    limits = limits_of(clicks)
    assert await visit(limits, clicks, 10) == 1
    clicks.stored = 8
    assert await visit(limits, clicks, 10, times=5) == 2
    clicks.stored = 20
    assert await limits.is_used_up(LINK, ClickLimit(20, 1))


async def test_a_lost_file_is_counted_again(clicks: Clicks) -> None:
    limits = limits_of(clicks)
    assert await visit(limits, clicks, 3, times=2) == 2
    os.truncate(clicks.path.with_name("click_counts"), 0)
    assert await visit(limits, clicks, 3, times=3) == 1


async def test_links_that_share_a_slot_are_separate(clicks: Clicks) -> None:
    limits = limits_of(clicks)
    assert await visit(limits, clicks, 1, times=2) == 1
    assert await limits.take(OTHER, ClickLimit(2, 1), clicks.record)
    assert not await limits.take(OTHER, ClickLimit(2, 1), clicks.record)
    assert await limits.is_used_up(LINK, ClickLimit(1, 1))


async def test_without_the_database_nothing_is_recorded(clicks: Clicks) -> None:
    clicks.is_gone = True
    with pytest.raises(Unavailable):
        await visit(limits_of(clicks), clicks, 3)
    assert clicks.recorded == 0


async def test_a_stopped_process_refuses_the_links_of_its_slots_and_no_others(clicks: Clicks) -> None:
    """None gets a click too many, and the event loop goes on."""
    limits, other = limits_of(clicks), b"3" * 32

    def record() -> bytes:
        stop()
        return clicks.record()

    with stopped(lambda: asyncio.run(limits_of(clicks).take(LINK, ClickLimit(1, 1), record))) as process:
        waiting = asyncio.create_task(visit(limits, clicks, 1))
        assert await limits.take(other, ClickLimit(1, 1), clicks.record)
        assert not waiting.done()
        with pytest.raises(Unavailable):
            await waiting
        resume(process)
        assert await visit(limits, clicks, 1) == 0
