"""`kill -9` during an import: run again, it continues, and nothing is doubled or missing."""

import os
import signal
import sqlite3
import sys
import time
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import forked
from accounts.archived import exported, furnish, rows
from browsing import Browser, WebApp
from people import new_person
from resources.imports.test_pages import ada, count_links, place, text_of, work_off
from sqlalchemy import select
from test_cli import Waypost, waypost

from waypost.resources.clicks.backends.sql.rebuild import check
from waypost.resources.imports.model import imports

__all__ = ["ada", "place", "waypost"]

KILLED_TURNS = Path(__file__).with_name("killed_turns.py")
ROWS = 4_000


def test_continues_after_kill(waypost: Waypost, tmp_path: Path) -> None:
    waypost("account", "create", "alice@example.com", "--plan", "lifetime")
    rows = "".join(f"https://example.com/{number},old.example/k{number}\n" for number in range(ROWS))
    file = tmp_path / "links.csv"
    file.write_text(f"Destination URL,Short link\n{rows}")
    arguments = ["import", "csv", "--account", "alice@example.com", "--file", str(file), "--json"]
    database = tmp_path / "data" / "waypost.db-wal"
    for size in (800_000, 1_600_000):
        killed = forked.Serving(arguments, cwd=waypost.directory, env=waypost.environment)
        while killed.poll() is None and not (database.exists() and database.stat().st_size > size):
            time.sleep(0.01)
        os.kill(killed.pid, signal.SIGKILL)
        with killed.stdout:
            killed.wait()
        with closing(sqlite3.connect(tmp_path / "data" / "waypost.db")) as rows_:
            assert 0 < rows_.execute("SELECT count(*) FROM links").fetchone()[0] < ROWS
    report = waypost.json(*arguments[:-1])
    assert report["links"] == {"found": ROWS, "created": ROWS, "updated": 0, "unchanged": 0, "refused": 0}
    again = waypost.json(*arguments[:-1])
    assert again["links"] == {"found": ROWS, "created": 0, "updated": 0, "unchanged": ROWS, "refused": 0}


def _kill_at(place: WebApp, function: str, number: int) -> None:
    """Run the worker in a process, and kill it in the call. The leases of the one before have expired."""
    place.clock.move(timedelta(minutes=2))
    data_dir, now = str(place.settings.data_dir), place.clock().isoformat()
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    arguments = [place.settings.database, data_dir, now, function, str(number)]
    process = forked.Serving(arguments, cwd=Path(), env=environment, program=KILLED_TURNS)
    with process.stdout:
        assert process.stdout.readline() == "stopped\n"
        os.kill(process.pid, signal.SIGKILL)
        process.wait()


async def test_an_archive_continues_after_kills_in_each_phase(place: WebApp, ada: Browser, tmp_path: Path) -> None:
    await furnish(place.db, tmp_path / "old", await new_person(place.db, "Carl"))
    archive = await exported(place.db, tmp_path / "old", "carl@example.com")
    before = await count_links(place)
    answer = await ada.post("/links/import/waypost", {}, files={"file": ("a.zip", archive, "application/zip")})
    path = answer.headers["location"]
    _kill_at(place, "waypost.resources.imports.store.save_plan", 2)  # in the plan
    place.clock.move(timedelta(minutes=2))
    await work_off(place)
    assert "To create 6" in await text_of(ada, path)
    await ada.post(f"{path}/start", {"ok": "1"})
    for page, phase in ((3, "aliases.ndjson"), (15, "clicks.ndjson")):  # a third one would stop it
        _kill_at(place, "waypost.resources.imports.store.save_progress", page)
        async with place.db.read() as tx:
            assert (await tx.execute(select(imports.c.cursor))).scalar_one()["phase"] == phase
    place.clock.move(timedelta(minutes=2))
    await work_off(place)
    assert "The import is done." in await text_of(ada, path)
    assert await count_links(place) - before == 6 + 1  # one was deleted
    moved = rows(await exported(place.db, tmp_path, "ada@example.com"))
    assert len(moved["clicks.ndjson"]) == len(rows(archive)["clicks.ndjson"]) > 200
    assert [difference async for difference in check(place.db)] == []
