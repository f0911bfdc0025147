"""Turns of imports in processes of their own: what the worker learns from them, and that it survives them."""

import asyncio
import os
import signal
import sys
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from uuid import UUID

import pytest
from browsing import Browser, WebApp
from resources.imports.test_pages import ada, place, row, start_csv, text_of

from bench.attacks.inflation import UPLOADS
from waypost.kit.ids import new_id
from waypost.resources.imports import store
from waypost.resources.imports.model import TURN_JOB, Import
from waypost.resources.imports.requests import processes, turn, turns
from waypost.resources.imports.requests.outcome import FAILED, MAX_FAILURES
from waypost.resources.imports.requests.processes import TurnProcesses
from waypost.resources.imports.requests.uploads import new_uploads
from waypost.worker.jobs import LONG, MAX_DEATHS, JobRunner, ProcessDied
from waypost.worker.loop import WorkerLoop

__all__ = ["ada", "place"]

APPS = "resources.imports.apps"


@pytest.fixture
def environment(place: WebApp, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the worker's processes find their settings in."""
    for name in ("base_url", "database_url", "data_dir", "shared_domain"):
        monkeypatch.setenv(f"WAYPOST_{name.upper()}", str(getattr(place.settings, name)))
    monkeypatch.setenv("WAYPOST_OUTBOUND_ALLOW", "127.0.0.0/8")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))


async def import_of(place: WebApp) -> Import:
    async with place.db.read() as tx:
        request = await store.find(tx, (await row(place)).id)
    assert request
    return request


@pytest.mark.usefixtures("environment")
async def test_a_turn_runs_in_a_process_of_its_own(place: WebApp, ada: Browser) -> None:
    path = await start_csv(ada)
    handler = turns.Turns(
        place.db, new_uploads(place.db, place.settings.data_dir), place.clock, TurnProcesses("waypost.app").run
    )
    loop = WorkerLoop(place.db, JobRunner(replace(LONG, poll_interval=0), {TURN_JOB: handler}, clock=place.clock))
    while await loop.step():
        pass
    assert "Plan Links found 1 To create 1" in await text_of(ada, path)
    await ada.post(f"{path}/start", {"ok": "1"})
    while await loop.step():
        pass
    assert "The import is done." in await text_of(ada, path)


@pytest.mark.usefixtures("environment")
async def test_what_needs_too_much_memory_stops_with_a_message(place: WebApp, ada: Browser) -> None:
    content = UPLOADS["links with as many values as allowed"].content()
    await ada.post("/links/import/waypost", {}, files={"file": ("a.zip", content, "application/zip")})
    outcome = await TurnProcesses(f"{APPS}.greedy").run(await import_of(place))
    assert (outcome.state, outcome.message) == ("plan_stopped", turn.NO_MEMORY)


@pytest.mark.usefixtures("environment")
async def test_an_import_waits_while_the_blocklist_cannot_be_read(
    place: WebApp, ada: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await start_csv(ada)
    monkeypatch.setenv("WAYPOST_BLOCKLIST", str(tmp_path / "blocklist"))
    turns_of_app = TurnProcesses("waypost.app")
    outcome = await turns_of_app.run(await import_of(place))
    assert (outcome.state, outcome.failures) == ("planning", 1)
    assert "the administrator's blocklist cannot be read" in str(outcome.message)
    assert outcome.delay >= timedelta(seconds=5)
    (tmp_path / "blocklist").write_text("bad.example\n")
    assert (await turns_of_app.run(await import_of(place))).state == "planned"


@pytest.mark.usefixtures("environment")
async def test_other_settings_that_cannot_be_used_have_nothing_to_do_with_memory(
    place: WebApp, ada: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await start_csv(ada)
    monkeypatch.setenv("WAYPOST_OUTBOUND_CA_FILE", str(tmp_path / "missing.pem"))
    request = await import_of(place)
    outcome = await TurnProcesses("waypost.app").run(request)
    assert (outcome.state, outcome.message) == ("planning", f"Waiting: {FAILED}")
    outcome = await TurnProcesses("waypost.app").run(replace(request, failures=MAX_FAILURES - 1))
    assert (outcome.state, outcome.message) == (
        "plan_stopped",
        f"{FAILED} Tried {MAX_FAILURES} times. Continue to try again.",
    )


@pytest.mark.usefixtures("environment")
async def test_an_import_whose_process_dies_three_times_stays_stopped(place: WebApp, ada: Browser) -> None:
    path = await start_csv(ada)
    uploads, deadly = new_uploads(place.db, place.settings.data_dir), TurnProcesses(f"{APPS}.killed")
    with pytest.raises(ProcessDied, match="-9"):
        await deadly.run(await import_of(place))
    runs = 0

    async def run(request: Import) -> turns.Outcome:
        nonlocal runs
        runs += 1
        return await deadly.run(request)

    async def stop(tx: turns.Tx, job: turns.Job) -> None:
        await turns.stop(tx, job, place.clock)

    handler = turns.Turns(place.db, uploads, place.clock, run)
    loop = WorkerLoop(
        place.db,
        JobRunner(replace(LONG, poll_interval=0), {TURN_JOB: handler}, clock=place.clock, stops={TURN_JOB: stop}),
    )
    for _ in range(MAX_DEATHS + 2):
        while await loop.step():
            pass
        place.clock.move(LONG.lease + timedelta(minutes=5))
    assert runs == MAX_DEATHS
    assert "The process that reads it has died 3 times" in await text_of(ada, path)
    assert (await row(place)).state == "plan_stopped"


async def started(place: WebApp, import_id: UUID) -> int:
    """Return the process of the turn, once it runs."""
    file = Path(place.settings.data_dir / f"{import_id}.started")
    while not file.exists() or not file.read_text():
        await asyncio.sleep(0.01)
    return int(file.read_text())


@pytest.mark.usefixtures("environment")
async def test_a_turn_ends_for_one_that_waits_and_the_others_go_on(place: WebApp, ada: Browser) -> None:
    await start_csv(ada)
    request, waiting = await import_of(place), TurnProcesses(f"{APPS}.waiting")
    requests = [replace(request, id=new_id()) for _ in range(processes.PLACES + 1)]
    running = []
    for each in requests[:-1]:
        running.append(asyncio.create_task(waiting.run(each)))
        await started(place, each.id)
    last = asyncio.create_task(waiting.run(requests[-1]))
    outcome = await running[0]
    assert outcome.message == "it was asked to end"
    await started(place, requests[-1].id)
    assert not any(task.done() for task in (*running[1:], last))
    pids = [await started(place, each.id) for each in requests[1:]]
    for task in (*running[1:], last):
        task.cancel()
    await asyncio.gather(*running[1:], last, return_exceptions=True)
    assert not any(Path(f"/proc/{pid}").exists() for pid in pids)


@pytest.mark.usefixtures("environment")
async def test_the_process_of_a_turn_ends_with_the_worker(place: WebApp, ada: Browser) -> None:
    await start_csv(ada)
    import_id = new_id()
    code = (
        "import asyncio, sys; from types import SimpleNamespace; from uuid import UUID;"
        "from waypost.resources.imports.requests.processes import TurnProcesses;"
        f"asyncio.run(TurnProcesses('{APPS}.waiting').run("
        f"SimpleNamespace(id=UUID('{import_id}'), state='planning', message=None, failures=0)))"
    )
    worker = await asyncio.create_subprocess_exec(sys.executable, "-c", code)
    pid = await started(place, import_id)
    ended = os.pidfd_open(pid)
    worker.send_signal(signal.SIGKILL)
    await worker.wait()
    loop, readable = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(ended, readable.set)
    await readable.wait()
    loop.remove_reader(ended)
    os.close(ended)
