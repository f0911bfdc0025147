"""PATCH /v1/links/{id}"""

import asyncio
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from people import START
from resources.links.room import UNSAFE, Room, faults

from waypost.resources.links import add_clicks

LATER = "2030-01-01T12:01:00.000000Z"


async def test_it_works(room: Room) -> None:
    link = await room.make(slug="old", title="Old", tags=["x"])
    room.clock.move(timedelta(minutes=1))
    changed = await room.changed(link, slug="new", title="New", tags=["a", "b"], expires_at="2031-01-01T00:00:00Z")
    expected = {
        "slug": "new",
        "short_url": "go.test/new",
        "title": "New",
        "tags": ["a", "b"],
        "expires_at": "2031-01-01T00:00:00.000000Z",
        "updated_at": LATER,
    }
    assert changed == link | expected
    assert (await room.find(link)).json() == {"data": changed}


async def test_the_redirect_plane_is_told_of_both_slugs(room: Room) -> None:
    link = await room.make(slug="b")
    room.told.clear()
    await room.changed(link, slug="a")
    assert room.told == ["a", "b"]


@pytest.mark.parametrize("fields", [{}, {"title": "T"}, {"slug": "same", "tags": ["x"], "unknown": 1}])
async def test_nothing_to_change(room: Room, fields: dict[str, Any]) -> None:
    link = await room.make(slug="same", title="T", tags=["x"])
    room.clock.move(timedelta(minutes=1))
    assert await room.changed(link, **fields) == link


async def test_what_it_showed_can_be_sent_back(room: Room) -> None:
    link = await room.make(utm_params={"utm_source": "a"}, expires_at="2031-01-01T00:00:00Z")
    room.clock.move(timedelta(minutes=1))
    assert await room.changed(link, **{key: link[key] for key in link if key != "hostname"}) == link


async def test_null_clears(room: Room) -> None:
    link = await room.make(tags=["x"], expires_at="2031-01-01T00:00:00Z")
    nulls = ["title", "hostname", "og_title", "og_description", "og_image", "tags", "expires_at", "pixel_ids"]
    changed = await room.changed(link, **dict.fromkeys(nulls))
    cleared = {
        "title": "Untitled",
        "og_title": None,
        "og_description": None,
        "og_image": None,
        "tags": [],
        "expires_at": None,
    }
    assert changed == link | cleared


async def test_a_blank_clears_like_null(room: Room) -> None:
    link = await room.make()
    blank = await room.changed(link, title="", og_title="", og_description=" \n")
    cleared = {"title": "Untitled", "og_title": None, "og_description": None}
    assert blank == link | cleared


async def test_a_new_destination_leaves_the_preview(room: Room) -> None:
    link = await room.make()
    room.site.pages["/other"] = (200, "<title>Other</title>")
    changed = await room.changed(link, destination_url=room.site.url("/other"))
    assert changed == link | {"destination_url": room.site.url("/other")}
    assert room.site.seen == ["/page", "/other"]


async def test_a_new_destination_is_checked(room: Room) -> None:
    link = await room.make()
    room.site.pages["/down"] = (500, "")
    for url in (room.site.url("/down"), room.site.url(UNSAFE), "http://10.0.0.1/", "nonsense", "http://go.test/x"):
        assert faults(await room.patch(link, {"destination_url": url})).keys() == {"destination_url"}, url
    assert (await room.find(link)).json()["data"] == link


async def test_off_and_on(room: Room) -> None:
    link = await room.make()
    assert (await room.changed(link, status="inactive"))["status"] == "inactive"
    assert (await room.changed(link, title="still off"))["status"] == "inactive"
    assert (await room.changed(link, status="active"))["status"] == "active"


async def test_every_fault_is_told_at_once(room: Room) -> None:
    await room.make(slug="taken")
    link = await room.make()
    fields = {
        "destination_url": None,
        "slug": "taken",
        "title": "x" * 256,
        "hostname": "links.example.com",
        "og_image": "nonsense",
        "tags": [""],
        "expires_at": START.isoformat(),
        "pixel_ids": ["0190b5a3-9f3b-7000-8000-000000000000"],
        "status": "paused",
    }
    wrong = {*fields, "tags.0", "pixel_ids.0"} - {"tags", "pixel_ids"}
    assert faults(await room.patch(link, fields)).keys() == wrong
    assert (await room.find(link)).json()["data"] == link


@pytest.mark.parametrize("field", ["destination_url", "slug", "status"])
async def test_what_may_not_be_null(room: Room, field: str) -> None:
    link = await room.make()
    assert faults(await room.patch(link, {field: None})) == {field: ["This may not be null."]}


async def test_another_account_learns_nothing(room: Room) -> None:
    link = await room.make()
    answer = await room.patch(link, {"title": 5}, room.bob)
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")
    assert (await room.find(link)).json()["data"] == link


async def test_a_multipart_form(room: Room) -> None:
    link = await room.make(title="Old", og_title="Old")
    fields = [("title", "New"), ("og_title", ""), ("tags[0]", "a"), ("tags[1]", "b")]
    answer = await room.send_form("PATCH", f"/{link['id']}", fields)
    assert answer.json()["data"] == link | {"title": "New", "og_title": None, "tags": ["a", "b"]}


async def test_of_32_changes_none_is_lost(room: Room) -> None:
    link = await room.make()
    fields = ["title", "og_title", "og_description", "slug"]
    await asyncio.gather(*(room.changed(link, **{fields[n % 4]: f"v{n % 4}"}) for n in range(32)))
    kept = (await room.find(link)).json()["data"]
    assert [kept[name] for name in fields] == ["v0", "v1", "v2", "v3"]


async def test_links_may_swap_slugs_at_the_same_moment(room: Room) -> None:
    """Neither may win, but both are answered: locks are taken in one order."""
    one, two = await room.make(slug="one"), await room.make(slug="two")
    answers = await asyncio.gather(room.patch(one, {"slug": "two"}), room.patch(two, {"slug": "one"}))
    assert [answer.status_code for answer in answers] == [422, 422]


async def test_clicks_counted_meanwhile_stay(room: Room) -> None:
    link = await room.make()
    async with room.deps.db.write() as tx:
        await add_clicks(tx, [(UUID(link["id"]).bytes, room.alice.account_id.bytes, 5)])
    assert (await room.changed(link, title="New"))["clicks"] == 5
    assert (await room.find(link)).json()["data"]["clicks"] == 5
