"""R40: from the spool to ClickHouse and PostgreSQL exactly once, whatever happens in between."""

import asyncio
import contextlib
import itertools
import os
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from clickhouse.server import ClickHouse as ClickHouseServer
from conftest import PostgresServer
from measured import increases
from people import FakeClock
from resources.clicks.clickhouse.watched import BATCH_BYTES, new_drainer, watched_drainer
from resources.clicks.visited import Env
from resources.webhooks.scripted import subscribe
from sqlalchemy import select

from waypost.database import Database
from waypost.kit.errors import Unavailable
from waypost.kit.ids import new_id
from waypost.redirect import Spool
from waypost.redirect.spool import Visit, encode, segments
from waypost.resources.clicks.backends.clickhouse import ClickHouseStore
from waypost.resources.clicks.backends.clickhouse import client as client_module
from waypost.resources.clicks.backends.clickhouse.drain import ClickHouseDrainer
from waypost.resources.clicks.intake import drain as intake_drain
from waypost.resources.clicks.model import spool_positions
from waypost.resources.links.model import Link, link_clicks
from waypost.resources.qrcodes.model import qr_scans
from waypost.resources.webhooks.model import webhook_deliveries
from waypost.worker import run as worker_run
from waypost.worker.jobs import JobRunner
from waypost.worker.loop import WorkerLoop

CHROME = (
    b"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36"
)
GOOGLEBOT = b"Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"
AT = 1_784_800_000_123_456
TESTS = Path(__file__).parents[3]
IN_FULL = "DRAIN_IN_FULL" in os.environ  # `make test-slow`
POINTS = 1 if IN_FULL else 4
"""Of each test of all points, every how many are tried."""


@dataclass
class Kit:
    env: Env
    postgres_url: str
    server: ClickHouseServer
    directory: Path
    link: Link
    spools: list[Spool]
    expected: Counter[str] = field(default_factory=Counter)
    visits: set[str] = field(default_factory=set)

    @property
    def db(self) -> Database:
        return self.env.db

    def visit(self, count: int = 1, *, spool: int = 0, agent: bytes = CHROME, scan: bool = False) -> None:
        """Append visits to the spool that the tables are compared with at the end."""
        for _ in range(count):
            at = AT + len(self.visits) * 1_000_000
            blank = Visit(new_id().hex.encode(), b"%d" % at, self.link.id.hex.encode(), peer=b"192.0.2.7")
            self.spools[spool].append(encode(blank._replace(user_agent=agent, query=b"r=qr" if scan else b"")))
            self.visits.add(blank.id.decode())
            self.expected["clicks" if agent == CHROME else "crawlers"] += 1
            self.expected["scans"] += scan

    def drainer(self, country: str = "DE") -> ClickHouseDrainer:
        return new_drainer(self.db, self.store, self.directory, country)

    @property
    def store(self) -> ClickHouseStore:
        assert isinstance(self.env.click_store, ClickHouseStore)
        return self.env.click_store

    async def drain(self) -> None:
        """As the worker does: in steps that are repeated while a server is away."""
        drainer = self.drainer()
        with contextlib.suppress(Unavailable):
            for steps in itertools.count(1):
                if not await drainer.step():
                    break
                assert steps < 1_000
        await drainer.close()

    async def correct(self) -> None:
        """Run the jobs that drainers have enqueued."""
        clock = FakeClock()
        [(kind, handler)] = self.store.handlers(self.db, clock).items()
        loop = WorkerLoop(self.db, JobRunner(kind.queue, {kind: handler}, clock=clock))
        while await loop.step():
            pass
        await loop.close()

    async def assert_agree(self) -> None:
        """Every visit is stored once, and everything that is counted of it agrees."""
        stored = [id_ for (id_,) in self.server.sql("SELECT lower(hex(id)) FROM clicks ORDER BY id")]
        assert stored == sorted(self.visits)
        expected = self.expected
        for subject in (self.link.id, self.link.account_id):
            sums = "sum(clicks), sum(crawlers), sum(scans)"
            [counts] = self.server.sql(f"SELECT {sums} FROM click_counts WHERE subject_id = unhex('{subject.hex}')")
            assert [int(count) for count in counts] == [expected["clicks"], expected["crawlers"], expected["scans"]]
            values = f"SELECT sum(clicks) FROM click_dimensions WHERE subject_id = unhex('{subject.hex}')"
            [dimensions] = self.server.sql(f"{values} AND dimension = 1")
            assert int(dimensions[0]) == expected["clicks"]
        async with self.db.read() as tx:
            assert await tx.scalar(select(link_clicks.c.clicks)) == expected["clicks"]
            assert (await tx.scalar(select(qr_scans.c.scans)) or 0) == expected["scans"]
            assert len(list(await tx.scalars(select(webhook_deliveries.c.id)))) == expected["clicks"]
            assert list(await tx.scalars(select(spool_positions.c.pending_end).distinct())) in ([], [None])
        shown = await self.env.shown("/clicks", kind="all")
        assert shown["meta"]["total"] == len(self.visits)
        totals = await self.env.stats(self.link, from_="2026-07-01T00:00:00Z")
        assert (totals["clicks"], totals["scans"]) == (expected["clicks"], expected["scans"])


@pytest.fixture(params=["clickhouse"])
def urls(request: pytest.FixtureRequest) -> tuple[str, str]:
    return request.getfixturevalue("postgres_url"), request.getfixturevalue("clickhouse").url


@pytest.fixture
async def kit(
    env: Env, postgres_url: str, clickhouse: ClickHouseServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Kit]:
    """Batches of two or three visits. After every test, everything is drained and agrees."""
    monkeypatch.setattr(intake_drain, "_BATCH_BYTES", BATCH_BYTES)
    monkeypatch.setattr(client_module, "_RETRY_AFTER", 0.0)
    await subscribe(env.db, account_id=env.alice.account_id, events=["link.clicked"])
    directory = tmp_path / "spool"
    spools = [Spool(directory, limit=1 << 30) for _ in range(2)]
    kit = Kit(env, postgres_url, clickhouse, directory, await env.link(), spools)
    yield kit
    clickhouse.start()
    clickhouse.faults.clear()
    clickhouse.faults.accept()
    await kit.drain()
    await kit.correct()
    await kit.assert_agree()
    for spool in spools:
        spool.close()


async def test_drains_visits_of_several_segments(kit: Kit) -> None:
    kit.visit(3)
    kit.visit(2, spool=1, scan=True)
    kit.visit(2, spool=1, agent=GOOGLEBOT)
    with increases() as increased:
        await kit.drain()
    assert increased["waypost_clicks_drained_total"] == 7
    assert "waypost_batches_repeated_total" not in increased
    inserts = [each for each in kit.server.requests("INSERT INTO") if "schema_version" not in each.query]
    assert len({request.token for request in inserts}) == len(inserts) > 1


async def test_skips_damaged_lines(kit: Kit) -> None:
    kit.visit()
    kit.spools[0].append(b"rubbish\n\n")
    kit.visit()


async def test_drains_a_batch_of_damaged_lines_only(kit: Kit) -> None:
    kit.spools[0].append(b"rubbish\n" * 100)
    kit.visit()


@pytest.mark.parametrize("executed", [False, True])
@pytest.mark.parametrize("fault", ["error", "close", "kill", "hang", "truncate"])
async def test_repeats_an_insertion(kit: Kit, monkeypatch: pytest.MonkeyPatch, fault: str, *, executed: bool) -> None:
    if fault == "truncate" and not executed:
        pytest.skip("a response needs an execution")
    kit.visit(2)
    kit.visit(spool=1)
    repeated: dict[str, Any] = {"times": 2} if fault in {"close", "truncate"} else {}  # the driver repeats it once
    options: dict[str, Any] = {} if fault == "truncate" else {"executed": executed}
    getattr(kit.server.faults, fault)("INSERT INTO", **options, **repeated)
    drainer = kit.drainer()
    with monkeypatch.context() as impatient, pytest.raises(Unavailable):
        if fault == "hang":
            impatient.setattr(client_module, "INSERT_TIMEOUT", -0.8)  # 0.2 s
        await drainer.step()
    kit.server.start()
    kit.server.faults.clear()
    kit.visit(3)  # the batch is repeated unchanged
    with increases() as increased:
        await kit.drain()
    assert increased["waypost_batches_repeated_total"] == 1
    if fault != "kill":  # a killed server may not have written the request down
        assert Counter(request.token for request in kit.server.requests("INSERT INTO")).most_common(1)[0][1] > 1
    await drainer.close()


@pytest.mark.parametrize("executed", [False, True])
async def test_repeats_an_insertion_that_the_stop_of_the_worker_has_cut_off(
    kit: Kit, monkeypatch: pytest.MonkeyPatch, *, executed: bool
) -> None:
    monkeypatch.setattr(worker_run, "STEP_TIMEOUT", 0.01)
    kit.visit(3)
    kit.server.faults.hang("INSERT INTO", executed=executed)
    drainer, stop = kit.drainer(), asyncio.Event()
    working = asyncio.create_task(worker_run.work(kit.db, [], [(1, drainer.step)], stop=stop))
    await asyncio.to_thread(kit.server.wait_for_fault)
    stop.set()
    await working
    await drainer.close()
    kit.server.faults.clear()
    with increases() as increased:
        await kit.drain()
    assert increased["waypost_batches_repeated_total"] == 1


async def test_waits_while_clickhouse_refuses_connections(kit: Kit) -> None:
    kit.visit(5)
    kit.server.faults.refuse()
    drainer = kit.drainer()
    for _ in range(3):
        with pytest.raises(Unavailable):
            await drainer.step()
    kit.server.faults.accept()
    while await drainer.step():
        pass
    await drainer.close()
    await kit.assert_agree()


async def test_stores_a_batch_once_that_is_repeated_with_other_bytes(kit: Kit) -> None:
    kit.visit(2)
    kit.server.faults.error("INSERT INTO", executed=True)
    with pytest.raises(Unavailable):
        await kit.drainer("DE").step()
    drainer = kit.drainer("FR")
    while await drainer.step():
        pass
    await drainer.close()
    assert kit.server.sql("SELECT DISTINCT country FROM clicks") == [["DE"]]
    assert kit.server.sql("SELECT DISTINCT value FROM click_dimensions WHERE dimension = 1") == [["DE"]]


@pytest.mark.parametrize("table", ["clicks", "click_counts", "click_dimensions"])
async def test_restores_what_a_crash_of_the_server_has_lost(kit: Kit, table: str) -> None:
    """The engine writes the token of a block before its rows, so after a crash it can refuse what it has not stored."""
    kit.visit(2)
    await kit.drain()
    kit.visit(2)
    kit.server.faults.error("INSERT INTO", executed=True)
    with pytest.raises(Unavailable):
        await kit.drainer().step()
    await asyncio.to_thread(kit.server.lose_last_part, table)
    await kit.drain()  # what is wrong after it waits in the database, whichever process is killed
    await kit.correct()
    await kit.assert_agree()


async def test_continues_after_the_clicks_of_an_earlier_version(kit: Kit) -> None:
    """Positions of the SQL store have no pending ranges."""
    kit.visit(2)
    size = segments(kit.directory)[0].stat().st_size
    async with kit.db.write() as tx:
        await tx.execute(spool_positions.insert(), {"segment": segments(kit.directory)[0].name, "position": size})
    kit.visits.clear()
    kit.expected.clear()
    kit.visit(3)


async def test_counts_once_when_the_process_is_killed_at_any_point(kit: Kit) -> None:
    command = [sys.executable, "-P", str(Path(__file__).with_name("watched.py"))]
    command += [kit.postgres_url, kit.server.url, str(kit.directory)]
    environment = {**os.environ, "PYTHONPATH": str(TESTS)}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1, env=environment
    ) as program:
        assert program.stdin
        assert program.stdout
        for nth in itertools.count(1, POINTS):
            kit.visit(2)
            kit.visit(2, spool=1, scan=True)
            program.stdin.write(f"{nth}\n")
            if await asyncio.to_thread(program.stdout.readline) != "killed\n":
                break
    assert nth > 10


async def test_two_drainers_count_once_when_one_is_overtaken_at_any_point(kit: Kit) -> None:
    for nth in itertools.count(1, POINTS):
        kit.visit(2)
        kit.visit(2, spool=1)
        if not await _overtaken_at(kit, nth):
            break
    assert nth > 10


async def _overtaken_at(kit: Kit, nth: int) -> bool:
    """While one drainer waits at the nth point, another drains the spool, into which more visits come."""
    points, is_overtaken = itertools.count(1), False

    async def reached(point: str) -> None:
        nonlocal is_overtaken
        if point != "uncommitted" and next(points) == nth:  # there the other one would wait for this one's locks
            is_overtaken = True
            await kit.drain()
            kit.visit(2, spool=nth % 2)
            await kit.drain()

    drainer = watched_drainer(kit.db, kit.store, kit.directory, reached)
    while await drainer.step():
        pass
    await drainer.close()
    return is_overtaken


async def test_three_drainers_count_once_concurrently(kit: Kit) -> None:
    for _ in range(10 if IN_FULL else 3):
        kit.visit(10)
        kit.visit(10, spool=1)
        await asyncio.gather(*(kit.drain() for _ in range(3)))


async def test_two_batches_pending_at_once_keep_their_tokens(kit: Kit, tmp_path: Path) -> None:
    """Of two drainers that were killed: one had a copy of a single segment."""
    kit.server.faults.error("INSERT INTO", executed=True, times=2)
    kit.visit(2)
    with pytest.raises(Unavailable):
        await kit.drainer().step()
    kit.visit(2, spool=1)
    (tmp_path / "copy").mkdir()
    second = segments(kit.directory)[1]
    (tmp_path / "copy" / second.name).hardlink_to(second)
    with pytest.raises(Unavailable):
        await new_drainer(kit.db, kit.store, tmp_path / "copy").step()
    with increases() as increased:
        await kit.drain()
    assert increased["waypost_batches_repeated_total"] == 2


async def test_counts_once_when_connections_to_postgresql_are_lost_at_any_point(
    kit: Kit, postgres: PostgresServer
) -> None:
    others = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database()"
    name = kit.postgres_url.partition("@/")[2].partition("?")[0]
    for nth in itertools.count(1, POINTS):
        kit.visit(5)
        points, is_lost = itertools.count(1), False

        async def reached(_point: str, nth: int = nth, points: Any = points) -> None:
            nonlocal is_lost
            if next(points) == nth:
                is_lost = True
                with contextlib.suppress(Exception):  # its own connection ends, too
                    await asyncio.to_thread(postgres.sql, others, name)

        drainer = watched_drainer(kit.db, kit.store, kit.directory, reached)
        has_more = True
        while has_more:
            try:
                has_more = await drainer.step()
            except Unavailable:
                continue
        await drainer.close()
        if not is_lost:
            break
    assert nth > 10


async def test_removes_finished_segments_with_their_positions(kit: Kit) -> None:
    kit.visit(5)
    kit.spools[0].close()
    await kit.drain()
    await kit.drain()
    assert len(segments(kit.directory)) == 1
    async with kit.db.read() as tx:
        assert list(await tx.scalars(select(spool_positions.c.segment))) == []
