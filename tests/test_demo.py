"""`waypost demo`: data that looks alive, that nothing is sent of, and that can be removed without a trace."""

import asyncio
import os
import shutil
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit
from uuid import UUID

import pytest
from forked import alone
from people import new_person
from resources.clicks.visited import new_link
from resources.links.added import add_links
from sqlalchemy import func, select
from test_cli import Waypost

from waypost.accounts import CallerCache, create_account
from waypost.accounts.setup import first_start
from waypost.commands import demo
from waypost.commands.database import migrate_click_store
from waypost.database import Database, metadata
from waypost.demo import account, traffic
from waypost.demo.account import Created, DemoExists, NoDemo
from waypost.demo.content import DAYS, LINKS, WEBHOOKS
from waypost.kit.clock import DAY, from_microseconds, microseconds
from waypost.kit.errors import Conflict
from waypost.outbound.addresses import is_public
from waypost.redirect import ChangeFeed
from waypost.redirect.spool import Visit
from waypost.resources.clicks.backends import new_click_store
from waypost.resources.clicks.days import DaySlice
from waypost.resources.clicks.model import HUMAN, KINDS
from waypost.resources.clicks.store import ClickStore, ExportQuery
from waypost.resources.domains.certificates.store import find_missing
from waypost.resources.domains.model import CHECK_JOB
from waypost.resources.links.model import link_clicks, links
from waypost.resources.pixels.events.model import pixel_events
from waypost.resources.qrcodes.model import qr_scans
from waypost.resources.webhooks.model import webhook_deliveries
from waypost.settings import Settings
from waypost.worker.jobs import jobs

NOW = datetime(2026, 11, 19, 15, tzinfo=UTC)
TRANSIENT = {"route_changes", "alembic_version"}
"""Messages to other processes, which are deleted after an hour."""


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data_dir=tmp_path / "data", secret_key="k" * 32)


IN_FULL = bool(os.environ.get("DEMO_IN_FULL"))
"""Set by `make test-slow`: all visits, and ClickHouse, too, which deletes the statistics of each day for itself."""


@pytest.fixture(params=["sqlite", "postgresql", *(["clickhouse"] if IN_FULL else [])])
def urls(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, str]:
    """URLs of the database and, for one, of ClickHouse."""
    if request.param == "sqlite":
        return f"sqlite:///{shutil.copy(request.getfixturevalue('sqlite_template'), tmp_path / 'waypost.db')}", ""
    clickhouse = request.getfixturevalue("clickhouse").url if request.param == "clickhouse" else ""
    return request.getfixturevalue("postgres_url"), clickhouse


@pytest.fixture
async def store(urls: tuple[str, str], settings: Settings) -> AsyncIterator[tuple[Database, Settings]]:
    """A database, and the settings for it and its click store."""
    db = Database(urls[0])
    if urls[1]:
        settings = settings.model_copy(update={"clickhouse_url": urls[1]})
        await migrate_click_store(settings)
    yield db, settings
    await db.close()


@pytest.fixture
def feed(tmp_path: Path) -> Iterator[ChangeFeed]:
    with closing(ChangeFeed(tmp_path / "changes")) as feed:
        yield feed


async def count_rows(db: Database) -> dict[str, int]:
    async with db.read() as tx:
        return {
            name: await tx.scalar(select(func.count()).select_from(table)) or 0
            for name, table in metadata.tables.items()
            if name not in TRANSIENT
        }


@pytest.fixture
def visited() -> list[traffic.VisitedLink]:
    created = [(UUID(int=number), NOW - timedelta(days=plan.age), plan) for number, plan in enumerate(LINKS)]
    return [traffic.VisitedLink(*each) for each in created]


async def test_creates_exact_data_and_removes_all_of_it(store: tuple[Database, Settings], feed: ChangeFeed) -> None:
    """One test, because to create all of it takes seconds."""
    db, settings = store
    other = new_link((await new_person(db, "alice")).account_id, slug="winter")
    async with db.write() as tx:
        await add_links(tx, [other])
    before = await count_rows(db)
    created = await account.create(settings, db, feed, now=NOW, seed=1, volume=1 if IN_FULL else 0.03)
    await check_statistics(db, settings, created)
    await check_nothing_is_sent(db)
    with pytest.raises(DemoExists, match="waypost demo --remove"):
        await account.create(settings, db, feed, now=NOW, seed=1)

    assert await CallerCache(db).find(created.key) is not None
    await account.remove(settings, db, feed, clock=lambda: NOW)
    assert await CallerCache(db).find(created.key) is None
    assert await count_rows(db) == before
    assert await count_clicks(db, settings) == {}
    assert not list(settings.data_dir.glob("media/*"))


async def check_statistics(db: Database, settings: Settings, created: Created) -> None:
    async with closing_store(settings) as click_store:
        first = None if IN_FULL else microseconds(NOW) // DAY - 10
        differences = click_store.check(db, from_day=first, on_progress=None)
        assert [difference async for difference in differences] == []
    kinds = await count_clicks(db, settings)
    assert kinds.total() == created.visits
    assert kinds.keys() == {*KINDS}
    async with db.read() as tx:
        assert await tx.scalar(select(func.sum(link_clicks.c.clicks))) == kinds[HUMAN]
        assert (await tx.scalar(select(func.sum(qr_scans.c.scans))) or 0) > 10
        assert {"winter", "winter-2"} <= {*await tx.scalars(select(links.c.slug))}


async def count_clicks(db: Database, settings: Settings) -> Counter[str]:
    """Count the clicks of all accounts by kind."""
    kinds = Counter[str]()
    async with closing_store(settings) as click_store:
        exporter = click_store.exporter(db, ExportQuery(kind=None), settings.shared_domain)
        for day in await exporter.find_days():
            async for batch in exporter.read(DaySlice(0, day, day * DAY, (day + 1) * DAY)):
                kinds.update(exported.click.kind for exported in batch)
    return kinds


@asynccontextmanager
async def closing_store(settings: Settings) -> AsyncIterator[ClickStore]:
    click_store = new_click_store(settings)
    try:
        yield click_store
    finally:
        await click_store.close()


async def check_nothing_is_sent(db: Database) -> None:
    """Neither deliveries nor events, DNS checks or orders of certificates are pending, even with `--tls`."""
    async with db.read() as tx:
        ends = await tx.execute(select(webhook_deliveries.c.status, webhook_deliveries.c.next_attempt_at))
        assert {tuple(end) for end in ends} == {("delivered", None), ("failed", None)}
        assert {*await tx.scalars(select(webhook_deliveries.c.event))} == {
            "link.created",
            "link.clicked",
            "pixel.fired",
        }
        assert await tx.scalar(select(func.count()).where(jobs.c.name == CHECK_JOB.name)) == 0
        assert await tx.scalar(select(func.count()).select_from(pixel_events)) == 0
        assert await find_missing(tx, "") == []
    for webhook in WEBHOOKS:
        assert not is_public(ip_address(urlsplit(webhook["url"]).hostname or ""))


async def test_a_service_that_begins_with_the_demo_can_be_set_up(settings: Settings, sqlite_template: Path) -> None:
    settings.data_dir.mkdir()
    db = Database(f"sqlite:///{shutil.copy(sqlite_template, settings.data_dir / 'waypost.db')}")
    await demo.create(settings.model_copy(update={"database_url": None}), volume=0.01)
    assert await first_start.find_pending(db)
    await db.close()


async def test_an_account_with_its_email_is_not_the_demo(settings: Settings, db: Database, feed: ChangeFeed) -> None:
    await create_account(db, email=account.EMAIL, name="Somebody", plan="lifetime", now=NOW, trial_days=14)
    before = await count_rows(db)
    with pytest.raises(NoDemo):
        await account.remove(settings, db, feed, clock=lambda: NOW)
    with pytest.raises(Conflict) as refused:
        await account.create(settings, db, feed, now=NOW, seed=1)
    assert refused.value.errors == {"email": ["An account with this email already exists."]}
    assert await count_rows(db) == before


def test_traffic_is_plausible_and_the_same_for_a_seed(visited: list[traffic.VisitedLink]) -> None:
    made = traffic.visits(visited, NOW, seed=1, volume=0.2)
    assert made == traffic.visits(visited, NOW, seed=1, volume=0.2)
    assert made != traffic.visits(visited, NOW, seed=2, volume=0.2)
    times = [int(visit.at) for visit in made]
    assert times == sorted(times)
    assert len({visit.id for visit in made}) == len(made)
    assert from_microseconds(times[0]) > NOW - timedelta(days=DAYS + 1)
    assert from_microseconds(times[-1]) <= NOW
    assert len({at // DAY for at in times}) == DAYS + 1
    created = {link.id.hex.encode(): link for link in visited}
    assert all(int(visit.at) > microseconds(created[visit.link].created_at) for visit in made)
    expired = next(link for link in visited if link.plan.slug == "autumn")
    last = max(int(visit.at) for visit in made if visit.link == expired.id.hex.encode())
    assert last <= microseconds(expired.created_at) + (expired.plan.expires or 0) * DAY
    assert len({country_of(visit) for visit in made}) >= 15
    returning = Counter((visit.peer, visit.user_agent) for visit in made)
    assert any(count > 3 for count in returning.values())


def country_of(visit: Visit) -> str:
    return traffic.country_of_address(visit.peer.decode())


def test_commands_say_what_to_do(tmp_path: Path, sqlite_template: Path) -> None:
    waypost = Waypost(tmp_path)
    (tmp_path / "data").mkdir(mode=0o700)
    (tmp_path / "data" / "waypost.db").write_bytes(sqlite_template.read_bytes())
    assert waypost("demo", "--remove", code=1).stderr == "There is no demo account. Create it with: waypost demo\n"
    asyncio.run(create_empty(tmp_path / "data" / "waypost.db"))
    assert "There is a demo account already" in waypost("demo", code=1).stderr
    assert "deleted" in waypost("demo", "--remove", by=alone).stderr
    assert waypost.json("account", "list") == []


async def create_empty(path: Path) -> None:
    db = Database(f"sqlite:///{path}")
    await create_account(
        db, email=account.EMAIL, name="Demo", plan="lifetime", now=NOW, trial_days=14, account_id=account.ACCOUNT_ID
    )
    await db.close()
