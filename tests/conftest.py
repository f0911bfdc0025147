"""Real databases for every storage test: `db` runs each test once on SQLite and once on PostgreSQL."""

import asyncio
import fcntl
import functools
import gc
import os
import re
import shutil
import subprocess
import tempfile
import time
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import certifi
import psycopg
import pytest
import trustme
from deployments.first_click import FIRST_CLICK
from hypothesis import settings

from waypost.database import Database
from waypost.database.migrations import migrate

POSTGRES_BIN = next(iter(sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)), None)
MEMORY = Path("/dev/shm")
FREE_SPACE = 4 << 30

# A database for each test is hundreds of files: in memory they are made ten times as fast. TMPDIR says otherwise.
if "TMPDIR" not in os.environ and MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > FREE_SPACE:
    os.environ["TMPDIR"] = tempfile.tempdir = str(MEMORY)

# no example fails for being slow; `make test-slow` tries the default's hundred
settings.register_profile("default", deadline=None)
settings.register_profile("short", settings.get_profile("default"), max_examples=30)
settings.load_profile("short")

gc.disable()  # until all tests are collected: looking for garbage among them took a quarter of that time


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)  # an application is many objects: building one looked for garbage several times
    gc.enable()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Says which programs a run went without, and how long installations took until their first click."""
    for report in terminalreporter.stats.get("passed", []):
        for line in report.capstdout.splitlines():
            if line.endswith(FIRST_CLICK):
                terminalreporter.write_line(line)
    reasons = [str(report.longrepr[2]) for report in terminalreporter.stats.get("skipped", [])]
    missing = Counter(
        found[1] for reason in reasons if (found := re.match(r"Skipped: (.+?) (?:is|are) missing", reason))
    )
    if missing:
        text = ", ".join(f"{program} ({count})" for program, count in missing.items())
        terminalreporter.write_line(f"Tests skipped for want of a program: {text}")


_CLOSE_OTHERS = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"""
_SCHEMA = """
SELECT sum(hashtextextended(attname::text, hashtextextended(relname::text, atttypid::bigint * 1000 + attnum))),
  (SELECT version_num FROM alembic_version), count(*)
FROM pg_class LEFT JOIN pg_attribute ON attrelid = pg_class.oid WHERE relnamespace = 'public'::regnamespace"""
_DELETE_ROWS = """
SET session_replication_role = replica;
DO $$ DECLARE name regclass; BEGIN
  FOR name IN SELECT oid FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'
    AND relname <> 'alembic_version' LOOP EXECUTE format('DELETE FROM %s', name); END LOOP;
  PERFORM setval(seqrelid, seqstart, false) FROM pg_sequence;
END $$"""


class PostgresServer:
    """A throw-away cluster on a Unix socket, shared by all test processes of one run."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.port = 5432
        self._kept: dict[str, psycopg.Connection[Any]] = {}

    def url(self, database: str) -> str:
        return f"postgresql://postgres@/{database}?host={self.directory}&port={self.port}"

    def start(self) -> None:
        data = self.directory / "data"
        self._run("initdb", "-D", str(data), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync")
        self.start_again()

    def start_again(self) -> None:
        data = self.directory / "data"
        options = (
            f"-k {self.directory} -c listen_addresses='' -c port={self.port} -c fsync=off "
            "-c full_page_writes=off -c max_connections=300"
        )
        self._run("pg_ctl", "-D", str(data), "-l", str(self.directory / "log"), "-o", options, "-w", "start")

    def stop(self) -> None:
        self._run("pg_ctl", "-D", str(self.directory / "data"), "-m", "immediate", "stop")

    def sql(self, statement: str, database: str = "postgres") -> list[tuple[object, ...]]:
        with psycopg.connect(self.url(database), autocommit=True) as connection:
            result = connection.execute(statement.encode())
            return result.fetchall() if result.description else []

    def empty(self, database: str, template: str) -> bool:
        """Delete all rows. False if the schema is not the template's any more.

        Its connection is kept: the process of a new one first reads the catalog, which takes longer than all of this.
        """
        connection = self._kept.pop(database, None)
        try:
            if connection is None:
                connection = psycopg.connect(self.url(database), autocommit=True, application_name="kept")
            connection.execute(_CLOSE_OTHERS)
            if connection.execute(_SCHEMA).fetchone() != self.schema(template):
                connection.close()
                return False
            connection.execute(_DELETE_ROWS)
        except psycopg.OperationalError:  # a test has closed all connections
            return self.empty(database, template)
        self._kept[database] = connection
        return True

    def close(self) -> None:
        for connection in self._kept.values():
            connection.close()

    @functools.cache  # noqa: B019  # lives as long as the tests
    def schema(self, database: str) -> tuple[object, ...] | None:
        with psycopg.connect(self.url(database)) as connection:
            return connection.execute(_SCHEMA).fetchone()

    def wait_for_nobody(self, database: str) -> None:
        """A server process outlives its closed connection for a moment, and keeps a template from being copied."""
        while self.sql(f"SELECT 1 FROM pg_stat_activity WHERE datname = '{database}'"):
            time.sleep(0.01)

    def _run(self, program: str, *arguments: str) -> None:
        assert POSTGRES_BIN, "PostgreSQL is missing: apt-get install postgresql (make test does it as root)"
        command = [str(POSTGRES_BIN / program), *arguments]
        if os.getuid() == 0:  # PostgreSQL refuses to run as root
            command = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", *command]
        done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=self.directory)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="session", autouse=True)
def _trusted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Nobody but those whom a test names: to read all the world's authorities takes each client 30 ms."""
    file = str(tmp_path_factory.mktemp("trusted") / "nobody.pem")
    trustme.CA().cert_pem.write_to_path(file)
    os.environ |= {"SSL_CERT_FILE": file, "SSL_CERT_DIR": os.devnull}
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(certifi, "where", lambda: file)  # what httpx reads with trust_env=False
        yield


@pytest.fixture(scope="session", autouse=True)
def _patient() -> Iterator[None]:
    """The two seconds that a request has for a database are for users: a loaded machine fails no test by them."""
    with pytest.MonkeyPatch.context() as patched:
        for name in ("database.postgres.POOL", "accounts.limits.postgres_limiter.", "redirect_app._READ"):
            patched.setattr(f"waypost.{name}_TIMEOUT", 60.0)
        yield


@pytest.fixture(scope="session")
def run_directory(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """One directory for all processes of this run."""
    own = tmp_path_factory.getbasetemp()
    return own if worker_id == "master" else own.parent


@pytest.fixture(scope="session")
def postgres(run_directory: Path) -> Iterator[PostgresServer]:
    """The first process to come starts the cluster, the last one to leave stops it."""
    note = run_directory / "postgres"
    users = run_directory / "postgres.users"
    with _locked(run_directory / "postgres.lock"):
        if not note.exists():
            directory = Path(tempfile.mkdtemp(prefix="waypost-pg-"))  # short: a socket's path has 107 bytes at most
            directory.chmod(0o777)
            server = PostgresServer(directory)
            server.start()
            note.write_text(str(directory))
        server = PostgresServer(Path(note.read_text()))
        users.write_text(str(int(users.read_text() if users.exists() else 0) + 1))
    yield server
    server.close()
    with _locked(run_directory / "postgres.lock"):
        left = int(users.read_text()) - 1
        users.write_text(str(left))
        if left == 0:
            server.stop()
            shutil.rmtree(server.directory, ignore_errors=True)
            note.unlink()
            (run_directory / "postgres.template").unlink(missing_ok=True)  # a process may come when all have left


class _locked:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __enter__(self) -> None:
        self.file = self.path.open("w")
        fcntl.flock(self.file, fcntl.LOCK_EX)

    def __exit__(self, *_: object) -> None:
        self.file.close()


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("template") / "waypost.db"
    asyncio.run(_migrate(f"sqlite:///{path}"))
    return path


@pytest.fixture(scope="session")
def postgres_template(postgres: PostgresServer, run_directory: Path) -> str:
    with _locked(run_directory / "postgres.lock"):
        done = run_directory / "postgres.template"
        if not done.exists():
            postgres.sql("CREATE DATABASE template_waypost")
            asyncio.run(_migrate(postgres.url("template_waypost")))
            postgres.wait_for_nobody("template_waypost")
            done.touch()
    return "template_waypost"


async def _migrate(url: str) -> None:
    db = Database(url)
    await migrate(db)
    await db.close()


@pytest.fixture(scope="session")
def _empty_databases() -> list[str]:
    """Databases of earlier tests, without rows."""
    return []


@pytest.fixture
def postgres_url(postgres: PostgresServer, postgres_template: str, _empty_databases: list[str]) -> Iterator[str]:
    """To create a database takes five times as long as to delete all rows of one."""
    if _empty_databases:
        name = _empty_databases.pop()
    else:
        name = f"test_{uuid.uuid4().hex}"
        postgres.sql(f"CREATE DATABASE {name} TEMPLATE {postgres_template} STRATEGY file_copy")
    yield postgres.url(name)
    if postgres.empty(name, postgres_template):
        _empty_databases.append(name)
    else:
        postgres.sql(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A migrated database of the test's own."""
    if request.param == "postgresql":
        return request.getfixturevalue("postgres_url")
    path = tmp_path / "waypost.db"
    shutil.copy(request.getfixturevalue("sqlite_template"), path)
    return f"sqlite:///{path}"


@pytest.fixture
async def db(database_url: str) -> AsyncIterator[Database]:
    database = Database(database_url)
    yield database
    await database.close()


@pytest.fixture(scope="session")
def clickhouse_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """One for each test process. Tests that need no ClickHouse import nothing of it."""
    from clickhouse.server import ClickHouseServer

    server = ClickHouseServer(tmp_path_factory.mktemp("clickhouse"))
    server.start()
    yield server
    server.stop()
    shutil.rmtree(server.directory)


@pytest.fixture
def clickhouse(clickhouse_server: Any) -> Iterator[Any]:
    """An empty database of the test's own, and faults: see `ClickHouse` in clickhouse/server.py."""
    from clickhouse.server import ClickHouse

    database = ClickHouse(clickhouse_server)
    yield database
    database.remove()
