"""The log in a file, over processes that may die at any point. `test_limiter` shows what it counts."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from stopped import resume, stop, stopped

from waypost.accounts.limits.file_limiter import WINDOW, FileLimiters, FileRateLimiter
from waypost.kit.errors import Unavailable

SECOND = 1_000_000_000
DAY = 86_400 * SECOND


class Now:
    def __init__(self, at: int = DAY) -> None:
        self.at = at

    def __call__(self) -> int:
        return self.at


@pytest.fixture
def now() -> Now:
    return Now()


@pytest.fixture
def limiter(tmp_path: Path, now: Now) -> FileRateLimiter:
    return FileRateLimiter(tmp_path / "run" / "limits", limit=60, clock=now)


async def test_the_first_minute_after_boot(tmp_path: Path) -> None:
    limiter = FileRateLimiter(tmp_path / "limits", limit=2, clock=lambda: 5)
    assert [(await limiter.take(b"alice")).allowed for _ in range(3)] == [True, True, False]


async def test_a_boot_clears_the_log(tmp_path: Path) -> None:
    boot = tmp_path / "boot"
    for name, allowed in (("first", [True, False]), ("second", [True, False])):
        boot.write_text(f"{name}\n")
        answers = []
        for _ in range(2):
            limiters = FileLimiters(tmp_path / "run", boot)
            answers.append((await limiters.new("limits", limit=1).take(b"alice")).allowed)
            await limiters.close()
        assert answers == allowed
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["limits-second"]


async def test_a_time_beyond_the_window_is_from_before_a_boot(tmp_path: Path) -> None:
    path = tmp_path / "limits"
    await FileRateLimiter(path, limit=1, clock=lambda: DAY).take(b"alice")
    assert (await FileRateLimiter(path, limit=1, clock=lambda: 5).take(b"alice")).allowed


async def test_changes_of_the_wall_clock_have_no_effect(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    limiter = FileRateLimiter(tmp_path / "limits", limit=60)
    for jump in (0, -3_600, 3_600) * 20:
        monkeypatch.setattr(time, "time", lambda jump=jump: 1e9 + jump)
        monkeypatch.setattr(time, "time_ns", lambda jump=jump: 10**18 + jump * SECOND)
        assert (await limiter.take(b"alice")).allowed
    assert not (await limiter.take(b"alice")).allowed


async def test_idle_slots_are_reused(tmp_path: Path, now: Now) -> None:
    limiter = FileRateLimiter(tmp_path / "limits", limit=2, slots=1, clock=now)
    for minute in range(20):
        now.at = DAY + minute * WINDOW
        names = [b"%d %d" % (minute, number) for number in range(8)]  # as many as a slot has neighbours
        rounds = [[(await limiter.take(name)).allowed for name in names] for _ in range(3)]
        assert rounds == [[True] * 8, [True] * 8, [False] * 8]


async def test_a_full_disk_raises_unavailable(limiter: FileRateLimiter, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "pwrite", full)
    with pytest.raises(Unavailable):
        await limiter.take(b"alice")


TAKER = """
import asyncio, sys
from pathlib import Path
from waypost.accounts.limits.file_limiter import FileRateLimiter

async def main(path, count):
    limiter = FileRateLimiter(Path(path), limit=60)
    print("ready", flush=True)
    sys.stdin.readline()
    taken = await asyncio.gather(*(limiter.take(b"alice") for _ in range(int(count))))
    print(sum(each.allowed for each in taken))

asyncio.run(main(*sys.argv[1:]))
"""


def start(program: str, *arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", program, *arguments]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def test_four_processes_share_one_limit(tmp_path: Path) -> None:
    takers = [start(TAKER, str(tmp_path / "limits"), "50") for _ in range(4)]
    for taker in takers:
        assert taker.stdout
        assert taker.stdout.readline() == "ready\n"
    for taker in takers:
        assert taker.stdin
        taker.stdin.write("go\n")
        taker.stdin.flush()
    assert sum(int(taker.communicate()[0]) for taker in takers) == 60


BUSY = """
import asyncio, sys
from pathlib import Path
from waypost.accounts.limits.file_limiter import FileRateLimiter

async def main(path):
    limiter = FileRateLimiter(Path(path), limit=60)
    while True:
        for number in range(1000):
            await limiter.take(b"%d" % number)
        print("busy", flush=True)

asyncio.run(main(sys.argv[1]))
"""


async def test_a_killed_process_leaves_a_valid_log(tmp_path: Path) -> None:
    path = tmp_path / "limits"
    limiter = FileRateLimiter(path, limit=60)
    for round_ in range(3):
        busy = start(BUSY, str(path))
        assert busy.stdout
        assert busy.stdout.readline() == "busy\n"
        busy.send_signal(signal.SIGKILL)
        busy.communicate()
        name = b"survivor %d" % round_
        assert [(await limiter.take(name)).allowed for _ in range(61)] == [True] * 60 + [False]


async def test_a_stopped_process_refuses_the_keys_of_its_slots_and_no_others(tmp_path: Path) -> None:
    """Nobody can guess passwords meanwhile, and the event loop goes on."""
    path = tmp_path / "limits"
    limiter = FileRateLimiter(path, limit=3)

    def now() -> int:  # read while the slots are locked
        stop()
        return time.monotonic_ns()

    with stopped(lambda: asyncio.run(FileRateLimiter(path, limit=3, clock=now).take(b"alice"))) as process:
        guesses = asyncio.gather(*(limiter.take(b"alice") for _ in range(50)), return_exceptions=True)
        assert [(await limiter.take(b"bob")).allowed for _ in range(4)] == [True, True, True, False]
        assert not guesses.done()
        assert {type(answer) for answer in await guesses} == {Unavailable}
        resume(process)
        assert [(await limiter.take(b"alice")).allowed for _ in range(3)] == [True, True, False], "one is its own"
