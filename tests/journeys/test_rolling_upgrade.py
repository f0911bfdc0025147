"""Two versions on one PostgreSQL: this one, and one made of it that has another migration and column.

Segments of one version are drained by the other's worker, and jobs that one enqueues are run by the other.
"""

import compileall
import os
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from itertools import count, takewhile
from pathlib import Path
from threading import Event

import pytest
from conftest import PostgresServer
from forked import alone
from journeys.service import Service, Website, eventually

import waypost
from waypost.database.schema import COMPATIBLE_SINCE, newest

SOURCES = Path(waypost.__file__).parent
NEXT = "9000"
_MIGRATION = f"""
import sqlalchemy as sa
from alembic import op

revision = "{NEXT}"
down_revision = "{newest()}"


def upgrade() -> None:
    op.add_column("links", sa.Column("remark", sa.Text))
    op.create_index("ix_links_remark", "links", ["remark"])
    op.create_table("notes", sa.Column("id", sa.Integer, primary_key=True))
"""


@pytest.fixture(scope="module")
def next_version(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with what its wheel would install; the packages of others come from this environment."""
    packages = tmp_path_factory.mktemp("next")
    package = packages / "waypost"
    shutil.copytree(SOURCES, package, ignore=shutil.ignore_patterns("__pycache__"))
    (package / "database" / "migrations" / "versions" / f"{NEXT}_notes.py").write_text(_MIGRATION)
    model = package / "resources" / "links" / "model.py"
    before = 'Column("destination_url", Text, nullable=False),'
    assert model.read_text().count(before) == 1
    model.write_text(model.read_text().replace(before, f'{before}\n    Column("remark", Text),'))
    compileall.compile_dir(package, quiet=1)
    return packages


class Versions:
    """Starts services of both versions on one database."""

    def __init__(self, directory: Path, database_url: str, next_version: Path) -> None:
        self._directory = directory
        self._next_version = next_version
        self._settings = {
            "WAYPOST_BASE_URL": "http://waypost.test",
            "WAYPOST_DATABASE_URL": database_url,
            "WAYPOST_SECRET_KEY": "one secret key that all nodes have",
        }
        self._running = ExitStack()

    def service(self, name: str, role: str, *, is_next: bool) -> Service:
        """`name`: of the node, that is of its data directory."""
        settings = self._settings | ({"PYTHONPATH": str(self._next_version)} if is_next else {})
        directory = self._directory / name
        directory.mkdir(exist_ok=True)
        service = Node(directory, options=("--role", role), **settings)
        service.client.headers["Host"] = "waypost.test"
        return self._running.enter_context(service)

    def migrate(self, *, is_next: bool) -> str:
        environment = os.environ | self._settings | ({"PYTHONPATH": str(self._next_version)} if is_next else {})
        done = alone(["migrate"], cwd=self._directory, env=environment)
        assert done.returncode == 0, done.stderr
        return done.stdout + done.stderr

    def stop(self) -> None:
        self._running.close()


class Node(Service):
    def prepare(self) -> None:
        """The database has been migrated."""


@pytest.fixture
def versions(postgres_url: str, next_version: Path, tmp_path: Path) -> Iterator[Versions]:
    versions = Versions(tmp_path, postgres_url, next_version)
    yield versions
    versions.stop()


def test_two_versions_serve_one_database(versions: Versions, postgres: PostgresServer, postgres_url: str) -> None:
    database = postgres_url.removeprefix("postgresql://postgres@/").partition("?")[0]
    with Website() as page:
        old_web = versions.service("a", "web", is_next=False)
        key = old_web.new_key(old_web.new_account("owner@example.com"))
        assert NEXT in versions.migrate(is_next=True)
        assert postgres.sql("SELECT version_num, compatible_since FROM alembic_version", database) == [
            (NEXT, COMPATIBLE_SINCE)
        ]

        assert old_web.client.get("/readyz").status_code == 200
        old_web.stop()
        assert f"{NEXT} of a newer version, and works with this one" in versions.migrate(is_next=False)
        old_web.start()  # also a node that restarts before it is upgraded
        old_worker = versions.service("b", "worker", is_next=False)
        new_web = versions.service("b", "web", is_next=True)
        new_worker = versions.service("a", "worker", is_next=True)
        for service in (old_web, new_web):
            service.client.headers["Authorization"] = f"Bearer {key}"
        assert [each.client.get("/readyz").status_code for each in (old_worker, new_worker)] == [200, 200]

        for web, other, slug in ((old_web, new_web, "old"), (new_web, old_web, "new")):
            link = {"slug": slug, "destination_url": page.url}
            assert web.client.post("/api/v1/links", json=link).status_code == 201
            eventually(lambda other=other, slug=slug: other.client.get(f"/{slug}").status_code == 302)
            assert [web.client.get(f"/{slug}").status_code for _ in range(10)] == [302] * 10

        # each node's visits are drained by the worker of the other version
        eventually(lambda: _clicks(postgres, database) == {("old", 11), ("new", 11)})
        for web, hostname in ((old_web, "old.example.com"), (new_web, "new.example.com")):
            domain = web.client.post("/api/v1/domains", json={"hostname": hostname}).json()["data"]
            assert web.client.delete(f"/api/v1/domains/{domain['id']}").status_code == 204
        eventually(lambda: not postgres.sql("SELECT 1 FROM jobs", database))


@pytest.mark.parametrize("engine", ["sqlite", "postgresql"])
def test_migrates_while_links_are_created_and_visited(
    engine: str, request: pytest.FixtureRequest, next_version: Path, tmp_path: Path
) -> None:
    settings = {"WAYPOST_DATABASE_URL": request.getfixturevalue("postgres_url")} if engine == "postgresql" else {}
    with Website() as page, Service(tmp_path, **settings) as service, ThreadPoolExecutor(2) as threads:
        keys = [service.new_key() for _ in range(8)]  # each may make 60 requests a minute
        link = {"destination_url": page.url}
        assert service.client.post("/api/v1/links", json=link | {"slug": "hello"}).status_code == 201
        done = Event()

        def visit() -> list[int]:
            return [service.client.get("/hello").status_code for _ in takewhile(lambda _: not done.is_set(), count())]

        def create() -> list[int]:
            headers = ({"Authorization": f"Bearer {key}"} for key in keys for _ in range(55))
            return [
                service.client.post("/api/v1/links", json=link, headers=each).status_code
                for each in takewhile(lambda _: not done.wait(0.05), headers)
            ]

        visits, created = threads.submit(visit), threads.submit(create)
        try:
            migrated = alone(["migrate"], cwd=tmp_path, env=service.environment | {"PYTHONPATH": str(next_version)})
        finally:
            done.set()
        assert NEXT in migrated.stderr
        assert (set(visits.result()), set(created.result())) == ({302}, {201})
        assert service.client.get("/readyz").status_code == 200


def _clicks(postgres: PostgresServer, database: str) -> set[tuple[object, ...]]:
    rows = postgres.sql("SELECT slug, clicks FROM links JOIN link_clicks ON link_id = id", database)
    return {tuple(row) for row in rows}
