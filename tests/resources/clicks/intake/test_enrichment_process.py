"""The process that enriches batches of a backlog: the same clicks as without it, whatever ends it."""

import asyncio
import os
import pickle
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from journeys.service import eventually
from people import new_person
from resources.clicks.intake.test_drain import CHROME, counted, new_link, visit
from sqlalchemy import select
from structlog.testing import capture_logs

from waypost.database import Database
from waypost.redirect import Spool
from waypost.resources.clicks.backends.sql.rebuild import rebuild
from waypost.resources.clicks.intake import enrichment_process
from waypost.resources.clicks.intake.drain import Drainer
from waypost.resources.clicks.intake.enrich import Work, enrich
from waypost.resources.clicks.intake.enrichment_process import EnrichmentProcess
from waypost.resources.clicks.intake.steps import IntakeSettings
from waypost.resources.clicks.model import clicks
from waypost.visitors import countries

SETTINGS = IntakeSettings((), "truncated", countries.open_countries(None).of, b"key")
LINK, ACCOUNT = b"1" * 32, b"a" * 16


@pytest.fixture
async def process(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[EnrichmentProcess]:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {0, 1})
    process = EnrichmentProcess(SETTINGS, None, backlog=2)
    yield process
    await process.close()


def work(count: int = 3, dialect: str | None = "sqlite") -> Work:
    line = b"\t".join([b"%032x", b"1763690000123456", LINK, b"", b"8.8.8.8", b"", b"", CHROME, *[b""] * 6])
    lines = [line % number for number in range(count)]
    return Work([*lines, b"damaged", b""], {LINK: ACCOUNT}, {}, 10, dialect)


async def started(process: EnrichmentProcess) -> int:
    """Start it with a backlog. Return its pid."""
    for _ in range(2):
        await process.enrich(work(), is_full=True)
    await asyncio.to_thread(eventually, process.is_ready)
    assert process.pid is not None
    return process.pid


@pytest.mark.parametrize("dialect", ["sqlite", "postgresql", None])
async def test_it_returns_what_the_worker_would_compute(process: EnrichmentProcess, dialect: str | None) -> None:
    await started(process)
    enriched = await process.enrich(work(50, dialect), is_full=True)
    assert process.is_ready()
    assert pickle.dumps(enriched) == pickle.dumps(pickle.loads(pickle.dumps(enrich(work(50, dialect), SETTINGS))))
    assert (len(enriched.clicks), enriched.damaged, enriched.clicks[0].country) == (50, 1, "US")


async def test_it_runs_during_a_backlog_only(process: EnrichmentProcess) -> None:
    await process.enrich(work(), is_full=True)
    await process.enrich(work(), is_full=False)
    await process.enrich(work(), is_full=True)
    assert process.pid is None
    pid = await started(process)
    await process.enrich(work(), is_full=False)
    assert process.pid is None
    assert not Path(f"/proc/{pid}").exists()


@pytest.mark.parametrize(("cores", "memory"), [({0}, 1 << 40), ({0, 1}, 1 << 29)])
async def test_a_small_machine_does_without_it(
    process: EnrichmentProcess, monkeypatch: pytest.MonkeyPatch, cores: set[int], memory: int
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: cores)
    monkeypatch.setattr(enrichment_process, "usable_memory", lambda: memory)
    for _ in range(3):
        assert len((await process.enrich(work(), is_full=True)).clicks) == 3
    assert process.pid is None


@pytest.mark.parametrize("is_waiting", [False, True])
async def test_the_worker_goes_on_without_it(process: EnrichmentProcess, *, is_waiting: bool) -> None:
    pid = await started(process)
    with capture_logs() as logs:
        if is_waiting:
            os.kill(pid, signal.SIGSTOP)
            answer = asyncio.create_task(process.enrich(work(), is_full=True))
            await asyncio.sleep(0)  # it has been asked, or finds it killed
        os.kill(pid, signal.SIGKILL)
        if not is_waiting:
            answer = asyncio.create_task(process.enrich(work(), is_full=True))
        assert len((await answer).clicks) == 3
    assert [(entry["event"], entry["status"]) for entry in logs] == [("enrichment process ended", -signal.SIGKILL)]
    assert len((await process.enrich(work(), is_full=True)).clicks) == 3
    assert process.pid is None


async def test_it_fails_to_start(process: EnrichmentProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with capture_logs() as logs:
        for _ in range(2):
            await process.enrich(work(), is_full=True)
        await asyncio.to_thread(eventually, lambda: not process.is_ready() and process.pid is None)
        assert len((await process.enrich(work(), is_full=True)).clicks) == 3
    assert [entry["event"] for entry in logs] == ["enrichment process ended"]


def test_it_ends_with_the_worker() -> None:
    program = """
import asyncio, os, signal
from resources.clicks.intake.test_enrichment_process import SETTINGS, EnrichmentProcess, work
async def main():
    process = EnrichmentProcess(SETTINGS, None, backlog=1)
    await process.enrich(work(), is_full=True)
    print(process.pid, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
os.sched_getaffinity = lambda _pid: {0, 1}
asyncio.run(main())
"""
    tests = Path(__file__).parents[3]
    done = subprocess.run([sys.executable, "-c", program], cwd=tests, capture_output=True, text=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    eventually(lambda: not _runs(int(done.stdout)))


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in {"Z", "X"}
    except FileNotFoundError:
        return False


async def test_a_backlog_is_drained_exactly_once(
    db: Database, process: EnrichmentProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the process, killed in the middle, and without it."""
    monkeypatch.setattr("waypost.resources.clicks.intake.drain._BATCH_BYTES", {"sqlite": 8_192, "postgresql": 8_192})
    link = await new_link(db, await new_person(db, "alice"))
    spool = Spool(tmp_path / "spool", limit=1 << 30)
    for number in range(400):
        spool.append(visit(link, peer=b"192.0.2.%d" % (number % 250), user_agent=CHROME))
    drainer, steps = Drainer(db, tmp_path / "spool", SETTINGS, process=process), 0
    while await drainer.step():
        steps += 1
        if steps == 2:
            await asyncio.to_thread(eventually, process.is_ready)
        if steps == 6:
            assert process.pid is not None
            os.kill(process.pid, signal.SIGKILL)
    await drainer.close()
    spool.close()
    assert steps > 8
    assert await counted(db, link) == (400, 400)
    assert [row.country for row in await _rows(db)] == [""] * 400
    done = await rebuild(db)
    assert (done.corrected, done.links) == (0, 0)


async def _rows(db: Database) -> Sequence[Any]:
    async with db.read() as tx:
        return (await tx.execute(select(clicks.c.country))).all()
