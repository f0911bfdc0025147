"""The backup: one archive that an empty directory becomes the service again from (R27)."""

import sqlite3
import subprocess
import tarfile
import threading
from contextlib import closing
from datetime import UTC, datetime
from ipaddress import ip_network
from pathlib import Path

import pytest

from waypost.commands.backup import BackupFailed, write_backup
from waypost.database import Database
from waypost.redirect.segment import HEADER
from waypost.redirect.spool import Visit, decode, encode, read_lines
from waypost.resources.clicks.intake.build import IntakeSettings, build_click
from waypost.secret_key import with_secret_key
from waypost.settings import Settings
from waypost.worker import jobs
from waypost.worker.jobs import jobs as table

NOW = datetime(2026, 11, 20, tzinfo=UTC)


@pytest.fixture
def settings(tmp_path: Path, sqlite_template: Path) -> Settings:
    settings = Settings(data_dir=tmp_path / "50% of #1")  # SQLite is given the path as a URI
    with_secret_key(settings)
    (settings.data_dir / "waypost.db").write_bytes(sqlite_template.read_bytes())
    for place in ("media/ab/image.png", "spool/1.visits"):
        path = settings.data_dir / place
        path.parent.mkdir(parents=True)
        path.write_bytes(place.encode() * 1000)
    return settings


def restored(archive: Path, directory: Path) -> Settings:
    directory.mkdir()
    subprocess.run(["tar", "-xf", archive, "-C", directory], check=True)
    return Settings(data_dir=directory)


@pytest.mark.parametrize("name", ["backup.tar", "backup.tar.gz"])
async def test_a_backup_restores_the_service(settings: Settings, tmp_path: Path, name: str) -> None:
    live = Database(settings.database)
    async with live.write() as tx:
        job = await jobs.enqueue(tx, jobs.JobKind("links.check"), {"n": 1}, now=NOW)
    write_backup(settings, tmp_path / name)  # while the service has the database open
    fresh = restored(tmp_path / name, tmp_path / "fresh")
    again = Database(fresh.database)
    async with again.read() as tx:
        assert [row.id for row in await tx.execute(table.select())] == [job]
        assert (await tx.exec_driver_sql("PRAGMA integrity_check")).scalar_one() == "ok"
    for place in ("media/ab/image.png", "spool/1.visits", "secret.key"):
        assert (fresh.data_dir / place).read_bytes() == (settings.data_dir / place).read_bytes()
    assert (fresh.data_dir / "secret.key").stat().st_mode & 0o777 == 0o600
    await again.close()
    await live.close()


def test_only_the_owner_can_read_the_archive(settings: Settings, tmp_path: Path) -> None:
    before = set(tmp_path.iterdir())
    write_backup(settings, tmp_path / "backup.tar")
    assert (tmp_path / "backup.tar").stat().st_mode & 0o777 == 0o600
    assert set(tmp_path.iterdir()) - before == {tmp_path / "backup.tar"}


def test_refuses_to_overwrite_a_file(settings: Settings, tmp_path: Path) -> None:
    (tmp_path / "backup.tar").write_text("precious")
    with pytest.raises(BackupFailed, match="already exists"):
        write_backup(settings, tmp_path / "backup.tar")
    assert (tmp_path / "backup.tar").read_text() == "precious"


def test_a_failure_leaves_no_file(settings: Settings, tmp_path: Path) -> None:
    (settings.data_dir / "waypost.db").write_bytes(b"not a database" * 1000)
    before = set(tmp_path.iterdir())
    with pytest.raises(BackupFailed, match="not a database"):
        write_backup(settings, tmp_path / "backup.tar")
    assert set(tmp_path.iterdir()) == before


def test_every_click_is_in_exactly_one_place(settings: Settings, tmp_path: Path) -> None:
    """A drainer of the true protocol runs all the while: commit clicks and position, then delete the segment."""
    database, spool = settings.data_dir / "waypost.db", settings.data_dir / "spool"
    (spool / "1.visits").unlink()
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("CREATE TABLE drained (click INTEGER PRIMARY KEY)")
    stop, spooled = threading.Event(), []

    def visit_and_drain() -> None:
        with closing(sqlite3.connect(database, isolation_level=None, timeout=60)) as connection:
            while not stop.is_set():
                click = len(spooled) + 1
                (spool / f"{click}.new").write_text(str(click))
                (spool / f"{click}.new").rename(spool / f"{click}.visits")
                spooled.append(click)
                if click > 3:  # three clicks always wait
                    connection.execute("INSERT INTO drained VALUES (?)", [click - 3])
                    (spool / f"{click - 3}.visits").unlink()

    thread = threading.Thread(target=visit_and_drain)
    thread.start()
    answered = []
    for n in range(5):
        answered.append(len(spooled))
        write_backup(settings, tmp_path / f"{n}.tar")
    stop.set()
    thread.join()
    for n, count in enumerate(answered):
        fresh = restored(tmp_path / f"{n}.tar", tmp_path / str(n))
        with closing(sqlite3.connect(fresh.data_dir / "waypost.db")) as connection:
            drained = {click for (click,) in connection.execute("SELECT click FROM drained")}
        waiting = {int(path.stem) for path in (fresh.data_dir / "spool").glob("*.visits")} - drained
        kept = drained | waiting
        assert kept == set(range(1, len(kept) + 1))
        assert len(kept) >= count


@pytest.mark.parametrize(("privacy", "ip"), [("none", ""), ("truncated", "203.0.113.0"), ("full", "203.0.113.77")])
def test_spooled_visits_are_stored_as_privacy_settings_allow(
    settings: Settings, tmp_path: Path, privacy: str, ip: str
) -> None:
    proxies = [ip_network("10.0.0.0/8")]
    settings = settings.model_copy(update={"ip_privacy": privacy, "trusted_proxies": proxies})
    drained, waiting = (visit(forwarded_for=b"198.51.100.1, " + each) for each in (b"203.0.113.66", b"203.0.113.77"))
    segment = settings.data_dir / "spool" / "2.visits"
    segment.write_bytes(HEADER + encode(drained) + encode(waiting) + encode(waiting)[:100])
    with closing(sqlite3.connect(settings.data_dir / "waypost.db")) as connection:
        end = len(HEADER + encode(drained))
        connection.execute("INSERT INTO spool_positions (segment, position) VALUES (?, ?)", [segment.name, end])
        connection.commit()
    write_backup(settings, tmp_path / "backup.tar")
    fresh = restored(tmp_path / "backup.tar", tmp_path / "fresh")
    with closing(sqlite3.connect(fresh.data_dir / "waypost.db")) as connection:
        assert connection.execute("SELECT * FROM spool_positions").fetchall() == []
    [line], _ = read_lines(fresh.data_dir / "spool" / segment.name, 0, 1 << 20)
    kept = decode(line)
    assert kept
    assert kept == waiting._replace(
        peer=ip.encode(), forwarded_for=b"", referrer=b"https://from.example/page", query=b"r=qr", language=b""
    )
    settings = IntakeSettings(proxies, privacy, lambda _: "", b"key")
    account = b"a" * 16
    assert build_click(kept, account, settings) == build_click(waiting, account, settings)


def visit(**fields: bytes) -> Visit:
    return Visit(
        b"01" * 16,
        b"1763690000000000",
        b"ab" * 16,
        query=b"q=secret&r=qr",
        peer=b"10.0.0.1",
        user_agent=b"curl/8",
        referrer=b"https://from.example/page?q=secret",
        language=b"de",
    )._replace(**fields)


def test_notes_that_postgresql_is_not_included(tmp_path: Path, settings: Settings) -> None:
    remote = settings.model_copy(update={"database_url": "postgresql://db/waypost"})
    notes = write_backup(remote, tmp_path / "backup.tar")
    assert any("pg_dump" in note for note in notes)
    with tarfile.open(tmp_path / "backup.tar") as file:
        assert sorted(name for name in file.getnames() if "." in name) == ["media/ab/image.png", "secret.key"]
