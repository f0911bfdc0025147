"""What `waypost copy` reads from and writes to: a database with its images, which nothing else uses meanwhile.

Rows contain what SQLite stores: bytes for an `Id`, microseconds for an `Instant`, text for JSON, 0 and 1. An uploaded
image is a row of `link_images`, for which SQLite has a file.
"""

import hashlib
import os
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import psycopg
from sqlalchemy import Boolean, Column, Table

from waypost.database import Id, Instant, Json, metadata
from waypost.database.url import location_of
from waypost.kit.clock import from_microseconds
from waypost.kit.errors import WaypostError
from waypost.private_files import replacing

TableRow = tuple[Any, ...]

IMAGES = "link_images"
UPLOADS = "import_file_pieces"
"""Not for SQLite: there, uploaded files are files, which are not copied."""
_MAX_POLLS = 20
_FETCHED_ROWS = 2_000
_FETCHED_IMAGES = 8  # of up to 2 MB
_USED_IMAGES = "SELECT DISTINCT og_image_file_name FROM links WHERE og_image_file_name IS NOT NULL"


class CopyFailed(WaypostError):
    """The copy failed."""


class CopyEnd(ABC):
    """An open transaction. `commit` or `close` ends it."""

    _connection: Any

    def revision(self) -> str | None:
        """Return the schema's revision. None: there are no tables of Waypost."""
        if "alembic_version" not in self.tables():
            return None
        [[revision]] = self._connection.execute("SELECT version_num FROM alembic_version")
        return str(revision)

    @abstractmethod
    def tables(self) -> set[str]:
        """Return the names of all tables."""

    @abstractmethod
    def count(self, table: Table) -> int: ...

    @abstractmethod
    def rows(self, table: Table) -> Iterator[TableRow]: ...

    @abstractmethod
    def insert(self, table: Table, rows: Iterable[TableRow]) -> None:
        """Raise CopyFailed if the database refuses a row."""

    @abstractmethod
    def commit(self, revision: str) -> None:
        """Set the revision, and commit."""

    def close(self) -> None:
        self._connection.close()

    def is_empty(self) -> bool:
        """Whether nothing but a migrated schema is there."""
        if self.revision() is None:
            return not self.tables()
        return not any(self.count(table) for table in metadata.sorted_tables if table.name in self.tables())


class SqliteEnd(CopyEnd):
    def __init__(self, path: Path, media: Path) -> None:
        """Raise CopyFailed if another process has the file open."""
        self._media = media
        self._connection = sqlite3.connect(path, isolation_level=None, timeout=1)
        try:
            self._connection.execute("PRAGMA locking_mode = exclusive")
            self._connection.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError as error:
            self._connection.close()
            raise CopyFailed(
                f"{path} cannot be opened alone ({error}). Stop the service and all commands that use it."
            ) from error

    def tables(self) -> set[str]:
        return {name for (name,) in self._connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}

    def count(self, table: Table) -> int:
        if table.name == IMAGES:
            return sum(1 for _ in self._images())
        [[count]] = self._connection.execute(f"SELECT count(*) FROM {table.name}")  # noqa: S608  # our own names
        return int(count)

    def rows(self, table: Table) -> Iterator[TableRow]:
        if table.name == IMAGES:
            return map(_read_image, self._images())
        return iter(self._connection.execute(f"SELECT {', '.join(table.c.keys())} FROM {table.name}"))  # noqa: S608

    def insert(self, table: Table, rows: Iterable[TableRow]) -> None:
        if table.name == IMAGES:
            for name, content, _, created_at in rows:
                _write_image(self._media / name, content, created_at)
            return
        values = ", ".join("?" * len(table.c))
        statement = f"INSERT INTO {table.name} ({', '.join(table.c.keys())}) VALUES ({values})"  # noqa: S608
        try:
            self._connection.executemany(statement, rows)
        except sqlite3.Error as error:
            raise CopyFailed(f"A row of {table.name} was refused: {error}") from error

    def commit(self, revision: str) -> None:
        self._connection.execute("UPDATE alembic_version SET version_num = ?", (revision,))
        self._connection.execute("COMMIT")

    def _images(self) -> Iterator[Path]:
        for (name,) in self._connection.execute(_USED_IMAGES):
            if (self._media / name).is_file():
                yield self._media / name


class PostgresEnd(CopyEnd):
    def __init__(self, url: str) -> None:
        """Raise CopyFailed if the server cannot be reached, or if a service is connected to the database."""
        location = location_of(url)
        try:
            self._connection = psycopg.connect(
                "postgresql://" + url.partition("://")[2], application_name="waypost copy", connect_timeout=5
            )
        except psycopg.Error as error:
            raise CopyFailed(
                f"The database {location_of(url)} cannot be used: {' '.join(str(error).split())}"
            ) from None
        self._connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        try:
            self._refuse_users(location)
            self._lock(location)
        except BaseException:
            self.close()
            raise

    def _refuse_users(self, location: str) -> None:
        """Raise CopyFailed while a service is connected: for a moment, the server also shows closed connections."""
        users = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = %s"
        for _ in range(_MAX_POLLS):
            [[count]] = self._connection.execute(users, ["waypost"])
            self._connection.rollback()  # within a transaction, the server shows the same again
            if not count:
                return
            self._connection.execute("SELECT pg_sleep(0.1)")
        raise CopyFailed(f"A service uses the database {location} with {count} connections: stop it on all nodes.")

    def _lock(self, location: str) -> None:
        """Prevent changes until the end of the transaction, before its first query chooses what it sees."""
        names = sorted(self.tables() & metadata.tables.keys())
        self._connection.rollback()
        if names:
            self._connection.execute("SET LOCAL lock_timeout = '5s'")
            try:
                self._connection.execute(f"LOCK TABLE {', '.join(names)} IN SHARE ROW EXCLUSIVE MODE")
            except psycopg.OperationalError as error:
                raise CopyFailed(
                    f"Another transaction uses the database {location}: wait for it, or end it."
                ) from error

    def tables(self) -> set[str]:
        query = "SELECT tablename FROM pg_tables WHERE schemaname = current_schema()"
        return {name for (name,) in self._connection.execute(query)}

    def count(self, table: Table) -> int:
        [[count]] = self._connection.execute(f"SELECT count(*) FROM {table.name}{_where(table)}")  # noqa: S608
        return int(count)

    def rows(self, table: Table) -> Iterator[TableRow]:
        columns = ", ".join(map(_as_stored_by_sqlite, table.c))
        # a cursor of the server reads thousands of rows at a time; COPY takes three times as long, row by row
        with self._connection.cursor("copy", binary=True) as cursor:
            cursor.itersize = _FETCHED_IMAGES if table.name == IMAGES else _FETCHED_ROWS
            yield from cursor.execute(f"SELECT {columns} FROM {table.name}{_where(table)}")  # noqa: S608

    def insert(self, table: Table, rows: Iterable[TableRow]) -> None:
        writers = [(number, write) for number, column in enumerate(table.c) if (write := _find_writer(column))]
        statement = f"COPY {table.name} ({', '.join(table.c.keys())}) FROM STDIN"
        try:
            with self._connection.cursor() as cursor, cursor.copy(statement) as copy:
                for row in rows:
                    values = list(row)
                    for number, write in writers:
                        if values[number] is not None:
                            values[number] = write(values[number])
                    copy.write_row(values)
            for column in table.primary_key if len(table.primary_key) == 1 else ():
                if column.autoincrement is True:
                    self._set_sequence(table.name, column.name)
        except psycopg.Error as error:
            raise CopyFailed(f"A row of {table.name} was refused: {_one_line(error)}") from error

    def commit(self, revision: str) -> None:
        self._connection.execute("UPDATE alembic_version SET version_num = %s", [revision])
        self._connection.commit()
        self._connection.execute("ANALYZE")  # the planner knows nothing of the new rows
        self._connection.commit()

    def _set_sequence(self, table: str, column: str) -> None:
        newest = f"SELECT max({column}) AS newest FROM {table}"  # noqa: S608
        self._connection.execute(
            f"SELECT setval(pg_get_serial_sequence('{table}', '{column}'), newest) FROM ({newest}) AS ids",  # noqa: S608
        )


def _where(table: Table) -> str:
    return f" WHERE name IN ({_USED_IMAGES})" if table.name == IMAGES else ""


def _as_stored_by_sqlite(column: Column[Any]) -> str:
    name = column.name
    match column.type:
        case Id():
            return f"uuid_send({name})"
        case Instant():
            return f"(extract(epoch FROM {name}) * 1000000)::bigint"
        case Boolean():
            return f"{name}::integer"
        case Json():
            return f"{name}::text"
        case _:
            return name


def _find_writer(column: Column[Any]) -> Callable[[Any], Any] | None:
    """Return what makes the value that PostgreSQL reads. None: the driver writes it as it is."""
    match column.type:
        case Id():
            return bytes.hex
        case Instant():
            return lambda value: from_microseconds(value).isoformat()
        case _:
            return None


def _one_line(error: psycopg.Error) -> str:
    return " ".join(str(error).split())


def _read_image(path: Path) -> TableRow:
    content = path.read_bytes()
    return path.name, content, hashlib.sha256(content).digest(), path.stat().st_mtime_ns // 1_000


def _write_image(path: Path, content: bytes, created_at: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as file:
        file.write(content)
    os.utime(path, ns=(created_at * 1_000, created_at * 1_000))
