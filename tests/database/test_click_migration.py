"""An installation with clicks of before there were figures: all are kept, and the worker adds them up."""

import asyncio
import itertools
import uuid
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from alembic import command
from alembic.config import Config
from architecture.code import MIGRATIONS
from people import START, Person, new_key
from resources.clicks.visited import Env, open_env
from sqlalchemy import Connection, bindparam, func, select, text

from waypost import app
from waypost.database import Database, Id, Instant
from waypost.database.migrations import migrate
from waypost.kit.clock import EPOCH
from waypost.kit.ids import new_id
from waypost.resources.clicks.model import clicks
from waypost.resources.clicks.stats.rebuild.service import rebuild
from waypost.resources.links.model import link_clicks
from waypost.secret_key import with_secret_key
from waypost.settings import Settings
from waypost.worker.model import jobs

LINKS = [UUID(int=n) for n in (1, 2, 3)]
"""Two of Alice's, one of Bob's."""
DAYS = [START - timedelta(days=days, minutes=minutes) for days, minutes in ((0, 0), (0, 5), (0, 50), (1, 0), (40, 0))]
PEOPLE = [("192.0.2.1", "Firefox"), ("192.0.2.1", "Safari"), ("192.0.2.2", "Firefox")]

_ACCOUNT = text(
    "INSERT INTO accounts (id, email, name, plan_type, created_at, updated_at)"
    " VALUES (:id, :email, '', 'lifetime', :at, :at)"
).bindparams(bindparam("id", type_=Id), bindparam("at", type_=Instant))
_LINK = text(
    "INSERT INTO links (id, account_id, slug, destination_url, title, utm_params, tags, search_text, is_on, clicks,"
    " created_at, updated_at) VALUES (:id, :account, :slug, 'https://example.com/', '', '{}', '[]', '', true, :clicks,"
    " :at, :at)"
).bindparams(bindparam("id", type_=Id), bindparam("account", type_=Id), bindparam("at", type_=Instant))
_CLICK = text(
    "INSERT INTO clicks (id, account_id, link_id, created_at, kind, is_scan, ip, user_agent, referrer, language)"
    " VALUES (:id, :account, :link, :at, :kind, :is_scan, :ip, :agent, 'https://news.example/', 'de')"
).bindparams(*(bindparam(n, type_=Id) for n in ("id", "account", "link")), bindparam("at", type_=Instant))


def upgrade(connection: Connection, revision: str) -> None:
    config = Config(attributes={"connection": connection})
    config.set_main_option("script_location", str(MIGRATIONS.parent))
    config.set_main_option("path_separator", "os")
    command.upgrade(config, revision)


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Of a database with nothing in it."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'waypost.db'}"
        return
    server, name = request.getfixturevalue("postgres"), f"test_{uuid.uuid4().hex}"
    server.sql(f"CREATE DATABASE {name}")
    yield server.url(name)
    server.sql(f"DROP DATABASE {name} WITH (FORCE)")


async def new_person_then(db: Database, name: str) -> Person:
    """Without a key: there is more to an account by now than the code that makes one finds here."""
    id_ = new_id()
    async with db.write() as tx:
        await tx.execute(_ACCOUNT, {"id": id_, "email": name, "at": START})
    return Person(id_, id_, "")


@pytest.fixture
async def env(url: str, tmp_path: Path) -> AsyncIterator[Env]:
    """As revision 0004 has it."""
    db = Database(url)
    async with db.write() as tx:
        await tx.run_sync(upgrade, "0004")
    async with open_env(db, tmp_path, new_person_then) as opened:
        yield opened
    await db.close()


async def fill(env: Env) -> list[dict[str, Any]]:
    """Everybody visits each link on each of the days, and a browser that loads ahead visits the first one."""
    owners = dict(zip(LINKS, [env.alice.account_id, env.alice.account_id, env.bob.account_id], strict=True))
    visits = [*itertools.product(LINKS, DAYS, PEOPLE, ["human"]), (LINKS[0], START, PEOPLE[0], "prefetch")]
    made = [
        {"id": new_id(), "account": owners[link], "link": link, "at": at, "ip": ip, "agent": agent, "kind": kind}
        | {"is_scan": ip == "192.0.2.2"}
        for link, at, (ip, agent), kind in visits
    ]
    count = len(DAYS) * len(PEOPLE)
    async with env.db.write() as tx:
        told = [{"id": link, "account": owners[link], "slug": link.hex, "clicks": count, "at": START} for link in LINKS]
        await tx.execute(_LINK, told)
        await tx.execute(_CLICK, made)
    return made


async def work(url: str, directory: Path, db: Database) -> None:
    """Until no job is left."""
    stop = asyncio.Event()
    settings = with_secret_key(Settings(data_dir=directory, database_url=url))
    (directory / "spool").mkdir(exist_ok=True)
    working = asyncio.create_task(app.run_worker(settings, stop=stop))
    left = select(func.count()).select_from(jobs)
    async with asyncio.timeout(30):
        while True:
            async with db.read() as tx:
                if not await tx.scalar(left):
                    break
            await asyncio.sleep(0.05)
    stop.set()
    await working


async def test_it_works(env: Env, url: str, tmp_path: Path) -> None:
    made = await fill(env)
    await migrate(env.db)
    await work(url, tmp_path, env.db)
    env = replace(env, alice=await new_key(env.db, env.alice.account_id))
    async with env.db.read() as tx:
        rows = (await tx.execute(select(clicks).order_by(clicks.c.id))).all()
        counters = {row.link_id: row.clicks for row in await tx.execute(select(link_clicks))}
    assert [(row.id, row.link_id, row.created_at, row.kind, row.ip, row.is_scan) for row in rows] == [
        (each["id"], each["link"], each["at"], each["kind"], each["ip"], each["is_scan"]) for each in made
    ]
    assert all(row.day == (row.created_at - EPOCH).days for row in rows)
    assert counters == dict.fromkeys(LINKS, 15)
    for link in LINKS[:2]:
        told = (await env.shown(f"/links/{link}/stats", from_="1970-01-01"))["data"]
        assert (told["clicks"], told["visitors"], told["scans"]) == (15, 9, 5)
        assert told["referrers"] == [{"value": "https://news.example/", "clicks": 15}]
        assert [entry["clicks"] for entry in told["series"] if entry["clicks"]] == [3, 3, 9]
    told = (await env.shown("/stats", from_="1970-01-01"))["data"]
    assert (told["clicks"], told["visitors"], len(told["top_links"])) == (30, 9, 2)
    assert (await env.shown("/clicks", kind="all"))["meta"]["total"] == 31
    done = await rebuild(env.db)
    assert (done.corrected, done.links) == (0, 0)


async def test_a_visitor_is_one_of_an_account_s_day(env: Env) -> None:
    made = await fill(env)
    await migrate(env.db)
    async with env.db.read() as tx:
        ids = {row.id: row.visitor_id for row in await tx.execute(select(clicks))}
    visitors = {(each["account"], each["at"].date(), each["ip"], each["agent"]): ids[each["id"]] for each in made}
    assert len(visitors) == len(set(visitors.values())) == len(set(ids.values())) == 2 * 3 * len(PEOPLE)


async def test_without_any_click_there_is_nothing_to_do(env: Env) -> None:
    await migrate(env.db)
    async with env.db.read() as tx:
        assert (await tx.execute(select(jobs))).all() == []
