"""What an account leaves behind when it is deleted: taken slugs, and nothing of anybody else's is touched."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from browsing import Place, open_place
from people import START
from sqlalchemy import Table, insert, select

from waypost.app import _handlers
from waypost.database import Sealed, metadata
from waypost.kit.clock import EPOCH
from waypost.kit.ids import new_id
from waypost.redirect import ChangeFeed
from waypost.resources.account import closing
from waypost.wiring import domain_doors
from waypost.worker.model import Job, jobs

TODAY = (START - EPOCH).days
LINK: dict[str, Any] = {"destination_url": "https://example.com/", "utm_params": {}}


@pytest.fixture
async def place(database_url: str, tmp_path: Path) -> AsyncIterator[Place]:
    async with open_place(database_url, tmp_path) as place:
        yield place


def row(table: Table, **values: Any) -> dict[str, Any]:
    """With something in every column that must have it."""
    filled = {}
    for column in table.c:
        if (
            column.name in values
            or column.nullable
            or column.server_default is not None
            or column.autoincrement is True
        ):
            continue
        kind = type(column.type).__name__
        filled[column.name] = {
            "Id": new_id(),
            "Instant": START,
            "Json": [],
            "Encrypted": Sealed(b"x"),
            "Boolean": True,
            "Integer": 1,
            "BigInteger": 1,
            "SmallInteger": 1,
        }.get(kind, "x")
    return filled | values


async def filled(place: Place, account: UUID, name: str) -> None:
    """Five links, each clicked on three days by two visitors, and one of everything else."""
    tables = metadata.tables
    rows: list[tuple[str, dict[str, Any]]] = []
    domain, pixel, webhook = new_id(), new_id(), new_id()
    own = {"account_id": account}
    rows += [
        ("domains", own | {"id": domain, "hostname": f"{name}.example", "status": "verified", "tls_status": "none"}),
        ("pixels", own | {"id": pixel, "platform": "facebook"}),
        ("webhooks", own | {"id": webhook}),
        *(("webhook_deliveries", own | {"webhook_id": webhook, "status": "delivered"}) for _ in range(5)),
    ]
    for number in range(5):
        link, slug = new_id(), f"{name}{number}"
        rows += [
            ("links", own | {"id": link, "slug": slug, "domain_id": domain if number else None} | LINK),
            ("slugs", own | {"slug": slug, "link_id": link}),
            ("link_tags", own | {"tag": "t", "link_id": link}),
            *([("link_pixels", {"link_id": link, "position": 0, "pixel_id": pixel})] if number else []),
            ("link_clicks", {"link_id": link, "clicks": 6}),
            ("qr_looks", {"link_id": link}),
            ("qr_scans", {"link_id": link, "scans": 1}),
        ]
        for day in range(TODAY - 2, TODAY + 1):
            for subject in (link, account) if number == 0 else (link,):
                rows += [
                    ("click_totals", {"day": day, "subject_id": subject, "quarter": -1}),
                    ("click_dimensions", {"day": day, "subject_id": subject, "dimension": 1, "value": "x"}),
                ]
                rows += [("visitor_days", {"day": day, "visitor_id": n, "subject_id": subject}) for n in (1, 2)]
            rows += [("clicks", own | {"link_id": link, "day": day, "visitor_id": n, "kind": "human"}) for n in (1, 2)]
    async with place.db.write() as tx:
        for table, values in rows:
            await tx.execute(insert(tables[table]), row(tables[table], **values))


async def counted(place: Place) -> dict[str, int]:
    async with place.db.read() as tx:
        return {
            name: len((await tx.execute(select(*table.primary_key.columns))).all())
            for name, table in metadata.tables.items()
        }


async def worked_off(place: Place) -> list[str]:
    """The phases, as often as there was a job for each."""
    feed = ChangeFeed(place.settings.data_dir / "run" / "changes")
    work = _handlers(place.settings, place.db, domain_doors(place.settings, place.db, feed, place.clock), feed)
    done: list[str] = []
    while True:
        async with place.db.write() as tx:
            found = (await tx.execute(select(jobs).where(jobs.c.name == closing.JOB))).all()
            await tx.execute(jobs.delete().where(jobs.c.name == closing.JOB))
        if not found:
            feed.close()
            return done
        for each in found:
            done.append(each.payload["phase"])
            await work[closing.JOB](Job(each.id, each.name, each.payload, each.account_id, 1, 8, "a test"))


@pytest.mark.parametrize("longest", [30.0, -1.0], ids=["at once", "one step a job"])
async def test_it_works(place: Place, monkeypatch: pytest.MonkeyPatch, longest: float) -> None:
    monkeypatch.setattr(closing, "_AT_ONCE", 2)
    monkeypatch.setattr(closing, "_LONGEST", longest)
    bob = await place.browser("bob@example.com")
    assert bob.account
    await filled(place, bob.account.id, "bob")
    before = await counted(place)
    ada = await place.browser("ada@example.com")
    assert ada.account
    await filled(place, ada.account.id, "ada")
    assert (await ada.post("/account/delete", {"name": ""})).status_code == 303
    done = await worked_off(place)
    assert list(dict.fromkeys(done)) == ["links", "clicks", "rest"]
    assert len(done) == 3 or longest < 0
    after = await counted(place)
    ours = {name for name in before if name not in {"jobs", "route_changes", "sessions"}}
    changed = {name: after[name] - before[name] for name in ours if after[name] != before[name]}
    assert changed == {"slugs": 5}
    assert [(await bob.get(f"/{slug}")).status_code for slug in ("ada0", "bob0")] == [404, 302]


async def test_it_is_done_again_when_it_is_asked_for_twice(place: Place) -> None:
    ada = await place.browser("ada@example.com")
    assert ada.account
    await ada.post("/account/delete", {"name": ""})
    await worked_off(place)
    async with place.db.write() as tx:
        for phase in closing._PHASES:
            values = {"name": closing.JOB, "payload": {"phase": phase}, "account_id": ada.account.id, "attempts": 0}
            await tx.execute(insert(jobs), row(jobs, **values))
    assert sorted(set(await worked_off(place))) == ["clicks", "links", "rest"]
