"""`waypost spool drain`: the visits of a node that will not come back, each counted once."""

import functools
import os
import shutil
import signal
from pathlib import Path
from uuid import UUID

import forked
import pytest
from people import new_person
from resources.clicks.intake.test_drain import SETTINGS, counted, drain, new_link, visit
from test_cli import Waypost

from waypost.commands import spool_drain
from waypost.commands.spool_drain import find_spool
from waypost.database import Database
from waypost.kit.errors import Invalid
from waypost.redirect import Spool
from waypost.redirect.segment import HEADER
from waypost.redirect.spool import segments
from waypost.resources.clicks.intake.drain import Drainer
from waypost.settings import Settings

MORTAL = Path(__file__).parent / "worker" / "apps" / "mortal_spool_drain.py"


@pytest.fixture
async def link(db: Database) -> UUID:
    return await new_link(db, await new_person(db, "alice"))


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data_dir=tmp_path / "own", secret_key="a key")


def leave(directory: Path, link: UUID, count: int) -> Path:
    """The spool of a node that has died: a segment with visits."""
    spool = Spool(directory / "spool", limit=1 << 30)
    spool.append(b"".join(visit(link) for _ in range(count)))
    spool.close()
    return directory / "spool"


async def test_drains_what_a_node_has_left(db: Database, tmp_path: Path, link: UUID, settings: Settings) -> None:
    lost = leave(tmp_path / "lost", link, 3)
    copy = shutil.copytree(lost, tmp_path / "copy")
    assert find_spool(tmp_path / "lost") == lost
    done = await spool_drain.drain(settings, db, lost)
    assert (done.visits, done.segments, done.problems, segments(lost)) == (3, 1, [], [])
    again = await spool_drain.drain(settings, db, copy)
    assert (again.visits, again.segments, segments(copy)) == (0, 1, [])
    assert await counted(db, link) == (3, 3)


async def test_continues_where_the_node_stopped(db: Database, tmp_path: Path, link: UUID, settings: Settings) -> None:
    spool = Spool(tmp_path / "spool", limit=1 << 30)
    spool.append(visit(link) + visit(link))
    await drain(Drainer(db, tmp_path / "spool", SETTINGS))
    spool.append(visit(link))
    spool.close()
    assert (await spool_drain.drain(settings, db, tmp_path / "spool")).visits == 1
    assert await counted(db, link) == (3, 3)


async def test_leaves_segments_of_a_running_node(db: Database, tmp_path: Path, link: UUID, settings: Settings) -> None:
    running = Spool(tmp_path / "spool", limit=1 << 30)
    running.append(visit(link))
    done = await spool_drain.drain(settings, db, tmp_path / "spool")
    assert (done.visits, done.segments) == (1, 0)
    assert "is still being written" in done.problems[0]
    running.append(visit(link))
    own = Drainer(db, tmp_path / "spool", SETTINGS)  # the node's worker
    await drain(own)
    running.close()
    done = await spool_drain.drain(settings, db, tmp_path / "spool")
    assert (done.visits, done.segments, done.problems) == (0, 1, [])
    assert await counted(db, link) == (2, 2)


async def test_leaves_segments_of_an_unknown_format(
    db: Database, tmp_path: Path, link: UUID, settings: Settings
) -> None:
    lost = leave(tmp_path, link, 1)
    newer = lost / "01a1fbb2-2855-72ee-8e77-c161c4205e89.visits"
    newer.write_bytes(b"waypost-spool 9\n")
    done = await spool_drain.drain(settings, db, lost)
    assert (done.visits, done.segments, segments(lost)) == (1, 1, [newer])
    assert "unknown format" in done.problems[0]


@pytest.mark.parametrize(("point", "number"), [("in the transaction", 3), ("after commit", 1)])
async def test_a_killed_command_is_run_again(
    db: Database, database_url: str, tmp_path: Path, link: UUID, point: str, number: int
) -> None:
    lost = leave(tmp_path, link, 60)
    run = functools.partial(forked.run, program=MORTAL)
    killed = run([database_url, str(lost), point, str(number)])
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    before = (await counted(db, link))[0]
    assert before < 60
    done = run([database_url, str(lost), "", "0"])
    assert int(done.stdout) == 60 - before
    assert await counted(db, link) == (60, 60)
    assert segments(lost) == []


def test_refuses_what_is_not_a_spool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "notes.txt").touch()
    for directory, message in ((tmp_path / "none", "is not a directory"), (other, "is not a spool")):
        with pytest.raises(Invalid) as caught:
            find_spool(directory)
        assert message in str(caught.value.errors)
    segment = other / "a.visits"
    segment.write_bytes(HEADER)
    monkeypatch.setattr(os, "access", lambda path, _mode: path != segment)
    with pytest.raises(Invalid) as caught:
        find_spool(other)
    assert "a.visits cannot be read and written" in str(caught.value.errors)


def test_says_what_is_wrong_and_what_was_done(tmp_path: Path, sqlite_template: Path) -> None:
    (tmp_path / "data" / "spool").mkdir(mode=0o700, parents=True)
    (tmp_path / "data" / "waypost.db").write_bytes(sqlite_template.read_bytes())
    waypost = Waypost(tmp_path)
    assert "WAYPOST_SECRET_KEY is not set" in waypost("spool", "drain", "data", code=1).stderr
    (tmp_path / "data" / "secret.key").write_text("k" * 40)
    assert waypost("spool", "drain", "data").stderr == "0 visits drained, 0 segments removed.\n"
    (tmp_path / "data" / "spool" / "a.visits").write_bytes(b"waypost-spool 9\n")
    assert "a.visits has an unknown format" in waypost("spool", "drain", "data", code=1).stderr
    assert "nowhere is not a directory" in waypost("spool", "drain", "nowhere", code=2).stderr
