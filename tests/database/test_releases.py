"""A database of every released version is migrated to the newest schema, and everything in it works.

`releases/` has them: `scripts/write-release-fixture` writes those of a new release. 0.1.0 was never released: its own
are of commit 2edbd7bb, the last one before the baseline.
"""

import json
import lzma
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest
from accounts import archived
from browsing import SAME_ORIGIN
from conftest import PostgresServer
from database.test_baseline import postgresql_schema, sqlite_schema
from people import new_person
from sqlalchemy import select

from waypost import accounts
from waypost.accounts.members import store as memberships
from waypost.commands.doctor import examine
from waypost.database import Database, KeyRing
from waypost.database.migrations import migrate
from waypost.database.schema import newest
from waypost.kit.clock import parse_timestamp
from waypost.resources.webhooks.model import webhooks
from waypost.settings import Settings
from waypost.web_app import open_full_app

RELEASES = Path(__file__).parent / "releases"
VERSIONS = sorted(path.stem for path in RELEASES.glob("*.json"))


@contextmanager
def restored(version: str, postgres: PostgresServer) -> Iterator[str]:
    """A PostgreSQL database as the version left it. Yields its name."""
    name = f"test_{uuid4().hex}"
    postgres.sql(f"CREATE DATABASE {name}")
    postgres.sql((RELEASES / f"{version}.postgresql.sql").read_text(), name)
    yield name
    postgres.sql(f"DROP DATABASE {name} WITH (FORCE)")


def test_there_is_a_release() -> None:
    assert "0.1.0" in VERSIONS


@pytest.mark.parametrize("version", VERSIONS)
async def test_upgrades_sqlite(version: str, tmp_path: Path, sqlite_template: Path) -> None:
    path = tmp_path / "waypost.db"
    path.write_bytes(lzma.decompress((RELEASES / f"{version}.sqlite.xz").read_bytes()))
    await check(version, "sqlite", f"sqlite:///{path}", tmp_path)
    assert sqlite_schema(path) == sqlite_schema(sqlite_template)


@pytest.mark.parametrize("version", VERSIONS)
async def test_upgrades_postgresql(
    version: str, tmp_path: Path, postgres: PostgresServer, postgres_template: str
) -> None:
    with restored(version, postgres) as name:
        await check(version, "postgresql", postgres.url(name), tmp_path)
        assert postgresql_schema(postgres, name) == postgresql_schema(postgres, postgres_template)


@pytest.mark.parametrize("version", [path.stem for path in RELEASES.glob("*.zip")])
async def test_imports_the_export(version: str, db: Database, tmp_path: Path) -> None:
    """Exported again, everything has at least what it had."""
    archive = (RELEASES / f"{version}.zip").read_bytes()
    report = await archived.restored(db, tmp_path, await new_person(db, "Bea"), archive)
    assert (report.counts.created, report.refused) == (6, [])
    before, after = archived.rows(archive), archived.rows(await archived.exported(db, tmp_path, "bea@example.com"))
    for name, old in before.items():
        assert len(after[name]) == len(old), name
        for was, now in zip(old, after[name], strict=True):
            assert has_all(now, was), name


def has_all(now: Any, was: Any) -> bool:
    if isinstance(was, dict):
        return all(name in now and has_all(now[name], value) for name, value in was.items())
    if isinstance(was, list):
        return len(now) == len(was) and all(map(has_all, now, was))
    return bool(now == was)


async def check_credentials(db: Database, transport: httpx.AsyncBaseTransport, known: Any, settings: Settings) -> None:
    """The person owns the account, with password and secrets as they were."""
    account, person = await accounts.get_account(db, known["email"]), await accounts.get_person(db, known["email"])
    async with db.read() as tx:
        assert await memberships.find(tx, account.id, person.id) == "owner"
        hook = (await tx.execute(select(webhooks))).one()
    ring = KeyRing.from_setting(known["secret_key"])
    assert ring.decrypt(webhooks.c.secret, hook.id, hook.secret) == known["webhook_secret"]
    async with httpx.AsyncClient(transport=transport, base_url=settings.base_url, headers=SAME_ORIGIN) as nobody:
        fields = {"email": known["email"], "password": known["password"]}
        assert (await nobody.post("/login", data=fields)).headers["location"] == "/"
        assert "winter" in (await nobody.get("/links")).text


async def check(version: str, engine: str, url: str, directory: Path) -> None:
    """Links, clicks, keys and sessions, an hour after the version stored them: sessions expire."""
    facts = json.loads((RELEASES / f"{version}.json").read_text())
    at = parse_timestamp(facts["at"]) + timedelta(hours=1)
    known = facts[engine]
    db = Database(url)
    assert (await migrate(db))[1] == newest()
    await db.close()
    settings = Settings(
        data_dir=directory / "data", database_url=url, base_url=known["base_url"], secret_key=known["secret_key"]
    )
    async with open_full_app(settings, clock=lambda: at) as web:
        transport, key = httpx.ASGITransport(web.app), {"Authorization": f"Bearer {known['api_key']}"}

        async with httpx.AsyncClient(transport=transport, base_url=settings.base_url, headers=key) as client:

            async def data(path: str) -> Any:
                answer = await client.get(f"/api/v1{path}")
                assert answer.status_code == 200, answer.text
                return answer.json()["data"]

            links = {link["slug"]: link for link in await data("/links")}
            assert {slug: link["clicks"] for slug, link in links.items()} == {"summer": 3, "winter": 1}
            assert links["summer"]["tags"] == ["sale"]
            assert [link["slug"] for link in await data("/links?search=winter sale")] == ["winter"]
            assert len(await data(f"/links/{links['summer']['id']}/clicks")) == 3
            shown = await client.get("/summer", headers={"User-Agent": "Mozilla/5.0 Firefox/145.0"})
            assert "123456789012345" in shown.text  # the id of a pixel, which is encrypted
            assert len(await data("/webhooks")) == len(await data("/domains")) == 1
            visit = await client.get("/winter", headers={"User-Agent": "Firefox"})
            assert (visit.status_code, visit.headers["location"]) == (302, links["winter"]["destination_url"])
            fields = {"title": "Summer", "slug": "sommer"}
            changed = await client.patch(f"/api/v1/links/{links['summer']['id']}", json=fields)
            assert changed.status_code == 200, changed.text

        async with httpx.AsyncClient(
            transport=transport, base_url=settings.base_url, cookies=known["cookies"]
        ) as browser:
            page = await browser.get("/")
            assert (page.status_code, "winter" in page.text) == (200, True)
        await check_credentials(web.db, transport, known, settings)
    findings = {each.check: each.state for each in await examine(settings, now=lambda: at)}
    assert (findings["schema"], findings["database"], findings["clicks"]) == ("ok", "ok", "ok")
