"""docs/guides/move: their commands, as they are printed, on scripted servers."""

import json
import re
import shlex
import subprocess
import threading
from datetime import UTC, datetime
from pathlib import Path

import pytest
from architecture.code import ROOT
from forked import WAYPOST
from people import new_person
from resources.domains.certificates.conftest import domain
from resources.imports.servers.bitly import USED_UP, Bitly, bitlink
from resources.imports.servers.every import SERVICES, TOKENS
from resources.imports.servers.scripted import Request, ScriptedService
from resources.imports.sources.test_yourls import DUMP
from sqlalchemy import insert, select
from test_cli import Waypost

from waypost.database import Database
from waypost.resources.domains.model import domains
from waypost.resources.links.model import links

OPEN = {"WAYPOST_OUTBOUND_ALLOW": "127.0.0.2/32"}


MOVE = ROOT / "docs" / "guides" / "move"


@pytest.fixture
async def waypost(tmp_path: Path, sqlite_template: Path) -> Waypost:
    """With the account and the domain of the guides, and the token in every file that they name."""
    (tmp_path / "data").mkdir(mode=0o700)
    (tmp_path / "data" / "waypost.db").write_bytes(sqlite_template.read_bytes())
    db = _database(tmp_path)
    you = await new_person(db, "you")
    async with db.write() as tx:
        row = domain("go.brand.com", datetime(2030, 1, 1, tzinfo=UTC))
        await tx.execute(insert(domains), row | {"account_id": you.account_id})
    await db.close()
    for name, token in TOKENS.items():
        (tmp_path / f"{name}.token").write_text(f"{token}\n")
    return Waypost(tmp_path)


def _database(directory: Path) -> Database:
    return Database(f"sqlite:///{directory / 'data' / 'waypost.db'}")


def test_every_guide_is_tried() -> None:
    assert {page.stem for page in MOVE.glob("*.md")} == {"index", "csv", *SERVICES}


def _commands(name: str) -> list[list[str]]:
    printed = re.findall(r"^ *waypost (import .*)$", (MOVE / f"{name}.md").read_text(), re.MULTILINE)
    return [shlex.split(command) for command in printed]


def _at(url: str, command: list[str]) -> list[str]:
    """Return the command with this URL in place of the printed one, or of the vendor's."""
    before, _, after = " ".join(command).partition("--url ")
    return [*before.split(), "--url", url, *after.split()[1:]]


@pytest.mark.parametrize("name", SERVICES)
async def test_the_commands_of_a_guide_work(name: str, waypost: Waypost) -> None:
    dry_run, run, *_ = _commands(name)
    with SERVICES[name]().running() as url:
        planned, done = (waypost.json(*_at(url, command), **OPEN) for command in (dry_run, run))
    assert planned == done
    count = len(await _slugs(waypost))
    assert done["links"] == {"found": count, "created": count, "updated": 0, "unchanged": 0, "refused": 0}
    assert [warning for warning in done["warnings"] if "go.brand.com" in warning] == []
    assert done["clicks"] == (10 if name == "dub" else 0)


async def test_the_example_of_a_csv_file_works(waypost: Waypost) -> None:
    [example] = re.findall(r"^```csv\n(.*?)^```", (MOVE / "csv.md").read_text(), re.MULTILINE | re.DOTALL)
    (waypost.directory / "links.csv").write_text(example)
    dry_run, run = _commands("csv")
    planned, done = waypost.json(*dry_run), waypost.json(*run)
    assert planned == done
    assert (done["links"]["created"], done["warnings"]) == (3, [])
    assert {"sale", "jobs"} < await _slugs(waypost)


async def test_the_command_for_a_dump_works(waypost: Waypost) -> None:
    *_, run = _commands("yourls")
    (waypost.directory / "yourls.sql").write_text(DUMP)
    assert waypost.json(*run)["links"]["created"] == len(await _slugs(waypost)) == 2


async def _slugs(waypost: Waypost) -> set[str]:
    db = _database(waypost.directory)
    async with db.read() as tx:
        found = list(await tx.scalars(select(links.c.slug)))
    await db.close()
    assert len(found) == len(set(found))
    return set(found)


def _killed_at(number: int, service: ScriptedService, command: list[str], waypost: Waypost) -> None:
    """Run the command, and kill it while it waits for this answer."""
    environment = waypost.environment | OPEN
    asked = threading.Event()
    answered = threading.Event()
    service.requests.clear()

    def hold(_: Request) -> None:
        if len(service.requests) == number:
            asked.set()
            answered.wait(60)

    service.before = hold
    process = subprocess.Popen([WAYPOST, *command], cwd=waypost.directory, env=environment, stderr=subprocess.DEVNULL)
    assert asked.wait(60)
    process.kill()
    process.wait()
    answered.set()


async def test_an_import_that_is_killed_continues(waypost: Waypost) -> None:
    service = SERVICES["rebrandly"]()
    with service.running() as url:
        command = ["import", "rebrandly", "--account", "you@example.com", "--token-file", "rebrandly.token"]
        command += ["--domain", "go.brand.com=go.brand.com", "--url", url, "--json"]
        _killed_at(4, service, command, waypost)
        first = await _slugs(waypost)
        assert len(first) == 25
        service.before = lambda _: None
        service.requests.clear()
        report, again = (json.loads(waypost(*command, **OPEN).stdout) for _ in range(2))
    assert report["links"] == {"found": 60, "created": 60, "updated": 0, "unchanged": 0, "refused": 0}
    assert again["links"] == {"found": 60, "created": 0, "updated": 0, "unchanged": 60, "refused": 0}
    assert await _slugs(waypost) == {f"page{number}" for number in range(60)}
    pages = [request.query.get("last") for request in service.requests if "limit" in request.query]
    assert f"{35:032x}" in pages


def test_a_wrong_token_is_one_sentence(waypost: Waypost) -> None:
    (waypost.directory / "bitly.token").write_text("wrong")
    _, run, *_ = _commands("bitly")
    with SERVICES["bitly"]().running() as url:
        failed = waypost(*_at(url, run), code=1, **OPEN)
    [said] = [line for line in failed.stderr.splitlines() if "not public" not in line]
    assert said == "127.0.0.2 refuses the token (403). Check that it may read links, and its workspace."
    assert (failed.stdout, "refuses the token (403)" in (MOVE / "bitly.md").read_text()) == ("", True)


async def test_an_import_continues_when_the_quota_is_there_again(waypost: Waypost) -> None:
    service = Bitly(*map(bitlink, range(150)))
    _, run, *_ = _commands("bitly")
    with service.running() as url:
        service.faults.extend([lambda answer: answer] * 2 + [USED_UP])
        stopped = waypost(*_at(url, run), code=1, **OPEN)
        assert "The quota of 127.0.0.2 is used up. Start the import again later: it continues." in stopped.stderr
        assert len(await _slugs(waypost)) == 100
        service.requests.clear()
        report = waypost.json(*_at(url, run), **OPEN)
    assert report["links"]["created"] == len(await _slugs(waypost)) == 150
    assert [request.query.get("search_after") for request in service.requests] == [None, "after_100"]
