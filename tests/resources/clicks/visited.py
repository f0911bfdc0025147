"""Clicks that are there, with what is added up from them counted here by the tables' definitions; and who asks."""

import contextlib
import itertools
import random
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import httpx
import pytest
from contexts import new_context
from people import BASE_URL, START, FakeClock, Person, new_client, new_person
from resources.links.added import add_links
from sqlalchemy import delete, insert
from starlette.datastructures import QueryParams

from waypost.database import Database
from waypost.kit.clock import DAY, from_microseconds, microseconds
from waypost.kit.errors import Problems
from waypost.kit.ids import new_id
from waypost.kit.pagination import PageRequest
from waypost.resources import links
from waypost.resources.clicks import api, listing
from waypost.resources.clicks.backends.clickhouse import ClickHouseStore
from waypost.resources.clicks.backends.clickhouse.upkeep import VisitorCounter
from waypost.resources.clicks.backends.sql import SqlClickStore
from waypost.resources.clicks.filters import ACCOUNT_FILTERS, LINK_FILTERS
from waypost.resources.clicks.model import (
    DIMENSIONS,
    KINDS,
    WHOLE_DAY,
    Click,
    Subject,
    click_dimensions,
    click_retention,
    click_totals,
    clicks,
)
from waypost.resources.clicks.parameters import read_click_filter
from waypost.resources.clicks.schemas import to_json
from waypost.resources.clicks.stats import api as stats_api
from waypost.resources.clicks.stats import read as stats_read
from waypost.resources.clicks.stats.query import read_stats_query
from waypost.resources.clicks.stats.read import ACCOUNT_LISTS, LINK_LISTS
from waypost.resources.clicks.store import ClickStore
from waypost.resources.links import add_clicks
from waypost.resources.qrcodes import add_scans

SHARED = "go.test"
ON_SQLITE = pytest.mark.parametrize("urls", ["sqlite"], indirect=True)
"""Of tests that need no other store, because the store is not what they show."""
COUNTS = {"human": "clicks", "crawler": "crawlers", "preview": "previews", "prefetch": "prefetches"}


@dataclass
class Env:
    db: Database
    client: httpx.AsyncClient
    clock: FakeClock
    alice: Person
    bob: Person
    click_store: ClickStore

    async def fill(self, made: Sequence[Click], subjects: Sequence[str] = ("link_id", "account_id")) -> None:
        if isinstance(self.click_store, ClickHouseStore):
            await fill_clickhouse(self.db, self.click_store, made)
        else:
            await fill(self.db, made, subjects)

    async def delete_clicks(self, kept_since: int) -> None:
        """Delete those of earlier days, as retention does."""
        if isinstance(self.click_store, ClickHouseStore):
            counter = VisitorCounter(self.db, self.click_store.client, clock=self.clock)
            while await counter.count_next(0, kept_since):
                pass
            await self.click_store.client.command(
                f"ALTER TABLE clicks DELETE WHERE day < {kept_since}", settings={"mutations_sync": 1}
            )
        async with self.db.write() as tx:
            await tx.execute(delete(clicks).where(clicks.c.day < kept_since))
            await tx.execute(insert(click_retention), {"id": 1, "kept_since": kept_since})

    async def link(self, who: Person | None = None, **fields: Any) -> links.Link:
        made = new_link((who or self.alice).account_id, **fields)
        async with self.db.write() as tx:
            await add_links(tx, [made])
        return made

    async def get(self, path: str, who: Person | None = None, **query: Any) -> httpx.Response:
        query = {name.rstrip("_"): value for name, value in query.items()}
        return await self.client.get(f"/api/v1{path}", params=query or None, headers=(who or self.alice).headers)

    async def shown(self, path: str, **query: Any) -> dict[str, Any]:
        answer = await self.get(path, **query)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def stats(self, link: links.Link, **query: Any) -> dict[str, Any]:
        return (await self.shown(f"/links/{link.id}/stats", **query))["data"]


async def read_statistics(
    db: Database, store: ClickStore, subject: Subject, query: Sequence[tuple[str, str]], now: datetime
) -> dict[str, Any]:
    """Return what the API would. `query`: with names that may be repeated."""
    names, lists = (LINK_FILTERS, LINK_LISTS) if subject.link_id else (ACCOUNT_FILTERS, ACCOUNT_LISTS)
    parsed = read_stats_query(QueryParams(query), names, Problems(), now)
    async with store.reader(db) as reader:
        found = await stats_read.read_statistics(
            reader, subject, parsed, now, shared_domain=SHARED, lists=lists.values()
        )
    return stats_api.to_json(parsed, found, lists)


async def read_page(
    db: Database,
    store: ClickStore,
    subject: Subject,
    query: Sequence[tuple[str, str]],
    request: PageRequest,
    now: datetime,
) -> dict[str, Any]:
    problems = Problems()
    names = LINK_FILTERS if subject.link_id else ACCOUNT_FILTERS
    click_filter = read_click_filter(QueryParams(query), names, problems, now)
    problems.raise_if_any()
    caller: Any = SimpleNamespace(account=SimpleNamespace(id=subject.account_id))
    context: Any = SimpleNamespace(db=db, click_store=store, shared_domain=SHARED)
    if subject.link_id is None:
        found = await listing.list_clicks(context, caller, click_filter, request)
    else:
        found = await listing.list_link_clicks(context, caller, subject.link_id, click_filter, request)
    return {"total": found.total, "clicks": [to_json(click) for click in found.items]}


@contextlib.asynccontextmanager
async def open_env(
    db: Database,
    directory: Path,
    new: Callable[[Database, str], Awaitable[Person]] = new_person,
    click_store: ClickStore | None = None,
) -> AsyncIterator[Env]:
    clock, click_store = FakeClock(), click_store or SqlClickStore()
    alice, bob = await new(db, "Alice"), await new(db, "Bob")
    context = new_context(db, clock, base_url=BASE_URL, shared_domain=SHARED, click_store=click_store)
    async with new_client(db, directory, (context, api.ENDPOINTS + stats_api.ENDPOINTS), clock=clock) as client:
        yield Env(db, client, clock, alice, bob, click_store)


def new_link(account_id: UUID, **fields: Any) -> links.Link:
    id_ = new_id()
    values = {
        "id": id_,
        "account_id": account_id,
        "slug": id_.hex,
        "destination_url": "https://example.com/",
        "title": "A title",
        "created_at": START,
        "updated_at": START,
    }
    return links.Link(**values | fields)


def new_click(link: links.Link, at: datetime = START, **fields: Any) -> Click:
    since = microseconds(at)
    shown = {"country": "DE", "device": "mobile", "browser": "Firefox", "platform": "Android"}
    return Click(
        **{"id": new_id().bytes, "account_id": link.account_id.bytes, "link_id": link.id.bytes, "at": since}
        | {"day": since // DAY, "quarter": since % DAY // (DAY // 96)}
        | shown
        | fields
    )


def some_clicks(link: links.Link, moments: Sequence[datetime], chance: random.Random, visitors: int = 5) -> list[Click]:
    """Of every kind, but mostly of people who come again; a visitor's number is of one day only."""
    made = []
    for at in moments:
        click = new_click(link, at, visitor_id=microseconds(at) // DAY * 1000 + chance.randrange(visitors))
        made.append(
            click._replace(
                kind=chance.choices(KINDS, (12, 1, 1, 1))[0],
                is_scan=chance.random() < 0.3,
                country=chance.choice(["DE", "FR", ""]),
                referrer=chance.choice(["", "https://a.example/", "https://ä.example/"]),
                device=chance.choice(["mobile", "desktop"]),
                target=chance.choice(["", "Grüße", "default"]),
            )
        )
    return made


async def fill(db: Database, made: Sequence[Click], subjects: Sequence[str] = ("link_id", "account_id")) -> None:
    """Once for each subject: what was added up before is not added to."""
    if not made:
        return
    ids = ("id", "account_id", "link_id")
    rows = [
        click._asdict() | {name: UUID(bytes=getattr(click, name)) for name in ids} | {"created_at": moment(click)}
        for click in made
    ]
    rows = [{column.name: row[column.name] for column in clicks.c} for row in rows]
    async with db.write() as tx:
        await tx.execute(insert(clicks), rows)
        await tx.execute(insert(click_totals), totals(made, subjects))
        if dims := dimensions(made, subjects):
            await tx.execute(insert(click_dimensions), dims)
    await _add_counters(db, made)


async def fill_clickhouse(db: Database, click_store: ClickHouseStore, made: Sequence[Click]) -> None:
    await click_store.insert(made, f"{new_id()}:0-1")
    await _add_counters(db, made)


async def _add_counters(db: Database, made: Sequence[Click]) -> None:
    counts = Counter((click.link_id, click.account_id) for click in made if click.kind == "human")
    async with db.write() as tx:
        await add_clicks(tx, [(*its, count) for its, count in counts.items()], last_at=0)
        await add_scans(tx, Counter(click.link_id for click in made if click.kind == "human" and click.is_scan))


def totals(made: Sequence[Click], subjects: Sequence[str]) -> list[dict[str, Any]]:
    quarters: dict[tuple[int, UUID, int], list[Click]] = defaultdict(list)
    seen: dict[tuple[int, UUID, int], set[int]] = defaultdict(set)
    for click, subject in itertools.product(made, subjects):
        key = click.day, UUID(bytes=getattr(click, subject))
        for quarter in (WHOLE_DAY, click.quarter):
            quarters[*key, quarter].append(click)
        if click.kind == "human":
            seen[*key, click.visitor_id].add(click.quarter)
    return [_total(key, inside, seen) for key, inside in quarters.items()]


def _total(key: tuple[int, UUID, int], inside: list[Click], seen: Any) -> dict[str, Any]:
    day, subject, quarter = key
    people = [click for click in inside if click.kind == "human"]
    others = [seen[day, subject, visitor] for visitor in {click.visitor_id for click in people}]
    moments = [moment(click) for click in people]

    def new_in(quarters: int) -> int:
        return sum(not set(range(quarter - quarters, quarter)) & visits for visits in others)

    kinds = Counter(click.kind for click in inside)
    return {
        "day": day,
        "subject_id": subject,
        "quarter": quarter,
        **{name: kinds[kind] for kind, name in COUNTS.items()},  # type: ignore[index]
        "scans": sum(click.is_scan for click in people),
        "visitors": len(others),
        "new_in_15": new_in(1),
        "new_in_30": new_in(2),
        "new_in_45": new_in(3),
        "firsts": new_in(96),
        "lasts": sum(quarter in (WHOLE_DAY, max(visits)) for visits in others),
        "first_at": min(moments, default=None),
        "last_at": max(moments, default=None),
    }


def dimensions(made: Sequence[Click], subjects: Sequence[str]) -> list[dict[str, Any]]:
    counts: Counter[tuple[int, UUID, int, str]] = Counter()
    for click, subject in itertools.product(made, subjects):
        if click.kind == "human":
            agent = f"{click.device}\t{click.browser}\t{click.platform}"
            values = {"country": click.country, "referrer": click.referrer, "agent": agent}
            if subject == "account_id":
                values["link"] = click.link_id.hex()
            elif click.target:
                values["target"] = click.target
            for name, value in values.items():
                counts[click.day, UUID(bytes=getattr(click, subject)), DIMENSIONS[name], value] += 1
    names = ("day", "subject_id", "dimension", "value", "clicks")
    return [dict(zip(names, (*key, count), strict=True)) for key, count in counts.items()]


def moment(click: Click) -> datetime:
    return from_microseconds(click.at)


def spread(start: datetime, end: datetime, count: int, chance: random.Random) -> list[datetime]:
    """Moments between the two, some of them on a quarter of an hour or next to one."""
    length = (end - start) // timedelta(microseconds=1)
    moments = [start + timedelta(microseconds=chance.randrange(length)) for _ in range(count)]
    quarter = timedelta(minutes=15)
    for index in range(0, count, 4):
        on_it = start + (moments[index] - start) // quarter * quarter
        moments[index] = max(start, on_it - timedelta(microseconds=chance.randrange(2)))
    return moments
