"""Commands for clicks and statistics, as an operator or a script runs them."""

import csv
import json
import os
import pty
import subprocess
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from forked import WAYPOST, alone
from people import START, new_person
from resources.clicks.visited import fill, new_click, new_link
from resources.links.added import add_links
from test_cli import Waypost

from waypost.database import Database
from waypost.resources.clicks.backends.clickhouse.schema import newest
from waypost.resources.clicks.model import click_totals

HEADER = "id,link_id,ip,country,visitor_id,referrer,device,browser,platform,created_at,is_scan,kind,bot,short_url"


@pytest.fixture
def waypost(tmp_path: Path, sqlite_template: Path) -> Waypost:
    (tmp_path / "data").mkdir(mode=0o700)
    (tmp_path / "data" / "waypost.db").write_bytes(sqlite_template.read_bytes())
    waypost = Waypost(tmp_path)
    waypost.environment["WAYPOST_BASE_URL"] = "http://localhost:8000"
    return waypost


@pytest.fixture
async def link(waypost: Waypost) -> UUID:
    """Alice's, with two clicks of people and one of a bot."""
    db = Database(f"sqlite:///{waypost.directory / 'data' / 'waypost.db'}")
    alice = await new_person(db, "alice")
    await new_person(db, "bob")
    made = new_link(alice.account_id, slug="spring")
    async with db.write() as tx:
        await add_links(tx, [made])
    await fill(db, [new_click(made, visitor_id=1), new_click(made, visitor_id=2), new_click(made, kind="crawler")])
    await db.close()
    return made.id


def test_exports_and_rebuilds(waypost: Waypost, link: UUID) -> None:
    done = waypost("export", "clicks", "--account", "alice@example.com", by=alone)
    header, *rows = csv.reader(done.stdout.splitlines())
    assert ",".join(header) == HEADER
    assert [(row[1], row[-1]) for row in rows] == [(str(link), "localhost:8000/spring")] * 2
    assert done.stderr == "2 clicks exported.\n"
    rebuilt = waypost("stats", "rebuild", by=alone)
    assert rebuilt.stderr == "1 days recounted: 1 corrections, 0 link counters set.\n"
    assert waypost("stats", "rebuild").stderr == "1 days recounted: all statistics were correct.\n"


def test_filters_clicks(waypost: Waypost, link: UUID) -> None:
    def kinds(*options: str) -> list[str]:
        lines = waypost("export", "clicks", "--format", "ndjson", *options).stdout.splitlines()
        return [json.loads(line)["kind"] for line in lines]

    assert kinds("--link", str(link), "--kind", "all") == ["human", "human", "crawler"]
    assert kinds("--kind", "crawler") == ["crawler"]
    assert kinds("--account", "bob@example.com") == []
    assert kinds("--from", "2030-01-01T13:00:00+01:00", "--to", "2030-01-01T12:00:00.000001Z") == ["human", "human"]
    assert kinds("--to", "2030-01-01T12:00:00Z") == []


def test_writes_a_complete_file_or_none(waypost: Waypost, link: UUID) -> None:
    before = {*waypost.directory.iterdir()}
    done = waypost("export", "clicks", "--output", "clicks.csv")
    assert (done.stdout, done.stderr) == ("", "2 clicks exported.\n")
    file = waypost.directory / "clicks.csv"
    assert file.read_bytes().count(b"\r\n") == 3
    assert file.stat().st_mode & 0o777 == 0o600  # it has visitors' addresses
    assert "already exists" in waypost("export", "clicks", "--output", "clicks.csv", "--kind", "all", code=1).stderr
    assert file.read_bytes().count(b"\r\n") == 3
    assert {*waypost.directory.iterdir()} - before == {file}
    assert "No such file" in waypost("export", "clicks", "--output", "no/where.csv", code=1).stderr


def test_a_closed_pipe_is_no_error(waypost: Waypost, link: UUID) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    command = [WAYPOST, "export", "clicks"]
    done = subprocess.run(
        command, stdout=writing, stderr=subprocess.PIPE, cwd=waypost.directory, env=waypost.environment, check=False
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["--account", "nobody@example.com"], 1, "no account nobody@example.com"),
        (["--account", ""], 2, "must be an email address"),
        (["--link", "spring"], 1, "There is no link with the ID spring"),
        (["--link", "01a1fbb2-2855-72ee-8e77-c161c4205e89"], 1, "There is no link with the ID 01a1fbb2"),
        (["--from", "yesterday"], 2, "--from: yesterday is not a time"),
        (["--from", "2030-01-02", "--to", "2030-01-02"], 2, "--from: This must be earlier than --to."),
        (["--kind", "robot"], 2, "robot"),
        (["--format", "xml"], 2, "xml"),
    ],
)
def test_reports_wrong_options(waypost: Waypost, link: UUID, options: list[str], code: int, message: str) -> None:
    done = waypost("export", "clicks", *options, code=code)
    assert message in done.stderr
    assert done.stdout == ""


def test_another_account_s_link_is_not_found(waypost: Waypost, link: UUID) -> None:
    done = waypost("export", "clicks", "--account", "bob@example.com", "--link", str(link), code=1)
    assert f"There is no link with the ID {link} in this account" in done.stderr


async def test_rebuilds_from_a_day_on(waypost: Waypost, link: UUID) -> None:
    assert waypost("stats", "rebuild", "--from", "2030-01-02").stderr.startswith("0 days")
    assert waypost("stats", "rebuild", "--from", START.date().isoformat()).stderr.startswith("1 days")
    assert "--from: soon" in waypost("stats", "rebuild", "--from", "soon", code=2).stderr
    db = Database(f"sqlite:///{waypost.directory / 'data' / 'waypost.db'}")
    async with db.read() as tx:
        assert {row.visitors for row in await tx.execute(click_totals.select())} == {2}
    await db.close()


def test_shows_progress_on_a_terminal(waypost: Waypost, link: UUID, tmp_path: Path) -> None:
    screen, terminal = pty.openpty()
    command = [WAYPOST, "export", "clicks", "--output", "clicks.csv"]
    environment = waypost.environment | {"TERM": "xterm"}
    subprocess.run(command, stderr=terminal, cwd=waypost.directory, env=environment, check=True)
    os.close(terminal)
    seen = os.read(screen, 1 << 16)
    os.close(screen)
    assert b"Exporting clicks" in seen
    assert b"2/2" in seen


def test_checks_statistics(waypost: Waypost, link: UUID) -> None:
    found = waypost("stats", "check", code=1)
    assert found.stdout == (
        f"{START.date()}: statistics differ from the clicks. Run: waypost stats rebuild --from {START.date()}\n"
    )
    assert found.stderr == "1 differences.\n"
    waypost("stats", "rebuild")
    assert waypost("stats", "check").stderr == "Statistics, counters and clicks agree.\n"


async def test_moves_to_clickhouse(tmp_path: Path, postgres_url: str, clickhouse: Any) -> None:
    waypost = Waypost(tmp_path)
    settings = {"WAYPOST_DATABASE_URL": postgres_url, "WAYPOST_CLICKHOUSE_URL": clickhouse.url}
    db = Database(postgres_url)
    alice = await new_person(db, "alice")
    made = new_link(alice.account_id, slug="spring")
    async with db.write() as tx:
        await add_links(tx, [made])
    await fill(db, [new_click(made, visitor_id=1), new_click(made, visitor_id=2), new_click(made, kind="crawler")])
    before = waypost("export", "clicks", WAYPOST_DATABASE_URL=postgres_url).stdout
    await db.close()

    move = ("clicks", "move", "--to", "clickhouse")
    without = waypost(*move, code=2, WAYPOST_DATABASE_URL=postgres_url)
    assert without.stderr == "--to: Set WAYPOST_CLICKHOUSE_URL to the clickhouse server for this command.\n"
    assert waypost(*move, code=1, **settings).stderr.endswith("Run: waypost migrate\n")
    waypost("migrate", **settings)
    assert waypost(*move, **settings).stderr == "All days are in ClickHouse.\n"
    assert waypost("export", "clicks", **settings).stdout == before
    assert waypost("stats", "check", **settings).stderr == "Statistics, counters and clicks agree.\n"
    assert waypost("stats", "rebuild", **settings).stderr == "1 days recounted: all statistics were correct.\n"
    clickhouse.sql("DELETE FROM click_counts WHERE true")
    checked = waypost("stats", "check", code=1, **settings)
    assert "statistics differ from the clicks" in checked.stdout
    assert "1 links: their counters differ from the statistics" in checked.stdout
    rebuilt = waypost("stats", "rebuild", **settings)
    assert rebuilt.stderr == "1 days recounted: 1 corrections, 0 link counters set.\n"
    assert "back up its database with BACKUP" in waypost("backup", str(tmp_path / "a.tar"), **settings).stderr

    for version, compatible_since, code in ((998, newest(), 0), (999, 999, 1)):
        clickhouse.sql(f"INSERT INTO schema_version (version, compatible_since) VALUES ({version}, {compatible_since})")
        migrated = waypost("migrate", code=code, **settings).stderr
        assert (f"in ClickHouse is {version} of a newer version, and works with this one" in migrated) == (code == 0)
