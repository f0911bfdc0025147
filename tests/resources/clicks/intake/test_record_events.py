"""R7: a click and the deliveries that tell of it are stored together, for visits that count and for nobody else's."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from people import FakeClock
from resources.clicks.visited import Env, open_env
from resources.pixels.events.sent import new_pixel
from resources.webhooks.scripted import deliveries, delivery, subscribe
from sqlalchemy import select, text

from waypost.database import Database
from waypost.kit.clock import timestamp
from waypost.kit.ids import new_id
from waypost.redirect import Spool
from waypost.redirect.spool import Visit, encode
from waypost.resources import links
from waypost.resources.clicks.intake import drain as drain_of_clicks
from waypost.resources.clicks.intake.build import IntakeSettings
from waypost.resources.clicks.intake.drain import Drainer
from waypost.resources.clicks.model import clicks
from waypost.resources.pixels import events
from waypost.resources.pixels.events.model import pixel_events

FIELDS = ["id", "link_id", "ip", "country", "visitor_id", "referrer", "device", "browser", "platform", "created_at"]
AT = 1_763_690_000_123_456
GOOGLEBOT = b"Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"


@pytest.fixture
async def env(db: Database, tmp_path: Path) -> AsyncIterator[Env]:
    async with open_env(db, tmp_path) as opened:
        yield opened


@pytest.fixture
def spool(tmp_path: Path) -> Spool:
    return Spool(tmp_path / "spool", limit=1 << 30)


@pytest.fixture
def drainer(db: Database, tmp_path: Path) -> Drainer:
    return new_drainer(db, tmp_path)


def new_drainer(db: Database, directory: Path, privacy: str = "full") -> Drainer:
    settings = IntakeSettings((), privacy, lambda _address: "DE", b"key", "go.test", "https")
    return Drainer(db, directory / "spool", settings, clock=FakeClock())


def visit(link: links.Link, **fields: bytes) -> bytes:
    blank = Visit(new_id().hex.encode(), b"%d" % AT, link.id.hex.encode())
    return encode(blank._replace(**({"peer": b"192.0.2.7", "user_agent": b"curl/8.14.1"} | fields)))


async def drain(drainer: Drainer) -> None:
    while await drainer.step():
        pass
    await drainer.close()


async def test_records_a_delivery_for_a_click(db: Database, env: Env, spool: Spool, drainer: Drainer) -> None:
    listening = await subscribe(db, account_id=env.alice.account_id)
    link = await env.link()
    spool.append(visit(link, referrer="https://grüße.example/ä".encode(), query=b"r=qr"))
    spool.close()
    await drain(drainer)
    row = await delivery(db)
    reported = json.loads(row.body)
    (shown,) = (await env.shown("/clicks"))["data"]
    assert (row.webhook_id, row.event, reported["event"]) == (listening.id, "link.clicked", "link.clicked")
    assert list(reported["data"]) == FIELDS
    assert reported["data"] == {field: shown[field] for field in FIELDS}
    assert reported["created_at"] == "2025-11-21T01:53:20+00:00"
    assert reported["data"]["created_at"] == timestamp(row.created_at) == "2025-11-21T01:53:20.123456Z"


def fired(*pixels: tuple[str, UUID]) -> bytes:
    return ",".join(f"{letter}{pixel.hex}" for letter, pixel in pixels).encode()


async def queued(db: Database) -> dict[UUID, list[events.PageView]]:
    async with db.read() as tx:
        rows = (await tx.execute(select(pixel_events).order_by(pixel_events.c.id))).all()
    found: dict[UUID, list[events.PageView]] = {}
    for row in rows:
        found.setdefault(row.pixel_id, []).append(events.PageView(*json.loads(row.payload)))
    return found


async def test_records_a_delivery_for_each_fired_pixel(db: Database, env: Env, spool: Spool, drainer: Drainer) -> None:
    await subscribe(db, account_id=env.alice.account_id, events=["link.clicked", "pixel.fired"])
    link, one, other = await env.link(), new_id(), new_id()
    spool.append(visit(link, pixels=fired(("f", one), ("g", other))) + visit(link))
    spool.close()
    await drain(drainer)
    reported = [json.loads(row.body) for row in await deliveries(db)]
    clicked = {each["data"]["id"] for each in reported if each["event"] == "link.clicked"}
    of_pixels = [each for each in reported if each["event"] == "pixel.fired"]
    assert (len(clicked), len(of_pixels)) == (2, 2)
    (visit_id,) = {each["data"]["visit_id"] for each in of_pixels}
    assert visit_id in clicked
    assert {tuple(each["data"]) for each in of_pixels} == {("pixel_id", "platform", "link_id", "visit_id")}
    told_pixels = {(each["data"]["pixel_id"], each["data"]["platform"]) for each in of_pixels}
    assert told_pixels == {(str(one), "facebook"), (str(other), "google_ads")}
    assert {each["data"]["link_id"] for each in of_pixels} == {str(link.id)}
    assert all(each["id"][:13] == visit_id[:13] for each in of_pixels)  # its time
    assert await queued(db) == {}  # none of them has a token


async def test_publishes_a_pixel_once(db: Database, env: Env, spool: Spool, drainer: Drainer, tmp_path: Path) -> None:
    await subscribe(db, account_id=env.alice.account_id, events=["pixel.fired"])
    pixel = await new_pixel(db, "facebook", account_id=env.alice.account_id)
    line = visit(await env.link(), pixels=fired(("f", pixel), ("t", new_id())))
    spool.append(line + line)
    spool.close()
    await drain(drainer)
    again = Spool(tmp_path / "spool", limit=1 << 30)
    again.append(line)
    again.close()
    await drain(drainer)
    assert len({row.id for row in await deliveries(db)}) == 2
    assert [len(its) for its in (await queued(db)).values()] == [1]


async def test_bots_and_prefetches_fire_nothing(db: Database, env: Env, spool: Spool, drainer: Drainer) -> None:
    await subscribe(db, account_id=env.alice.account_id, events=["pixel.fired"])
    pixel = await new_pixel(db, "facebook", account_id=env.alice.account_id)
    link, those = await env.link(), fired(("f", pixel))
    spool.append(visit(link, user_agent=GOOGLEBOT, pixels=those) + visit(link, purpose=b"prefetch", pixels=those))
    spool.close()
    await drain(drainer)
    assert (await deliveries(db), await queued(db)) == ([], {})


async def test_queues_events_for_pixels_with_a_token(db: Database, env: Env, spool: Spool, drainer: Drainer) -> None:
    server_side = {letter: await new_pixel(db, name) for letter, name in (("f", "facebook"), ("p", "pinterest"))}
    without = {"t": await new_pixel(db, "tiktok", token=None), "g": await new_pixel(db, "google_ads", token="x")}
    link = await env.link()
    lines = [
        visit(link, pixels=fired(*server_side.items(), *without.items()), referrer=b"https://a.example/b?c=d"),
        visit(link, pixels=fired(("f", server_side["f"]))),
        visit(link),
    ]
    spool.append(b"".join(lines))
    spool.close()
    await drain(drainer)
    found = await queued(db)
    assert {pixel: len(its) for pixel, its in found.items()} == {server_side["f"]: 2, server_side["p"]: 1}
    (event,) = found[server_side["p"]]
    id_ = str(UUID(lines[0][:32].decode()))
    url = f"https://go.test/{link.slug}"
    assert event == (id_, AT // 1_000_000, url, "192.0.2.7", "curl/8.14.1", "https://a.example/b")


@pytest.mark.parametrize(("privacy", "kept"), [("truncated", "192.0.2.0"), ("none", "")])
async def test_platforms_get_the_masked_ip_address(
    db: Database, env: Env, spool: Spool, tmp_path: Path, privacy: str, kept: str
) -> None:
    pixel = await new_pixel(db, "facebook")
    spool.append(visit(await env.link(), pixels=fired(("f", pixel))))
    spool.close()
    await drain(new_drainer(db, tmp_path, privacy))
    assert [event.ip for event in (await queued(db))[pixel]] == [kept]


async def test_a_batch_without_pixels_queries_none(
    db: Database, env: Env, spool: Spool, drainer: Drainer, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(events, "find_with_server_events", lambda *given: asked.append(given))
    spool.append(visit(await env.link()))
    spool.close()
    await drain(drainer)
    assert asked == []


async def test_publishes_clicks_of_people_only(db: Database, env: Env, spool: Spool, drainer: Drainer) -> None:
    await subscribe(db, account_id=env.alice.account_id)
    link = await env.link()
    spool.append(visit(link, user_agent=GOOGLEBOT) + visit(link, purpose=b"prefetch"))
    spool.append(visit(link, user_agent=b"facebookexternalhit/1.1") + visit(link))
    spool.close()
    await drain(drainer)
    async with db.read() as tx:
        kinds = list((await tx.execute(select(clicks.c.kind).order_by(clicks.c.id))).scalars())
        human = (await tx.execute(select(clicks.c.id).where(clicks.c.kind == "human"))).scalar_one()
    assert sorted(kinds) == ["crawler", "human", "prefetch", "preview"]
    assert json.loads((await delivery(db)).body)["data"]["id"] == str(human)


async def test_delivers_to_each_subscription_of_the_account(
    db: Database, env: Env, spool: Spool, drainer: Drainer
) -> None:
    both = [await subscribe(db, account_id=env.alice.account_id) for _ in range(2)]
    await subscribe(db, account_id=env.alice.account_id, events=["link.created", "pixel.fired"])
    bob = await subscribe(db, account_id=env.bob.account_id)
    spool.append(visit(await env.link()) + visit(await env.link(env.bob)))
    spool.close()
    await drain(drainer)
    rows = await deliveries(db)
    assert sorted(row.webhook_id for row in rows) == sorted([bob.id, *(each.id for each in both)])
    assert len({row.id for row in rows}) == 3
    assert {row.account_id for row in rows if row.webhook_id == bob.id} == {env.bob.account_id}


async def test_publishes_visits_drained_twice_once(
    db: Database, env: Env, spool: Spool, drainer: Drainer, tmp_path: Path
) -> None:
    await subscribe(db, account_id=env.alice.account_id)
    link = await env.link()
    lines = visit(link) + visit(link)
    spool.append(lines + lines)
    spool.close()
    await drain(drainer)
    again = Spool(tmp_path / "spool", limit=1 << 30)
    again.append(lines + visit(link))  # another segment with the same visits, and another one
    again.close()
    await drain(drainer)
    assert len(await deliveries(db)) == 3


async def test_a_failed_batch_publishes_nothing(db: Database, env: Env, spool: Spool, drainer: Drainer) -> None:
    await subscribe(db, account_id=env.alice.account_id)
    spool.append(visit(await env.link()))
    spool.close()
    async with db.write() as tx:
        await tx.execute(text("ALTER TABLE webhook_deliveries RENAME TO gone"))
    with pytest.raises(Exception, match=r"webhook_deliveries|database"):
        await drain(drainer)
    async with db.write() as tx:
        await tx.execute(text("ALTER TABLE gone RENAME TO webhook_deliveries"))
    async with db.read() as tx:
        assert (await tx.execute(select(clicks))).all() == []  # no click without its deliveries either
    await drain(drainer)
    assert (await delivery(db)).event == "link.clicked"


async def test_limits_the_deliveries_of_a_batch(
    db: Database, env: Env, spool: Spool, drainer: Drainer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drain_of_clicks, "_MAX_DELIVERIES", 4)
    for _ in range(2):
        await subscribe(db, account_id=env.alice.account_id)
    link = await env.link()
    spool.append(visit(link) + b"torn\n" + visit(link) + visit(link, user_agent=GOOGLEBOT))
    spool.close()
    another = Spool(tmp_path / "spool", limit=1 << 30)
    another.append(b"".join(visit(link) for _ in range(3)))
    another.close()
    reported = []
    while await drainer.step():
        reported.append(len(await deliveries(db)))
    await drainer.close()
    assert reported == [4, 6, 10]  # a bot's visit counts among what a batch may make, too
    assert len({json.loads(row.body)["data"]["id"] for row in await deliveries(db)}) == 5
    assert (await env.shown("/clicks"))["meta"]["total"] == 5
