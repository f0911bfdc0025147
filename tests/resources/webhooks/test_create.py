"""POST /v1/webhooks"""

import asyncio
import base64
import re
import socket
from pathlib import Path
from typing import Any

import pytest
from people import new_key
from resources.webhooks.room import HOST, NEW, PUBLIC, URL, Room, faults, open_room
from servers import OPEN
from sqlalchemy import insert, select, text
from structlog.testing import capture_logs

from waypost.auth import KeyHolder, find_account, list_keys
from waypost.database import Database
from waypost.kit.errors import Problems
from waypost.kit.ids import new_id
from waypost.kit.urls import Url
from waypost.outbound import NotPublic
from waypost.resources.webhooks import Receivers, service
from waypost.resources.webhooks.model import webhooks
from waypost.resources.webhooks.schemas import NewWebhook

EVENTS = ["pixel.fired", "link.clicked", "link.created"]


async def test_it_works(room: Room) -> None:
    answer = await room.post({"url": URL, "event_types": EVENTS})
    assert answer.status_code == 201
    made = answer.json()["data"]
    assert list(made) == ["id", "url", "event_types", "created_at", "updated_at", "secret"]
    assert (made["url"], made["event_types"]) == (URL, EVENTS)
    assert made["created_at"] == made["updated_at"] == "2030-01-01T12:00:00.000000Z"
    assert (await room.get(f"/{made['id']}")).json()["data"] == {k: v for k, v in made.items() if k != "secret"}


async def test_the_secret_is_32_bytes_of_chance(room: Room) -> None:
    secrets = {(await room.make())["secret"] for _ in range(3)}
    assert len(secrets) == 3
    for secret in secrets:
        found = re.fullmatch(r"whsec_([\w-]{43})", secret)
        assert found
        assert len(base64.urlsafe_b64decode(found[1] + "=")) == 32


async def test_the_secret_is_shown_once_and_sealed_in_the_database(room: Room) -> None:
    with capture_logs() as told:
        made = await room.make()
        await room.happen()
        answers = [
            await room.get(),
            await room.get(f"/{made['id']}"),
            await room.get(f"/{made['id']}/deliveries"),
            await room.ask("POST", f"/{made['id']}/test"),
        ]
    assert not any("whsec_" in answer.text for answer in answers)
    assert "whsec_" not in repr(told)
    async with room.db.read() as tx:
        row = (await tx.execute(select(webhooks))).one()
        everything = (await tx.execute(text("SELECT * FROM webhooks"))).all()
        everything += (await tx.execute(text("SELECT * FROM webhook_deliveries"))).all()
    assert made["secret"].removeprefix("whsec_") not in repr(everything)
    assert made["secret"].encode() not in row.secret
    assert room.deps.keys.open(webhooks.c.secret, row.id, row.secret) == made["secret"]


async def test_what_the_verb_returns_does_not_show_it_by_accident(room: Room) -> None:
    account = await find_account(room.db, "alice@example.com")
    caller = KeyHolder(account, (await list_keys(room.db, account.id))[0])
    webhook, secret = await service.create(room.deps, caller, NewWebhook.model_validate(NEW), Problems())
    assert secret not in repr(webhook)


@pytest.mark.parametrize(
    ("url", "kept"),
    [
        ("HTTPS://HOOKS.example.com:8443/A?b=c#d", "HTTPS://HOOKS.example.com:8443/A?b=c#d"),
        ("https://hooks.example.com", "https://hooks.example.com"),
        ("https://hooks.example.com/ü", "https://hooks.example.com/%C3%BC"),
        (f"https://{PUBLIC}/", f"https://{PUBLIC}/"),
    ],
)
async def test_urls_that_are_taken(room: Room, url: str, kept: str) -> None:
    assert (await room.make(url=url))["url"] == kept


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({}, {"url", "event_types"}),
        ({"url": None, "event_types": None}, {"url", "event_types"}),
        ({"event_types": ["link.created"]}, {"url"}),
        ({"url": URL}, {"event_types"}),
        (NEW | {"event_types": []}, {"event_types"}),
        (NEW | {"event_types": "link.created"}, {"event_types"}),
        (NEW | {"event_types": {"0": "link.created"}}, {"event_types"}),
        (NEW | {"event_types": ["link.created"] * 101}, {"event_types"}),
        (NEW | {"event_types": ["link.created", "link.deleted"]}, {"event_types.1"}),
        (NEW | {"event_types": ["webhook.test", "*", "", "LINK.CREATED"]}, {f"event_types.{n}" for n in range(4)}),
        (NEW | {"event_types": [5, None, "link.created", [], {}]}, {f"event_types.{n}" for n in (0, 1, 3, 4)}),
        (NEW | {"url": 5}, {"url"}),
        (NEW | {"url": ""}, {"url"}),
        (NEW | {"url": "\ud800"}, {"url"}),
        (NEW | {"url": "https://hooks.example.com/\0"}, {"url"}),
        (NEW | {"url": f"http://{HOST}/"}, {"url"}),
        ({"url": f"http://{HOST}/", "event_types": ["link.created", 5]}, {"url", "event_types.1"}),
        ({"url": "https://10.0.0.1/", "event_types": []}, {"url", "event_types"}),
    ],
)
async def test_faults(room: Room, fields: dict[str, Any], named: set[str]) -> None:
    assert faults(await room.post(fields)).keys() == named
    assert (await room.get()).json()["data"] == []


async def test_an_event_is_subscribed_to_once(room: Room) -> None:
    made = await room.make(event_types=["link.clicked", "link.created", "link.clicked"])
    assert made["event_types"] == ["link.clicked", "link.created"]
    assert (await room.get(f"/{made['id']}")).json()["data"]["event_types"] == ["link.clicked", "link.created"]


async def test_unknown_fields_are_ignored(room: Room) -> None:
    chosen = await room.make(secret="whsec_mine", id=str(new_id()), colour="red")
    assert chosen["secret"] != "whsec_mine"


async def test_a_form_is_taken(room: Room) -> None:
    parts = [("url", (None, URL)), ("event_types[]", (None, "link.created")), ("event_types[]", (None, "link.clicked"))]
    answer = await room.ask("POST", "", files=parts)
    assert (answer.status_code, answer.json()["data"]["event_types"]) == (201, ["link.created", "link.clicked"])


async def test_the_length_of_the_url(room: Room) -> None:
    assert len((await room.make(url=f"{URL}/".ljust(2048, "a")))["url"]) == 2048
    for too_long in (f"{URL}/".ljust(2049, "a"), f"{URL}/".ljust(2040, "ü")):  # the latter as it would be kept
        assert faults(await room.post(NEW | {"url": too_long})) == {"url": ["This may have at most 2048 characters."]}


# ── where it leads ──────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("addresses", [["127.0.0.1"], ["10.0.0.1"], [PUBLIC, "192.168.0.1"], ["169.254.169.254"]])
async def test_a_name_of_a_private_address(room: Room, addresses: list[str]) -> None:
    room.names.has("inside.example.com", addresses)
    answer = await room.post(NEW | {"url": "https://inside.example.com/"})
    assert faults(answer) == {"url": [service.NOT_PUBLIC]}


async def test_a_name_nobody_has(room: Room) -> None:
    answer = await room.post(NEW | {"url": "https://nobody.example.com/"})
    assert faults(answer) == {"url": [service.UNREACHABLE]}


async def test_what_nobody_listens_at_is_taken(room: Room) -> None:
    """Receivers are often built after they are subscribed; nothing is sent to find out."""
    with socket.create_server((OPEN, 0)) as silent:
        silent.setblocking(False)
        await room.make(url=f"https://{OPEN}:{silent.getsockname()[1]}/")
        with pytest.raises(BlockingIOError):
            silent.accept()


class Crowd:
    """In the place of the way out: notes how many look at once; nobody goes on before `at_once` do."""

    def __init__(self, at_once: int) -> None:
        self._gate = asyncio.Barrier(at_once)
        self.inside = self.most = 0

    async def resolve(self, _url: Url) -> None:
        self.inside += 1
        self.most = max(self.most, self.inside)
        await self._gate.wait()
        self.inside -= 1
        raise NotPublic("no")


async def test_an_account_looks_at_four_at_once(db: Database, tmp_path: Path) -> None:
    crowd: Any = Crowd(4)
    async with open_room(db, tmp_path, Receivers(crowd)) as room:
        answers = await asyncio.gather(*(room.post(NEW) for _ in range(12)))
    assert ({answer.status_code for answer in answers}, crowd.most) == ({422}, 4)


async def test_accounts_do_not_wait_for_each_other(db: Database, tmp_path: Path) -> None:
    crowd: Any = Crowd(8)
    async with open_room(db, tmp_path, Receivers(crowd)) as room:
        await asyncio.gather(*(room.post(NEW, who) for who in (room.alice, room.bob) for _ in range(4)))
    assert crowd.most == 8


# ── how many ────────────────────────────────────────────────────────────────────────────────────────────────────────


async def fill(room: Room, count: int) -> None:
    values = {"account_id": room.alice.account_id, "url": URL, "event_types": ["link.created"]}
    values |= {"created_at": room.clock(), "updated_at": room.clock()}
    async with room.db.write() as tx:
        for id_ in [new_id() for _ in range(count)]:
            sealed = room.deps.keys.seal(webhooks.c.secret, id_, "whsec_x")
            await tx.execute(insert(webhooks).values(id=id_, secret=sealed, **values))


async def test_an_account_may_have_20(room: Room) -> None:
    await fill(room, service.MOST - 1)
    last = await room.make()
    assert faults(await room.post(NEW)) == {"url": [service.TOO_MANY]}
    assert faults(await room.post(NEW | {"event_types": []})).keys() == {"url", "event_types"}
    await room.make(room.bob)
    await room.delete(last)
    await room.make()


async def test_no_more_than_20_however_many_are_made_at_once(room: Room) -> None:
    await fill(room, service.MOST - 3)
    people = [await new_key(room.db, room.alice.account_id) for _ in range(8)]
    answers = await asyncio.gather(*(room.post(NEW, who) for who in people))
    assert sorted(answer.status_code for answer in answers) == [201] * 3 + [422] * 5
    assert (await room.get()).json()["meta"]["total"] == service.MOST == 20
