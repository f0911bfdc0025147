"""The pixels of links: pixel_ids on create and change, and what becomes of them in routes."""

import asyncio
import json
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from people import new_key
from resources.links.env import KEYS, SHARED, Env, faults
from resources.webhooks.env import URL
from sqlalchemy import func, insert, select, update
from structlog.testing import capture_logs

from waypost.database import KeyRing
from waypost.kit.ids import new_id
from waypost.redirect import Route, new_route
from waypost.resources.links import rules
from waypost.resources.links.routes.source import open_route_source
from waypost.resources.pixels.model import link_pixels, pixels
from waypost.resources.webhooks.model import webhook_deliveries, webhooks

MISSING = "01a1fbb2-2855-72ee-8e77-c161c4205e89"


async def test_attaches_pixels(env: Env) -> None:
    one, two = await env.pixel(), await env.pixel(platform="tiktok")
    link = await env.make(pixel_ids=[two, one])
    assert link["pixel_ids"] == [two, one]
    assert (await env.find(link)).json()["data"] == link
    assert (await env.browse()).json()["data"] == [link]
    env.clock.move(timedelta(hours=1))
    changed = await env.changed(link, pixel_ids=[one])
    assert changed == link | {"pixel_ids": [one], "updated_at": "2030-01-01T13:00:00.000000Z"}
    assert (await env.find(link)).json()["data"] == changed


async def test_keeps_the_order_of_pixels(env: Env) -> None:
    ids = [await env.pixel() for _ in range(12)]
    for order in (ids[::-1], ids[6:] + ids[:6]):
        link = await env.make(pixel_ids=order)
        assert (await env.find(link)).json()["data"]["pixel_ids"] == order


async def test_removes_duplicate_pixels(env: Env) -> None:
    one, two = await env.pixel(), await env.pixel()
    link = await env.make(pixel_ids=[two, one, two, one.upper()])
    assert link["pixel_ids"] == [two, one]


@pytest.mark.parametrize("nothing", [[], None])
async def test_detaches_all_pixels(env: Env, nothing: Any) -> None:
    link = await env.make(pixel_ids=[await env.pixel()])
    assert (await env.changed(link, pixel_ids=nothing))["pixel_ids"] == []
    async with env.deps.db.read() as tx:
        assert await tx.scalar(select(func.count()).select_from(link_pixels)) == 0


async def test_keeps_pixels_that_are_not_sent(env: Env) -> None:
    pixel = await env.pixel()
    link = await env.make(pixel_ids=[pixel])
    for fields in ({"title": "Another"}, {"destination_url": env.site.url("/page?2")}, {"slug": "another"}):
        assert (await env.changed(link, **fields))["pixel_ids"] == [pixel]


async def test_the_same_pixels_are_no_change(env: Env) -> None:
    pixel, other = await env.pixel(), await env.pixel()
    link = await env.make(pixel_ids=[pixel, other])
    env.clock.move(timedelta(hours=1))
    assert await env.changed(link, pixel_ids=[pixel, other]) == link
    assert (await env.changed(link, pixel_ids=[other, pixel]))["updated_at"] != link["updated_at"]


async def test_reports_problems_by_index(env: Env) -> None:
    own, foreign = await env.pixel(), await env.pixel(env.bob)
    sent = [own, foreign, MISSING, "x", 5, None, own, [own], own.replace("-", "")]
    wrong = {"pixel_ids.1": [rules.NO_SUCH_PIXEL], "pixel_ids.2": [rules.NO_SUCH_PIXEL]}
    wrong |= {f"pixel_ids.{n}": [rules.NOT_AN_ID] for n in (3, 4, 5, 7, 8)}
    assert faults(await env.post({"pixel_ids": sent})) == wrong
    link = await env.make(pixel_ids=[own])
    assert faults(await env.patch(link, {"pixel_ids": sent, "title": 5})) == wrong | {
        "title": ["This must be a string."]
    }
    assert (await env.find(link)).json()["data"] == link


async def test_a_link_has_at_most_20_pixels(env: Env) -> None:
    ids = [await env.pixel() for _ in range(21)]
    assert faults(await env.post({"pixel_ids": ids})) == {"pixel_ids": ["This must have at most 20 entries."]}
    assert (await env.make(pixel_ids=ids[:20]))["pixel_ids"] == ids[:20]


async def test_accepts_pixels_in_a_multipart_form(env: Env) -> None:
    ids = [await env.pixel(), await env.pixel()]
    fields = [("destination_url", env.site.url()), *(("pixel_ids[]", id_) for id_ in ids)]
    answer = await env.send_form("POST", "", fields)
    assert (answer.status_code, answer.json()["data"]["pixel_ids"]) == (201, ids)


async def test_refuses_a_pixel_deleted_during_the_destination_check(env: Env, monkeypatch: pytest.MonkeyPatch) -> None:
    """The check in the transaction counts."""
    pixel = await env.pixel()
    link = await env.make()

    async def always(_tx: object, _account: UUID, ids: list[UUID]) -> set[UUID]:
        return set(ids)

    monkeypatch.setattr("waypost.resources.pixels.find_own_ids", always)
    await env.delete_pixel(pixel)
    wrong = {"pixel_ids.0": [rules.NO_SUCH_PIXEL]}
    assert faults(await env.post({"slug": "free", "pixel_ids": [pixel]})) == wrong
    assert faults(await env.patch(link, {"pixel_ids": [pixel]})) == wrong
    await env.make(slug="free")


async def test_concurrent_attach_and_delete_leave_nothing_attached(env: Env) -> None:
    link = await env.make()
    pixels_made = [await env.pixel() for _ in range(8)]
    other = await new_key(env.deps.db, env.alice.account_id)
    for pixel in pixels_made:
        attached, _ = await asyncio.gather(env.patch(link, {"pixel_ids": [pixel]}, other), env.delete_pixel(pixel))
        assert attached.status_code in {200, 422}
        async with env.deps.db.read() as tx:
            assert await tx.scalar(select(func.count()).select_from(link_pixels)) == 0


async def test_the_created_event_includes_pixels(env: Env) -> None:
    pixel = await env.pixel()
    row = {"id": new_id(), "account_id": env.alice.account_id, "url": URL, "event_types": ["link.created"]}
    row |= {"created_at": env.clock(), "updated_at": env.clock()}
    async with env.deps.db.write() as tx:
        await tx.execute(
            insert(webhooks).values(row | {"secret": KEYS.encrypt(webhooks.c.secret, row["id"], "whsec_x")})
        )
    link = await env.make(pixel_ids=[pixel])
    async with env.deps.db.read() as tx:
        body = (await tx.execute(select(webhook_deliveries.c.body))).scalar_one()
    assert json.loads(body)["data"] == link


# ── routes ──────────────────────────────────────────────────────────────────────────────────────────────────────────


async def find_route(env: Env, slug: bytes, keys: KeyRing = KEYS) -> Route | None:
    db = env.deps.db
    routes = open_route_source(db, SHARED, keys)
    try:
        return await routes.find(slug)
    finally:
        routes.close()


def route(env: Env, link: dict[str, Any], *fired: tuple[str, str, str | None]) -> Route:
    tags = [(UUID(id_), platform, platforms_id) for id_, platform, platforms_id in fired]
    return new_route(SHARED.encode(), env.site.url(), UUID(link["id"]), pixels=tags)


async def test_a_route_has_pixels_in_the_links_order(env: Env) -> None:
    one, two = await env.pixel(pixel_id="111"), await env.pixel(platform="tiktok", pixel_id="C222")
    link = await env.make(slug="a", pixel_ids=[two, one])
    found = await find_route(env, b"a")
    assert found == route(env, link, (two, "tiktok", "C222"), (one, "facebook", "111"))
    assert found is not None
    assert found[3] is not None
    await env.changed(link, pixel_ids=[one, two])
    assert await find_route(env, b"a") == route(env, link, (one, "facebook", "111"), (two, "tiktok", "C222"))
    await env.change_pixel(two, platform="google_ads", pixel_id="AW-3")
    assert await find_route(env, b"a") == route(env, link, (one, "facebook", "111"), (two, "google_ads", "AW-3"))


async def test_a_route_without_pixels_has_no_tags(env: Env) -> None:
    pixel = await env.pixel()
    link = await env.make(slug="a")
    await env.make(slug="b", pixel_ids=[pixel])
    assert await find_route(env, b"a") == route(env, link)
    link = await env.make(slug="c", pixel_ids=[pixel])
    await env.delete_pixel(pixel)
    found = await find_route(env, b"c")
    assert found == route(env, link)
    assert found is not None
    assert found[3] is None


async def test_logs_a_pixel_that_cannot_be_decrypted_once(env: Env) -> None:
    moved, fine = await env.pixel(pixel_id="111"), await env.pixel(pixel_id="222")
    link = await env.make(slug="a", pixel_ids=[moved, fine])
    async with env.deps.db.write() as tx:
        of_another = select(pixels.c.pixel_id).where(pixels.c.id == UUID(fine)).scalar_subquery()
        await tx.execute(update(pixels).where(pixels.c.id == UUID(moved)).values(pixel_id=of_another))
    db = env.deps.db
    routes = open_route_source(db, SHARED, KEYS)
    expected = route(env, link, (moved, "facebook", None), (fine, "facebook", "222"))
    with capture_logs() as entries:
        for _ in range(3):
            assert await routes.find(b"a") == expected
    routes.close()
    assert [line["pixel"] for line in entries] == [moved]
    with capture_logs():
        plain = await find_route(env, b"a", KeyRing(["another key"]))
    assert plain == route(env, link, (moved, "facebook", None), (fine, "facebook", None))
    assert plain is not None
    assert plain[3] is None
