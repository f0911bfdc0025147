"""Shares by the API."""

from datetime import timedelta
from importlib import import_module
from typing import Any

import pytest
from alembic.migration import MigrationContext
from alembic.operations import Operations
from browsing import WebApp
from resources.links.env import faults
from resources.shares.asking import FIELDS, Sharer, key_of, new_sharer
from sqlalchemy import Connection, insert, select, text

from waypost.audit.model import audit_entries
from waypost.kit.ids import new_id
from waypost.packages import RESOURCES
from waypost.resources.links import store as link_store
from waypost.resources.shares import rules
from waypost.resources.shares.model import shares


async def test_creates_lists_changes_and_deletes(place: WebApp) -> None:
    ada = await new_sharer(place)
    link = await ada.link(slug="spring")
    made = await ada.share(link_id=str(link.id), filters={"country": ["DE", "at"], "device": "-tablet"})
    assert list(made) == FIELDS
    assert made | {"id": "", "url": "", "created_at": "", "updated_at": ""} == {
        "id": "", "name": "Spring", "link_id": str(link.id), "tag": None, "hostname": None,
        "filters": {"country": ["DE", "AT"], "device": ["-tablet"]}, "from": None, "to": None, "has_password": False,
        "expires_at": None, "hide_below": 0, "embed_origins": [], "url": "", "embed_url": None, "created_at": "",
        "updated_at": "",
    }  # fmt: skip
    base, token = made["url"].rsplit("/", 1)
    assert (base, len(token)) == ("http://app.test/share", 43)
    assert (await ada.ask("GET", f"/{made['id']}")).json()["data"] == made
    place.clock.move(timedelta(hours=1))
    sent = {"name": "May", "from": "2029-12-01", "to": None, "hide_below": 5, "password": "open sesame"}
    changed = (await ada.ask("PATCH", f"/{made['id']}", json=sent)).json()["data"]
    assert changed == made | {
        "name": "May", "from": "2029-12-01T00:00:00.000000Z", "hide_below": 5, "has_password": True,
        "updated_at": "2030-01-01T13:00:00.000000Z",
    }  # fmt: skip
    assert (await ada.ask("PATCH", f"/{made['id']}", json={})).json()["data"] == changed
    other = await ada.share(tag="sale")
    listed = (await ada.ask("GET", "?per_page=1")).json()
    assert ([each["id"] for each in listed["data"]], listed["meta"]["total"]) == ([other["id"]], 2)
    assert (await ada.ask("DELETE", f"/{made['id']}")).status_code == 204
    assert (await ada.ask("GET", f"/{made['id']}")).status_code == 404
    async with place.db.read() as tx:
        query = select(audit_entries.c.action, audit_entries.c.changes).where(audit_entries.c.action.like("share.%"))
        entries = [tuple(row) for row in await tx.execute(query)]
    actions = sorted(action.removeprefix("share.") for action, _ in entries)
    assert actions == ["created", "created", "deleted", "updated"]
    assert dict(entries)["share.updated"] == {
        "name": ["Spring", "May"], "from": [None, "2029-12-01T00:00:00Z"], "hide_below": [0, 5], "password": None,
    }  # fmt: skip
    assert token not in str(entries)


async def test_urls_are_for_keys_that_may_write(place: WebApp) -> None:
    ada = await new_sharer(place)
    made = await ada.share(embed_origins=["https://example.com"], filters={"referrer": ["a"], "country": ["DE"]})
    assert made["embed_url"].startswith(f"{made['url']}/embed/")
    reading = await key_of(place, ada.browser, ["links:read"])
    shown = await ada.ask("GET", f"/{made['id']}", headers=reading)
    assert shown.json()["data"] == made | {"url": None, "embed_url": None}
    sent = {"If-None-Match": shown.headers["ETag"]}
    assert (await ada.ask("GET", f"/{made['id']}", headers={**reading, **sent})).status_code == 304
    assert (await ada.ask("GET", f"/{made['id']}", headers=sent)).json()["data"] == made, "another representation"
    changed = await ada.ask("PATCH", f"/{made['id']}", json={}, headers={"If-Match": shown.headers["ETag"]})
    assert changed.status_code == 200, "the same version"
    renamed = await ada.ask("PATCH", f"/{made['id']}", json={"name": "Other"})
    assert renamed.headers["ETag"] == (await ada.ask("GET", f"/{made['id']}")).headers["ETag"]
    assert (await ada.ask("DELETE", f"/{made['id']}", headers=reading)).status_code == 403
    bob = await new_sharer(place, "bob")
    for method in ("GET", "PATCH", "DELETE"):
        assert (await bob.ask(method, f"/{made['id']}", json={})).status_code == 404


async def test_new_password_or_origins_end_the_embed_url(place: WebApp) -> None:
    ada = await new_sharer(place)
    made = await ada.share(
        embed_origins=["https://EXAMPLE.com:443/", "http://localhost:8000", "https://bücher.example"]
    )
    assert made["embed_origins"] == ["https://example.com", "http://localhost:8000", "https://xn--bcher-kva.example"]
    urls = [made["embed_url"]]
    for fields in ({"name": "Other"}, {"password": "open sesame"}, {"embed_origins": ["https://a.example"]}):
        changed = (await ada.ask("PATCH", f"/{made['id']}", json=fields)).json()["data"]
        assert changed["url"] == made["url"]
        urls.append(changed["embed_url"])
    assert urls[0] == urls[1]
    assert len({*urls}) == 3
    assert (await ada.ask("PATCH", f"/{made['id']}", json={"embed_origins": None})).json()["data"]["embed_url"] is None


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"name": None}, {"name"}),
        ({"name": " "}, {"name"}),
        ({"name": "a" * 256, "tag": "", "hostname": 5}, {"name", "tag", "hostname"}),
        ({"tag": "a", "hostname": "go.test"}, {"tag", "hostname"}),
        ({"hostname": "other.example"}, {"hostname"}),
        ({"link_id": "1"}, {"link_id"}),
        ({"link_id": "01a1fbb2-2855-72ee-8e77-c161c4205e89"}, {"link_id"}),
        ({"filters": []}, {"filters"}),
        ({"filters": {"country": "Germany", "device": ["phone"], "color": "red"}},
         {"filters.country", "filters.device", "filters.color"}),
        ({"filters": {"country": [["DE"]]}}, {"filters.country"}),
        ({"filters": {"tag": [str(number) for number in range(201)]}}, {"filters.tag"}),
        ({"filters": {"tag": "a" * 10_000}}, {"filters.tag"}),
        ({"filters": {"link_id": "01a1fbb2-2855-72ee-8e77-c161c4205e89"}}, {"filters.link_id"}),
        ({"from": "2030-01-02", "to": "2030-01-01"}, {"from"}),
        ({"from": "1969-01-01", "to": "yesterday"}, {"from", "to"}),
        ({"password": "abc"}, {"password"}),
        ({"expires_at": "2029-01-01"}, {"expires_at"}),
        ({"hide_below": 101}, {"hide_below"}),
        ({"hide_below": -1}, {"hide_below"}),
        ({"hide_below": "5"}, {"hide_below"}),
        ({"embed_origins": "https://example.com"}, {"embed_origins"}),
        ({"embed_origins": ["https://example.com"] * 21}, {"embed_origins"}),
        ({"embed_origins": ["https://a.example", "http://a.example", "https://a.example/x", "https://*.example",
                            "https://u@a.example", "https://a;b.example", "ftp://a.example", "https://", "null"]},
         {f"embed_origins.{number}" for number in range(1, 9)}),
    ],
)  # fmt: skip
async def test_faults(place: WebApp, fields: dict[str, Any], named: set[str]) -> None:
    ada = await new_sharer(place)
    assert faults(await ada.ask("POST", json={"name": "Spring"} | fields)).keys() == named
    assert (await ada.ask("GET")).json()["data"] == []


async def test_filters_fit_what_is_shared(place: WebApp) -> None:
    ada = await new_sharer(place)
    link = await ada.link(tags=["sale"])
    made = await ada.share(filters={"tag": ["a,b", "-\\-c"], "link_id": str(link.id)}, hostname="app.test")
    assert made["filters"] == {"link_id": [str(link.id)], "tag": ["a,b", "-\\-c"]}
    changed = await ada.ask("PATCH", f"/{made['id']}", json={"hostname": None, "link_id": str(link.id)})
    assert faults(changed).keys() == {"filters.tag", "filters.link_id"}
    bob = await new_sharer(place, "bob")
    assert faults(await bob.ask("POST", json={"name": "x", "link_id": str(link.id)})).keys() == {"link_id"}


async def test_an_account_may_have_200(place: WebApp) -> None:
    ada = await new_sharer(place)
    await _fill(ada, rules.MAX_SHARES - 1)
    last = await ada.share()
    assert faults(await ada.ask("POST", json={"name": "x"})) == {"name": [rules.TOO_MANY]}
    assert faults(await ada.ask("POST", json={"name": "x", "hide_below": 101})).keys() == {"name", "hide_below"}
    await ada.ask("DELETE", f"/{last['id']}")
    await ada.share()


async def _fill(ada: Sharer, count: int) -> None:
    await ada.share()
    async with ada.place.db.write() as tx:
        (row,) = (await tx.execute(select(shares))).all()
        for number in range(count - 1):
            values = dict(zip(shares.c.keys(), row, strict=True))
            await tx.execute(insert(shares), {**values, "id": new_id(), "token_digest": f"{number}"})


async def test_a_repeated_request_creates_one(place: WebApp) -> None:
    ada = await new_sharer(place)
    key = {"Idempotency-Key": "one"}
    first, second = [await ada.ask("POST", json={"name": "Spring"}, headers=key) for _ in range(2)]
    assert first.json() == second.json()
    assert (await ada.ask("GET")).json()["meta"]["total"] == 1


async def test_the_migration_finds_tags(place: WebApp) -> None:
    ada, bob = await new_sharer(place), await new_sharer(place, "bob")
    made = [await ada.share(tag="sale"), await bob.share(tag="sale"), await ada.share(tag="gone"), await ada.share()]
    await ada.tag("DELETE", "gone")
    query = select(shares.c.id, shares.c.tag, shares.c.tag_id)
    async with place.db.read() as tx:
        before = {str(id_): rest for id_, *rest in await tx.execute(query)}
    before[made[2]["id"]][1] = None  # the id of a tag that is deleted

    def migrate(connection: Connection) -> None:
        connection.execute(text("ALTER TABLE shares DROP COLUMN tag_id"))
        with Operations.context(MigrationContext.configure(connection)):
            import_module("waypost.database.migrations.versions.0072_tags_of_shares").upgrade()

    await place.db.run_sync(migrate)
    async with place.db.read() as tx:
        assert {str(id_): rest for id_, *rest in await tx.execute(query)} == before


async def test_a_link_takes_its_shares_with_it(place: WebApp) -> None:
    ada = await new_sharer(place)
    link = await ada.link()
    await ada.share(link_id=str(link.id))
    await ada.share()
    async with place.db.write() as tx:
        for resource in RESOURCES:
            if resource.delete_of_links:
                await resource.delete_of_links(tx, [link.id])
        await link_store.purge(tx, [link.id])
    assert [each["link_id"] for each in (await ada.ask("GET")).json()["data"]] == [None]
