"""Clicks as files: all of them, once, oldest first, whoever they are of and however they came."""

import csv
import io
import json
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from domains import domain
from people import START, Person, new_person
from sqlalchemy import insert, update

from waypost.database import Database
from waypost.kit.clock import EPOCH, microseconds, timestamp
from waypost.kit.ids import new_id
from waypost.resources.clicks import export as exporting
from waypost.resources.clicks import store
from waypost.resources.clicks.export import COLUMNS, Form, Wanted, export
from waypost.resources.clicks.model import Click, click_retention
from waypost.resources.clicks.schemas import to_json
from waypost.resources.clicks.subject import Subject
from waypost.resources.links.model import links

SHARED = "go.test"


@pytest.fixture
async def alice(db: Database) -> Person:
    return await new_person(db, "alice")


@pytest.fixture
async def bob(db: Database) -> Person:
    return await new_person(db, "bob")


async def new_link(db: Database, owner: Person, slug: str, **fields: Any) -> UUID:
    row = {"account_id": owner.account_id, "slug": slug, "destination_url": "", "title": "", "search_text": ""}
    rest = {"utm_params": {}, "tags": [], "is_on": True, "created_at": START, "updated_at": START}
    link_id = new_id()
    async with db.write() as tx:
        await tx.execute(insert(links), row | rest | {"id": link_id} | fields)
    return link_id


def click(owner: Person, link: UUID, at: datetime = START, **fields: Any) -> Click:
    since = at - EPOCH
    ids = new_id().bytes, owner.account_id.bytes, link.bytes
    return Click(*ids, microseconds(at), since.days, 0, **fields)


async def add(db: Database, told: Sequence[Click]) -> None:
    async with db.write() as tx:
        await store.add(tx, told)


async def text(db: Database, wanted: Wanted = Wanted(), form: Form = "ndjson", **rest: Any) -> str:  # noqa: B008  # frozen
    to = io.StringIO(newline="")
    count = await export(db, wanted, to, form, shared_domain=SHARED, **rest)
    if form == "ndjson":
        assert count == to.getvalue().count("\n")
    return to.getvalue()


async def exported(db: Database, **wanted: Any) -> list[str]:
    """The ids, in the order of the file."""
    return [json.loads(line)["id"] for line in (await text(db, Wanted(**wanted))).splitlines()]


def ids(of: Sequence[Click]) -> list[str]:
    return [str(UUID(bytes=each.id)) for each in of]


async def test_it_works(db: Database, alice: Person) -> None:
    link = await new_link(db, alice, "spring")
    fields = {"ip": "192.0.2.7", "country": "DE", "visitor_id": -1, "referrer": "https://a.example/ü", "is_scan": True}
    told = click(alice, link, START, device="mobile", browser="Safari", platform="iOS", **fields)
    await add(db, [told])
    assert json.loads(await text(db)) == to_json(told)
    [header, row] = csv.reader(io.StringIO(await text(db, form="csv"), newline=""))
    assert header == [*to_json(told), "short_url"] == [*COLUMNS]
    start = [*ids([told]), str(link), "192.0.2.7", "DE", "ffffffffffffffff", "https://a.example/ü", "mobile", "Safari"]
    assert row == [*start, "iOS", timestamp(START), "true", "human", "", "go.test/spring"]


async def test_nothing_there(db: Database) -> None:
    assert await text(db) == ""
    assert await text(db, form="csv") == ",".join(COLUMNS) + "\r\n"


@pytest.mark.parametrize("at_once", [1, 7, 1000])
async def test_every_click_once_and_in_order(
    db: Database, alice: Person, bob: Person, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exporting, "_AT_ONCE", at_once)
    people = {await new_link(db, who, slug): who for who, slug in ((alice, "a"), (alice, "b"), (bob, "c"))}
    day = timedelta(days=1)
    moments = [START + n * day + n % 7 * timedelta(hours=1, microseconds=n) for n in range(5)] * 3
    moments += [START + day] * 10  # at one moment, more than a page
    told = [click(who, link, at) for at in moments for link, who in people.items()]
    await add(db, told)
    told.sort(key=lambda each: (each.at, each.id))
    link = UUID(bytes=told[0].link_id)
    assert await exported(db) == ids(told)
    assert await exported(db, subject=Subject(link)) == ids([each for each in told if each.link_id == link.bytes])
    hers = [each for each in told if each.account_id == alice.account_id.bytes]
    assert await exported(db, subject=Subject(alice.account_id, is_account=True)) == ids(hers)


async def test_a_period_has_its_beginning_and_not_its_end(db: Database, alice: Person) -> None:
    link = await new_link(db, alice, "a")
    moment = timedelta(microseconds=1)
    midnight = START.replace(hour=0)
    times = [START - moment, START, midnight + timedelta(days=1), START + timedelta(days=1), START + timedelta(days=2)]
    told = [click(alice, link, at) for at in times]
    await add(db, told)
    for subject in (None, Subject(link)):
        wanted = {"subject": subject, "start": START}
        assert await exported(db, **wanted) == ids(told[1:])
        assert await exported(db, **wanted, end=START + moment) == ids(told[1:2])
        assert await exported(db, **wanted, end=START + timedelta(days=2)) == ids(told[1:4])
        assert await exported(db, subject=subject, end=START) == ids(told[:1])


async def test_kinds(db: Database, alice: Person) -> None:
    link = await new_link(db, alice, "a")
    human, crawler = click(alice, link), click(alice, link, kind="crawler", bot="Googlebot")
    await add(db, [human, crawler])
    assert await exported(db) == ids([human])
    assert await exported(db, kind="crawler") == ids([crawler])
    assert len(await exported(db, kind=None)) == 2
    assert json.loads(await text(db, Wanted(kind="crawler")))["bot"] == "Googlebot"


async def test_what_retention_has_taken_is_not_in_it(db: Database, alice: Person) -> None:
    link = await new_link(db, alice, "a")
    told = [click(alice, link, START - timedelta(days=1)), click(alice, link)]
    await add(db, told)
    async with db.write() as tx:
        await tx.execute(insert(click_retention).values(id=1, kept_since=told[1].day))
    assert await exported(db) == ids(told[1:])


async def test_deleted_links_and_domains_of_their_own(db: Database, alice: Person) -> None:
    link = await new_link(db, alice, "a", domain_id=await domain(db, alice.account_id, "links.example"))
    await add(db, [click(alice, link)])
    async with db.write() as tx:
        await tx.execute(update(links).values(deleted_at=START))
    assert (await text(db, form="csv")).endswith(",links.example/a\r\n")


@pytest.mark.parametrize("evil", ["=1+1", "+1", "-1", "@SUM(A1)", '=HYPERLINK("http://x","y")', "\t=1", "\r=1"])
async def test_no_cell_is_a_formula(db: Database, alice: Person, evil: str) -> None:
    told = click(alice, await new_link(db, alice, "a"), browser=evil, platform=evil, referrer=evil, bot=evil, ip=evil)
    await add(db, [told])
    [_, row] = csv.reader(io.StringIO(await text(db, form="csv"), newline=""))
    assert [cell for cell in row if cell[:1] in {*"=+-@\t\r"}] == []
    assert row.count(f"'{evil}") == 5
    assert json.loads(await text(db))["browser"] == evil


async def test_odd_text_comes_back_as_it_was(db: Database, alice: Person) -> None:
    odd = 'a,"b"\r\nc\u2028d\té'
    await add(db, [click(alice, await new_link(db, alice, "a"), referrer=odd)])
    to = io.StringIO(newline="")
    await export(db, Wanted(), to, "csv", shared_domain=SHARED)
    [_, row] = csv.reader(io.StringIO(to.getvalue(), newline=""))
    assert row[5] == odd


async def test_it_tells_how_far_it_is(db: Database, alice: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exporting, "_AT_ONCE", 2)
    link = await new_link(db, alice, "a")
    await add(db, [*(click(alice, link) for _ in range(3)), click(alice, link, kind="preview")])
    told: list[tuple[int, int]] = []
    await text(db, Wanted(Subject(link)), told=lambda *step: told.append(step))
    assert told == [(2, 3), (3, 3)]
