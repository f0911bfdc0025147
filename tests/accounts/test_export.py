"""The export has all of an account's data and clicks, in order, and is written while it is read."""

import csv
import io
import json
import re
import zipfile
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from browsing import Browser, WebApp, open_place
from people import START
from resources.clicks.visited import fill, new_click, new_link
from resources.links.added import add_links
from sqlalchemy import update

from waypost.accounts.data import export
from waypost.accounts.data.archive.contents import write_archive
from waypost.composition import new_context
from waypost.context import Context
from waypost.kit.fair_queue import FairQueue
from waypost.packages import RESOURCES
from waypost.resources.clicks import export as account_export
from waypost.resources.clicks.backends.sql import export as click_export
from waypost.resources.clicks.model import Click
from waypost.resources.links import Link, account_data
from waypost.resources.links.model import links

_BATCH_SIZE = 50


@pytest.fixture
async def place(database_url: str, tmp_path: Path) -> AsyncIterator[WebApp]:
    async with open_place(database_url, tmp_path) as opened:
        yield opened


@pytest.fixture(autouse=True)
def _in_small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(click_export, "_BATCH_SIZE", _BATCH_SIZE)
    monkeypatch.setattr(account_data, "_EXPORT_BATCH", 4)


def export_context(place: WebApp) -> Context:
    context = new_context(place.settings, place.db, lambda _: None, place.clock)
    return replace(context, shared_domain="app.test", cname_target="app.test")


async def furnish(place: WebApp, browser: Browser, count: int) -> tuple[list[Link], list[Click]]:
    """Some links, the last of them deleted since, and clicks of three days and every kind, many at one moment."""
    assert browser.account
    made = [new_link(browser.account.id, created_at=START + timedelta(minutes=number // 3)) for number in range(11)]
    visits = [
        new_click(
            made[number % 11],
            START + timedelta(hours=number * 3 % 72 // 24 * 24, seconds=number // 30),
            kind=("human", "crawler", "preview")[number % 3],
            referrer="https://ä.example/\u2028",
        )
        for number in range(count)
    ]
    async with place.db.write() as tx:
        for link in made:
            await add_links(tx, [link])
        await tx.execute(update(links).where(links.c.id == made[-1].id).values(deleted_at=START))
    await fill(place.db, visits)
    place.clock.at = START + timedelta(days=4)  # an export contains what was there when it began
    return made[:-1], visits


async def test_exports_every_own_click_once(place: WebApp) -> None:
    ada, bob = await place.browser("ada@example.com"), await place.browser("bob@example.com")
    made, visits = await furnish(place, ada, 333)
    await furnish(place, bob, 40)
    await place.authenticate_all()
    answer = await ada.post("/account/data/export")
    assert "content-length" not in answer.headers
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        assert archive.testzip() is None
        described = re.findall(r"^(\S+\.\w+) ", archive.read("README.txt").decode(), re.MULTILINE)
        assert archive.namelist() == ["README.txt", *described]
        clicks = [json.loads(line) for line in archive.read("clicks.ndjson").decode().split("\n")[:-1]]
        exported_links = [json.loads(line) for line in archive.read("links.ndjson").decode().split("\n")[:-1]]
    in_order = sorted(visits, key=lambda click: (click.at, click.id))
    assert [click["id"].replace("-", "") for click in clicks] == [click.id.hex() for click in in_order]
    assert [click["kind"] for click in clicks] == [click.kind for click in in_order]
    assert re.search(r"\d links and [\d,]+ clicks: about 1 MB", (await ada.get("/account/data")).text)
    table = await ada.post("/account/data/export", {"file": "clicks"})
    assert table.headers["content-type"].startswith("text/csv")
    assert [row["id"] for row in csv.DictReader(io.StringIO(table.text))] == [click["id"] for click in clicks]
    newest = sorted(made, key=lambda link: (link.created_at, link.id), reverse=True)
    assert [link["id"] for link in exported_links] == [str(link.id) for link in newest]


async def test_the_archive_is_written_while_it_is_read(place: WebApp, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many clicks there are, memory holds one batch."""
    ada = await place.browser("ada@example.com")
    await furnish(place, ada, 333)
    read, read_batches = [], account_export.read_batches

    async def counted(*given: Any) -> AsyncIterator[Any]:
        async for batch in read_batches(*given):
            read.append(len(batch))
            yield batch

    monkeypatch.setattr(account_export, "read_batches", counted)
    deps = export_context(place)
    assert ada.account
    turns = FairQueue(1, per_key=1)
    ahead = [len(read) async for _ in export.in_turns(write_archive(deps, RESOURCES, ada.account), ada.account, turns)]
    assert (sum(read), max(read)) == (333, _BATCH_SIZE)
    assert sorted(set(ahead)) == [*range(len(read) + 1)]  # never two pages for one piece

    paused = export.in_turns(write_archive(deps, RESOURCES, ada.account), ada.account, turns)
    await anext(paused)
    assert not turns._running, "others have their turns while this one is not read (R30)"
    await paused.aclose()
