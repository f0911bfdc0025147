"""The pixels of links: pixel_ids on create and change, and what becomes of them in routes."""

import asyncio
import json
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from people import new_key
from resources.links.room import KEYS, SHARED, Room, faults
from resources.webhooks.room import URL
from sqlalchemy import func, insert, select, update
from structlog.testing import capture_logs

from waypost.database import KeyRing
from waypost.kit.ids import new_id
from waypost.redirect import Route, new_route
from waypost.resources.links import PostgresRoutes, SqliteRoutes, rules
from waypost.resources.pixels import link_pixels, pixels
from waypost.resources.webhooks.model import webhook_deliveries, webhooks

MISSING = "01a1fbb2-2855-72ee-8e77-c161c4205e89"


async def test_it_works(room: Room) -> None:
    one, two = await room.pixel(), await room.pixel(platform="tiktok")
    link = await room.make(pixel_ids=[two, one])
    assert link["pixel_ids"] == [two, one]
    assert (await room.find(link)).json()["data"] == link
    assert (await room.browse()).json()["data"] == [link]
    room.clock.move(timedelta(hours=1))
    changed = await room.changed(link, pixel_ids=[one])
    assert changed == link | {"pixel_ids": [one], "updated_at": "2030-01-01T13:00:00.000000Z"}
    assert (await room.find(link)).json()["data"] == changed


async def test_their_order_is_the_link_s_own(room: Room) -> None:
    ids = [await room.pixel() for _ in range(12)]
    for order in (ids[::-1], ids[6:] + ids[:6]):
        link = await room.make(pixel_ids=order)
        assert (await room.find(link)).json()["data"]["pixel_ids"] == order


async def test_each_counts_once_at_its_first_place(room: Room) -> None:
    one, two = await room.pixel(), await room.pixel()
    link = await room.make(pixel_ids=[two, one, two, one.upper()])
    assert link["pixel_ids"] == [two, one]


@pytest.mark.parametrize("nothing", [[], None])
async def test_all_are_detached(room: Room, nothing: Any) -> None:
    link = await room.make(pixel_ids=[await room.pixel()])
    assert (await room.changed(link, pixel_ids=nothing))["pixel_ids"] == []
    async with room.deps.db.read() as tx:
        assert await tx.scalar(select(func.count()).select_from(link_pixels)) == 0


async def test_what_is_not_sent_stays_attached(room: Room) -> None:
    pixel = await room.pixel()
    link = await room.make(pixel_ids=[pixel])
    for fields in ({"title": "Another"}, {"destination_url": room.site.url("/page?2")}, {"slug": "another"}):
        assert (await room.changed(link, **fields))["pixel_ids"] == [pixel]


async def test_the_same_again_is_no_change(room: Room) -> None:
    pixel, other = await room.pixel(), await room.pixel()
    link = await room.make(pixel_ids=[pixel, other])
    room.clock.move(timedelta(hours=1))
    assert await room.changed(link, pixel_ids=[pixel, other]) == link
    assert (await room.changed(link, pixel_ids=[other, pixel]))["updated_at"] != link["updated_at"]


async def test_faults_are_told_by_their_index(room: Room) -> None:
    own, foreign = await room.pixel(), await room.pixel(room.bob)
    sent = [own, foreign, MISSING, "x", 5, None, own, [own], own.replace("-", "")]
    wrong = {"pixel_ids.1": [rules.NO_SUCH_PIXEL], "pixel_ids.2": [rules.NO_SUCH_PIXEL]}
    wrong |= {f"pixel_ids.{n}": [rules.NOT_AN_ID] for n in (3, 4, 5, 7, 8)}
    assert faults(await room.post({"pixel_ids": sent})) == wrong
    link = await room.make(pixel_ids=[own])
    assert faults(await room.patch(link, {"pixel_ids": sent, "title": 5})) == wrong | {
        "title": ["This must be a string."]
    }
    assert (await room.find(link)).json()["data"] == link


async def test_a_link_may_have_20(room: Room) -> None:
    ids = [await room.pixel() for _ in range(21)]
    assert faults(await room.post({"pixel_ids": ids})) == {"pixel_ids": ["This may have at most 20 entries."]}
    assert (await room.make(pixel_ids=ids[:20]))["pixel_ids"] == ids[:20]


async def test_a_form_is_taken(room: Room) -> None:
    ids = [await room.pixel(), await room.pixel()]
    fields = [("destination_url", room.site.url()), *(("pixel_ids[]", id_) for id_ in ids)]
    answer = await room.send_form("POST", "", fields)
    assert (answer.status_code, answer.json()["data"]["pixel_ids"]) == (201, ids)


async def test_one_that_is_deleted_while_the_destination_is_looked_at(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the first look said, the transaction decides."""
    pixel = await room.pixel()
    link = await room.make()

    async def always(_tx: object, _account: UUID, ids: list[UUID]) -> set[UUID]:
        return set(ids)

    monkeypatch.setattr("waypost.resources.pixels.known", always)
    await room.delete_pixel(pixel)
    wrong = {"pixel_ids.0": [rules.NO_SUCH_PIXEL]}
    assert faults(await room.post({"slug": "free", "pixel_ids": [pixel]})) == wrong
    assert faults(await room.patch(link, {"pixel_ids": [pixel]})) == wrong
    await room.make(slug="free")


async def test_attaching_and_deleting_at_once_leaves_nothing_attached(room: Room) -> None:
    link = await room.make()
    pixels_made = [await room.pixel() for _ in range(8)]
    other = await new_key(room.deps.db, room.alice.account_id)
    for pixel in pixels_made:
        attached, _ = await asyncio.gather(room.patch(link, {"pixel_ids": [pixel]}, other), room.delete_pixel(pixel))
        assert attached.status_code in {200, 422}
        async with room.deps.db.read() as tx:
            assert await tx.scalar(select(func.count()).select_from(link_pixels)) == 0


async def test_the_event_of_its_creation_tells_of_them(room: Room) -> None:
    pixel = await room.pixel()
    row = {"id": new_id(), "account_id": room.alice.account_id, "url": URL, "event_types": ["link.created"]}
    row |= {"created_at": room.clock(), "updated_at": room.clock()}
    async with room.deps.db.write() as tx:
        await tx.execute(insert(webhooks).values(row | {"secret": KEYS.seal(webhooks.c.secret, row["id"], "whsec_x")}))
    link = await room.make(pixel_ids=[pixel])
    async with room.deps.db.read() as tx:
        body = (await tx.execute(select(webhook_deliveries.c.body))).scalar_one()
    assert json.loads(body)["data"] == link


# ── routes ──────────────────────────────────────────────────────────────────────────────────────────────────────────


async def look(room: Room, slug: bytes, keys: KeyRing = KEYS) -> Route | None:
    db = room.deps.db
    routes = SqliteRoutes(db.path, SHARED, keys) if db.dialect == "sqlite" else PostgresRoutes(db, SHARED, keys)
    try:
        return await routes.find(slug)
    finally:
        routes.close()


def route(room: Room, link: dict[str, Any], *fired: tuple[str, str, str | None]) -> Route:
    tags = [(UUID(id_), platform, platforms_id) for id_, platform, platforms_id in fired]
    return new_route(SHARED.encode(), room.site.url(), UUID(link["id"]), pixels=tags)


async def test_a_route_has_them_in_the_link_s_order(room: Room) -> None:
    one, two = await room.pixel(pixel_id="111"), await room.pixel(platform="tiktok", pixel_id="C222")
    link = await room.make(slug="a", pixel_ids=[two, one])
    found = await look(room, b"a")
    assert found == route(room, link, (two, "tiktok", "C222"), (one, "facebook", "111"))
    assert found is not None
    assert found[3] is not None
    await room.changed(link, pixel_ids=[one, two])
    assert await look(room, b"a") == route(room, link, (one, "facebook", "111"), (two, "tiktok", "C222"))
    await room.change_pixel(two, platform="google_ads", pixel_id="AW-3")
    assert await look(room, b"a") == route(room, link, (one, "facebook", "111"), (two, "google_ads", "AW-3"))


async def test_a_route_without_is_plain(room: Room) -> None:
    pixel = await room.pixel()
    link = await room.make(slug="a")
    await room.make(slug="b", pixel_ids=[pixel])
    assert await look(room, b"a") == route(room, link)
    link = await room.make(slug="c", pixel_ids=[pixel])
    await room.delete_pixel(pixel)
    found = await look(room, b"c")
    assert found == route(room, link)
    assert found is not None
    assert found[3] is None


async def test_of_one_that_no_key_opens_the_log_tells_once(room: Room) -> None:
    moved, fine = await room.pixel(pixel_id="111"), await room.pixel(pixel_id="222")
    link = await room.make(slug="a", pixel_ids=[moved, fine])
    async with room.deps.db.write() as tx:
        of_another = select(pixels.c.pixel_id).where(pixels.c.id == UUID(fine)).scalar_subquery()
        await tx.execute(update(pixels).where(pixels.c.id == UUID(moved)).values(pixel_id=of_another))
    db = room.deps.db
    routes = SqliteRoutes(db.path, SHARED, KEYS) if db.dialect == "sqlite" else PostgresRoutes(db, SHARED, KEYS)
    expected = route(room, link, (moved, "facebook", None), (fine, "facebook", "222"))
    with capture_logs() as told:
        for _ in range(3):
            assert await routes.find(b"a") == expected
    routes.close()
    assert [line["pixel"] for line in told] == [moved]
    with capture_logs():
        plain = await look(room, b"a", KeyRing(["another key"]))
    assert plain == route(room, link, (moved, "facebook", None), (fine, "facebook", None))
    assert plain is not None
    assert plain[3] is None
