"""`waypost copy`: everything arrives, in both directions, or nothing does."""

import asyncio
import os
import shutil
import signal
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from conftest import PostgresServer
from sqlalchemy import Boolean, Column, Integer, LargeBinary, String, select
from sqlalchemy.engine import make_url
from test_cli import Waypost

from waypost.commands import copy_ends
from waypost.commands.copy_ends import UPLOADS, CopyFailed
from waypost.commands.database_copy import copy
from waypost.database import Database, Id, Instant, Json, Tx, metadata
from waypost.database.migrations import migrate
from waypost.database.schema import SchemaUnknown, is_usable
from waypost.database.secrets import Ciphertext, Encrypted
from waypost.demo import account
from waypost.kit.errors import Invalid
from waypost.packages import load_tables
from waypost.redirect import ChangeFeed, Spool
from waypost.resources.clicks.model import clicks
from waypost.resources.links.model import links
from waypost.settings import Settings
from waypost.worker.jobs import jobs

NOW = datetime(2026, 11, 19, 15, tzinfo=UTC)
ODD = 'a\tb\\n\n"ü\u2028\U0001f600'
IMAGE = f"{'a' * 32}.png"
Content = dict[str, list[tuple[Any, ...]]]


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory, sqlite_template: Path) -> Path:
    """A data directory with rows in all tables, and an image."""
    settings = Settings(data_dir=tmp_path_factory.mktemp("filled"), secret_key="k" * 32)
    shutil.copy(sqlite_template, settings.data_dir / "waypost.db")
    load_tables()
    asyncio.run(_fill(settings))
    return settings.data_dir


async def _fill(settings: Settings) -> None:
    db = Database(settings.database)
    with closing(ChangeFeed(settings.data_dir / "run" / "changes")) as feed:
        await account.create(settings, db, feed, now=NOW, seed=1, volume=0.02)
    async with db.write() as tx:
        link = await tx.scalar(select(links.c.id).where(links.c.og_image_file_name.is_(None)).limit(1))
        await tx.execute(links.update().where(links.c.id == link).values(title=ODD, og_image_file_name=IMAGE))
        payload = {"z": 1, "a": [1.5, 2.0, None, True, ODD], "2": 10**20}
        values = {"id": uuid4(), "name": "x", "run_at": NOW, "attempts": 0, "max_attempts": 1, "created_at": NOW}
        await tx.execute(jobs.insert().values(**values, payload=payload))
        for table in metadata.sorted_tables:
            if table.name != "link_images" and not (await tx.execute(table.select().limit(1))).first():
                await tx.execute(table.insert(), {column.name: await _value(tx, column) for column in table.c})
    await db.close()
    (settings.data_dir / "media").mkdir(exist_ok=True)
    (settings.data_dir / "media" / IMAGE).write_bytes(bytes(range(256)) * 9)
    os.utime(settings.data_dir / "media" / IMAGE, (1_800_000_000, 1_800_000_000))


async def _value(tx: Tx, column: Column[Any]) -> Any:
    """Something that the column takes."""
    for key in column.foreign_keys:
        return await tx.scalar(select(key.column).limit(1))
    values: list[tuple[type[Any], Any]] = [
        *((Id, uuid4()), (Instant, NOW), (Json, {"b": 1, "a": ODD}), (Boolean, True), (Integer, 7)),
        *((LargeBinary, b"\0\xff"), (Encrypted, Ciphertext(b"\0\xff")), (String, ODD)),
    ]
    return next(value for type_, value in values if isinstance(column.type, type_))


@pytest.fixture
def source(filled: Path, tmp_path: Path) -> Settings:
    shutil.copytree(filled, tmp_path / "data")
    return Settings(data_dir=tmp_path / "data", secret_key="k" * 32)


@pytest.fixture
def empty_url(postgres: PostgresServer) -> Iterator[str]:
    """A database without tables."""
    name = f"copy_{uuid4().hex}"
    postgres.sql(f"CREATE DATABASE {name} TEMPLATE template0")
    yield postgres.url(name)
    postgres.sql(f"DROP DATABASE {name} WITH (FORCE)")


async def content(url: str) -> Content:
    """The rows of all tables, as the application sees them."""
    db = Database(url)
    async with db.read() as tx:
        found = {
            table.name: sorted(map(tuple, await tx.execute(table.select())), key=repr)
            for table in metadata.sorted_tables
        }
    await db.close()
    return found


async def test_copies_everything_to_postgresql_and_back(source: Settings, empty_url: str, tmp_path: Path) -> None:
    before = await content(source.database)
    there = await copy(source, empty_url)
    images = {path.name: path.read_bytes() for path in (source.data_dir / "media").iterdir()}
    after = await content(empty_url)
    assert {row[0]: row[1] for row in after["link_images"]} == images
    assert after | {"link_images": []} == before
    assert [name for name, found in before.items() if not found] == ["link_images"], "on SQLite they are files"
    assert (there.images, there.rows) == (len(images), sum(map(len, after.values())))

    back = tmp_path / "new" / "waypost.db"
    again = await copy(Settings(data_dir=source.data_dir, database_url=empty_url), f"sqlite:///{back}")
    assert await content(f"sqlite:///{back}") == before | {UPLOADS: []}
    assert again == replace(there, tables=there.tables - 1, rows=there.rows - len(before[UPLOADS]))
    assert {path.name: path.read_bytes() for path in (back.parent / "media").iterdir()} == images
    copied = back.parent / "media" / IMAGE
    assert (copied.stat().st_mtime, copied.stat().st_mode & 0o777) == (1_800_000_000, 0o600)


async def test_a_copy_works_as_the_original(source: Settings, empty_url: str) -> None:
    await copy(source, empty_url)
    db = Database(empty_url)
    assert await is_usable(db)
    async with db.write() as tx:
        newest_change = (await tx.exec_driver_sql("SELECT max(id) FROM route_changes")).scalar_one()
        await tx.exec_driver_sql("INSERT INTO route_changes (slug, at) VALUES ('x', now())")
        assert (await tx.exec_driver_sql("SELECT max(id) FROM route_changes")).scalar_one() > newest_change
    await db.close()


async def test_search_finds_copied_links_on_sqlite(source: Settings, empty_url: str, tmp_path: Path) -> None:
    await copy(source, empty_url)
    await copy(Settings(data_dir=source.data_dir, database_url=empty_url), f"sqlite:///{tmp_path}/new.db")
    with closing(sqlite3.connect(tmp_path / "new.db")) as connection:
        [[indexed]] = connection.execute("SELECT count(*) FROM link_numbers")
        [[existing]] = connection.execute("SELECT count(*) FROM links")
        [[integrity]] = connection.execute("PRAGMA integrity_check")
    assert (indexed, integrity) == (existing, "ok")


@pytest.mark.parametrize("to", ["", "mysql://h/d", "sqlite:///", "sqlite:////tmp/other.db", "postgresql://", "x"])
async def test_refuses_a_target(source: Settings, to: str) -> None:
    with pytest.raises(Invalid) as refused:
        await copy(source, to)
    assert list(refused.value.errors) == ["--to"]


async def test_refuses_a_target_with_rows_or_foreign_tables(
    source: Settings, empty_url: str, postgres: PostgresServer
) -> None:
    database = str(make_url(empty_url).database)
    postgres.sql("CREATE TABLE theirs (id integer)", database)
    with pytest.raises(CopyFailed, match="is not empty"):
        await copy(source, empty_url)
    postgres.sql("DROP TABLE theirs", database)
    await copy(source, empty_url)
    with pytest.raises(CopyFailed, match="is not empty"):
        await copy(source, empty_url)


async def test_refuses_a_source_in_use(source: Settings, empty_url: str, tmp_path: Path) -> None:
    service = Database(source.database)
    async with service.read() as tx:
        await tx.execute(select(clicks.c.id).limit(1))
    with pytest.raises(CopyFailed, match="Stop the service"):
        await copy(source, empty_url)
    await service.close()
    await copy(source, empty_url)
    service = Database(empty_url)
    async with service.read() as tx:
        await tx.execute(select(clicks.c.id).limit(1))
    with pytest.raises(CopyFailed, match="stop it on all nodes"):
        await copy(Settings(data_dir=source.data_dir, database_url=empty_url), f"sqlite:///{tmp_path}/new.db")
    await service.close()


async def test_refuses_a_source_that_is_missing_or_outdated(source: Settings, empty_url: str) -> None:
    with pytest.raises(CopyFailed, match="There is no database"):
        await copy(Settings(data_dir=source.data_dir / "missing"), empty_url)
    with closing(sqlite3.connect(source.data_dir / "waypost.db")) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '0030'")
        connection.commit()
    with pytest.raises(CopyFailed, match="run waypost migrate first"):
        await copy(source, empty_url)


async def test_refuses_a_source_with_unknown_tables(source: Settings, empty_url: str) -> None:
    """Also one of Waypost that nothing imported: its rows would be missing."""
    with closing(sqlite3.connect(source.data_dir / "waypost.db")) as connection:
        connection.execute("CREATE TABLE theirs (id INTEGER)")
    with pytest.raises(CopyFailed, match="not of Waypost: theirs"):
        await copy(source, empty_url)


def test_an_interrupted_copy_is_marked_and_can_be_repeated(source: Settings, empty_url: str) -> None:
    process = os.fork()
    if not process:
        copy_ends.PostgresEnd.commit = lambda *_: os.kill(os.getpid(), signal.SIGKILL)  # type: ignore[method-assign]
        try:
            asyncio.run(copy(source, empty_url))
        finally:
            os._exit(1)
    assert os.waitpid(process, 0)[1] == signal.SIGKILL
    asyncio.run(_repeat(source, empty_url))


async def _repeat(source: Settings, empty_url: str) -> None:
    db = Database(empty_url)
    with pytest.raises(SchemaUnknown, match="incomplete copy"):
        await is_usable(db)
    with pytest.raises(SchemaUnknown, match="incomplete copy"):
        await migrate(db)
    await db.close()
    assert not any((await content(empty_url)).values())
    await copy(source, empty_url)
    assert (await content(empty_url))["links"]


async def test_a_copy_that_differs_is_discarded(
    source: Settings, empty_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    insert = copy_ends.PostgresEnd.insert

    def lose_a_row(end: copy_ends.PostgresEnd, table: Any, rows: Any) -> None:
        read = list(rows)
        insert(end, table, read[1:] if table.name == "clicks" else read)

    monkeypatch.setattr(copy_ends.PostgresEnd, "insert", lose_a_row)
    with pytest.raises(CopyFailed, match=r"differs, and was discarded: clicks \([\d,]+ rows, [\d,]+ in the copy\)"):
        await copy(source, empty_url)
    assert not any((await content(empty_url)).values())


async def test_a_refused_row_is_named(source: Settings, empty_url: str) -> None:
    with closing(sqlite3.connect(source.data_dir / "waypost.db")) as connection:
        connection.execute("UPDATE links SET title = 'a' || char(0)")
        connection.commit()
    with pytest.raises(CopyFailed, match="A row of links was refused"):
        await copy(source, empty_url)


def test_reports_what_was_copied_and_what_to_do(source: Settings, empty_url: str, tmp_path: Path) -> None:
    spool = Spool(source.data_dir / "spool", limit=1 << 30)
    spool.append(b"{}\n")
    spool.close()
    waypost = Waypost(tmp_path)
    done = waypost("copy", "--to", empty_url, WAYPOST_SECRET_KEY="k" * 32)
    assert "Counts and checksums are equal." in done.stderr
    assert "Set WAYPOST_DATABASE_URL" in done.stderr
    assert f"waypost spool drain {source.data_dir}" in done.stderr.replace("drain data", f"drain {source.data_dir}")
    assert "is not empty" in waypost("copy", "--to", empty_url, code=1, WAYPOST_SECRET_KEY="k" * 32).stderr
    assert "--to" in waypost("copy", "--to", "nowhere", code=2, WAYPOST_SECRET_KEY="k" * 32).stderr
