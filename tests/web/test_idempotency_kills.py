"""One change and one response for each key, whatever processes die, pause or disagree about the time."""

import asyncio
import os
import signal
from collections.abc import Iterator, Sequence
from contextlib import aclosing, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from people import START, FakeClock, Person, new_client, new_key, new_person
from sqlalchemy import func, select
from statements import watched
from web.test_idempotency import ENDPOINTS, Verbs, post

from waypost.database import Database
from waypost.idempotency.service import LEASE
from waypost.worker.jobs import jobs

_EXAMPLES = int(os.environ.get("KILL_ROUNDS", "5"))


class Attempt(NamedTuple):
    kill_at: int | None
    """The process kills itself before or after this statement or commit of those from its claim on, or at the end.
    None: it lives.
    """
    clock: timedelta = timedelta()
    """By how much the clock of the process is ahead."""


class Response(NamedTuple):
    status: int
    body: bytes


class Processes:
    """Sends requests, each in a process of its own."""

    def __init__(self, url: str, directory: Path) -> None:
        self._url = url
        self._directory = directory
        self._person = asyncio.run(self._prepare())

    def new_key(self) -> str:
        """Return a new idempotency key, to be sent with a new API key, which has a rate limit of its own."""
        self._person = asyncio.run(self._new_person())
        return uuid4().hex

    def send(self, key: str, attempts: Sequence[Attempt]) -> list[Response | None]:
        """Send requests at the same time. None: the process was killed before its response."""
        running = [self._fork(key, attempt) for attempt in attempts]
        return [_response(*each) for each in running]

    def count(self, key: str) -> int:
        """Return how often the request with the key has changed something."""
        return asyncio.run(self._count(key))

    async def _prepare(self) -> Person:
        async with aclosing(_Closing(self._url)) as opened:
            return await new_person(opened.db, "alice", now=START)

    async def _new_person(self) -> Person:
        async with aclosing(_Closing(self._url)) as opened:
            return await new_key(opened.db, self._person.account_id, now=START)

    def _fork(self, key: str, attempt: Attempt) -> tuple[int, int]:
        end, start = os.pipe()
        process = os.fork()
        if process:
            os.close(start)
            return process, end
        try:
            with _killed(attempt.kill_at):
                response = asyncio.run(self._post(key, attempt))
            os.write(start, response)
        finally:
            os._exit(0)

    async def _post(self, key: str, attempt: Attempt) -> bytes:
        async with aclosing(_Closing(self._url)) as opened:
            clock = FakeClock(START + attempt.clock)
            group = Verbs(opened.db), ENDPOINTS
            async with new_client(opened.db, self._directory, group, clock=clock) as client:
                answer = await post(client, self._person, key, json={"names": [key]})
                return answer.status_code.to_bytes(2) + answer.content

    async def _count(self, key: str) -> int:
        async with aclosing(_Closing(self._url)) as opened, opened.db.read() as tx:
            return await tx.scalar(select(func.count()).where(jobs.c.name == key)) or 0


class _Closing:
    def __init__(self, url: str) -> None:
        self.db = Database(url)

    async def aclose(self) -> None:
        await self.db.close()


def _response(process: int, end: int) -> Response | None:
    with os.fdopen(end, "rb") as pipe:
        sent = pipe.read()
    os.waitpid(process, 0)
    return Response(int.from_bytes(sent[:2]), sent[2:]) if sent else None


@contextmanager
def _killed(at: int | None) -> Iterator[None]:
    steps = 0

    def step(*arguments: Any) -> None:
        nonlocal steps
        steps += steps > 0 or any("INSERT INTO idempotency_keys" in str(each) for each in arguments)
        if steps == at:
            os.kill(os.getpid(), signal.SIGKILL)

    with watched(step, step):
        yield
    step()


@pytest.fixture
def processes(database_url: str, tmp_path: Path) -> Processes:
    return Processes(database_url, tmp_path)


def settle(processes: Processes, key: str, responses: Sequence[Response | None]) -> None:
    """Send the request until it succeeds, and check that it happened once."""
    [last] = processes.send(key, [Attempt(None, LEASE * 10)])
    assert last is not None
    assert last.status == 201, last
    assert {each for each in responses if each and each.status != 409} <= {last}
    assert processes.send(key, [Attempt(None, LEASE * 10)]) == [last]
    assert processes.count(key) == 1


def test_a_process_killed_at_any_point_leaves_one_change(processes: Processes) -> None:
    kills = 0
    while True:
        key = processes.new_key()
        [response] = processes.send(key, [Attempt(kills + 1)])
        settle(processes, key, [response])
        if response is not None:
            break
        kills += 1
    assert kills >= 9


_ATTEMPTS = st.lists(
    st.builds(Attempt, st.none() | st.integers(1, 30), st.sampled_from([timedelta(), LEASE, LEASE * 2])),
    min_size=2,
    max_size=4,
)


@settings(max_examples=_EXAMPLES, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(_ATTEMPTS)
def test_concurrent_processes_make_one_change(processes: Processes, attempts: list[Attempt]) -> None:
    """Clocks differ by more than a lease: a process may lose its key while it runs."""
    key = processes.new_key()
    settle(processes, key, processes.send(key, attempts))
