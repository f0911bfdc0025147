"""Exports of clicks: all of them, once, oldest first."""

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
from waypost.resources.clicks.backends.sql import SqlClickStore, write
from waypost.resources.clicks.backends.sql import export as sql_export
from waypost.resources.clicks.export import CSV_COLUMNS, ExportFormat, export
from waypost.resources.clicks.model import Click, Subject, click_retention
from waypost.resources.clicks.schemas import to_json
from waypost.resources.clicks.store import ExportQuery
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
    rest = {"utm_params": {}, "tags": [], "is_enabled": True, "created_at": START, "updated_at": START}
    link_id = new_id()
    async with db.write() as tx:
        await tx.execute(insert(links), row | rest | {"id": link_id} | fields)
    return link_id


def click(owner: Person, link: UUID, at: datetime = START, **fields: Any) -> Click:
    since = at - EPOCH
    ids = new_id().bytes, owner.account_id.bytes, link.bytes
    return Click(*ids, microseconds(at), since.days, 0, **fields)


async def add(db: Database, new: Sequence[Click]) -> None:
    async with db.write() as tx:
        await write.add(tx, new)


async def text(db: Database, expected: ExportQuery = ExportQuery(), form: ExportFormat = "ndjson", **rest: Any) -> str:  # noqa: B008  # frozen
    to = io.StringIO(newline="")
    count = await export(SqlClickStore(), db, expected, to, form, shared_domain=SHARED, **rest)
    if form == "ndjson":
        assert count == to.getvalue().count("\n")
    return to.getvalue()


async def exported(db: Database, **expected: Any) -> list[str]:
    """The ids, in the order of the file."""
    return [json.loads(line)["id"] for line in (await text(db, ExportQuery(**expected))).splitlines()]


def ids(of: Sequence[Click]) -> list[str]:
    return [str(UUID(bytes=each.id)) for each in of]


async def test_exports_every_field_as_csv_and_ndjson(db: Database, alice: Person) -> None:
    link = await new_link(db, alice, "spring")
    fields = {"ip": "192.0.2.7", "country": "DE", "visitor_id": -1, "referrer": "https://a.example/ü", "is_scan": True}
    new = click(alice, link, START, device="mobile", browser="Safari", platform="iOS", **fields)
    await add(db, [new])
    assert json.loads(await text(db)) == to_json(new)
    [header, row] = csv.reader(io.StringIO(await text(db, form="csv"), newline=""))
    assert header == [*to_json(new), "short_url"] == [*CSV_COLUMNS]
    start = [*ids([new]), str(link), "192.0.2.7", "DE", "ffffffffffffffff", "https://a.example/ü", "mobile", "Safari"]
    assert row == [*start, "iOS", timestamp(START), "true", "human", "", "go.test/spring"]


async def test_exports_targets_as_ndjson(db: Database, alice: Person) -> None:
    new = click(alice, await new_link(db, alice, "spring"), START, target='Grüße "A"')
    await add(db, [new])
    assert json.loads(await text(db)) == {**to_json(new), "target": 'Grüße "A"'}


async def test_an_export_without_clicks_has_only_the_csv_header(db: Database) -> None:
    assert await text(db) == ""
    assert await text(db, form="csv") == ",".join(CSV_COLUMNS) + "\r\n"


@pytest.mark.parametrize("at_once", [1, 7, 1000])
async def test_exports_every_click_once_in_order(
    db: Database, alice: Person, bob: Person, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sql_export, "_BATCH_SIZE", at_once)
    people = {await new_link(db, who, slug): who for who, slug in ((alice, "a"), (alice, "b"), (bob, "c"))}
    day = timedelta(days=1)
    moments = [START + n * day + n % 7 * timedelta(hours=1, microseconds=n) for n in range(5)] * 3
    moments += [START + day] * 10  # at one moment, more than a page
    new = [click(who, link, at) for at in moments for link, who in people.items()]
    await add(db, new)
    new.sort(key=lambda each: (each.at, each.id))
    link = UUID(bytes=new[0].link_id)
    assert await exported(db) == ids(new)
    assert await exported(db, subject=Subject(alice.account_id, link)) == ids(
        [each for each in new if each.link_id == link.bytes]
    )
    hers = [each for each in new if each.account_id == alice.account_id.bytes]
    assert await exported(db, subject=Subject(alice.account_id)) == ids(hers)


async def test_includes_the_start_and_excludes_the_end(db: Database, alice: Person) -> None:
    link = await new_link(db, alice, "a")
    moment = timedelta(microseconds=1)
    midnight = START.replace(hour=0)
    times = [START - moment, START, midnight + timedelta(days=1), START + timedelta(days=1), START + timedelta(days=2)]
    new = [click(alice, link, at) for at in times]
    await add(db, new)
    for subject in (None, Subject(alice.account_id, link)):
        expected = {"subject": subject, "start": START}
        assert await exported(db, **expected) == ids(new[1:])
        assert await exported(db, **expected, end=START + moment) == ids(new[1:2])
        assert await exported(db, **expected, end=START + timedelta(days=2)) == ids(new[1:4])
        assert await exported(db, subject=subject, end=START) == ids(new[:1])


async def test_exports_the_chosen_kind(db: Database, alice: Person) -> None:
    link = await new_link(db, alice, "a")
    human, crawler = click(alice, link), click(alice, link, kind="crawler", bot="Googlebot")
    await add(db, [human, crawler])
    assert await exported(db) == ids([human])
    assert await exported(db, kind="crawler") == ids([crawler])
    assert len(await exported(db, kind=None)) == 2
    assert json.loads(await text(db, ExportQuery(kind="crawler")))["bot"] == "Googlebot"


async def test_leaves_out_clicks_past_retention(db: Database, alice: Person) -> None:
    link = await new_link(db, alice, "a")
    new = [click(alice, link, START - timedelta(days=1)), click(alice, link)]
    await add(db, new)
    async with db.write() as tx:
        await tx.execute(insert(click_retention).values(id=1, kept_since=new[1].day))
    assert await exported(db) == ids(new[1:])


async def test_names_the_short_url_of_deleted_links_and_custom_domains(db: Database, alice: Person) -> None:
    link = await new_link(db, alice, "a", domain_id=await domain(db, alice.account_id, "links.example"))
    await add(db, [click(alice, link)])
    async with db.write() as tx:
        await tx.execute(update(links).values(deleted_at=START))
    assert (await text(db, form="csv")).endswith(",links.example/a\r\n")


@pytest.mark.parametrize("formula", ["=1+1", "+1", "-1", "@SUM(A1)", '=HYPERLINK("http://x","y")', "\t=1", "\r=1"])
async def test_escapes_formulas_in_csv(db: Database, alice: Person, formula: str) -> None:
    new = click(
        alice,
        await new_link(db, alice, "a"),
        browser=formula,
        platform=formula,
        referrer=formula,
        bot=formula,
        ip=formula,
    )
    await add(db, [new])
    [_, row] = csv.reader(io.StringIO(await text(db, form="csv"), newline=""))
    assert [cell for cell in row if cell[:1] in {*"=+-@\t\r"}] == []
    assert row.count(f"'{formula}") == 5
    assert json.loads(await text(db))["browser"] == formula


async def test_keeps_unusual_text(db: Database, alice: Person) -> None:
    odd = 'a,"b"\r\nc\u2028d\té'
    await add(db, [click(alice, await new_link(db, alice, "a"), referrer=odd)])
    to = io.StringIO(newline="")
    await export(SqlClickStore(), db, ExportQuery(), to, "csv", shared_domain=SHARED)
    [_, row] = csv.reader(io.StringIO(to.getvalue(), newline=""))
    assert row[5] == odd


async def test_reports_progress(db: Database, alice: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sql_export, "_BATCH_SIZE", 2)
    link = await new_link(db, alice, "a")
    await add(db, [*(click(alice, link) for _ in range(3)), click(alice, link, kind="preview")])
    progress: list[tuple[int, int]] = []
    await text(db, ExportQuery(Subject(alice.account_id, link)), on_progress=lambda *step: progress.append(step))
    assert progress == [(2, 3), (3, 3)]
