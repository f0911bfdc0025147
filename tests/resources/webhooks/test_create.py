"""POST /v1/webhooks"""

import asyncio
import base64
import re
import socket
from pathlib import Path
from typing import Any

import pytest
from people import new_key
from resources.webhooks.env import HOST, NEW, PUBLIC, URL, Env, faults, open_env
from servers import OPEN
from sqlalchemy import insert, select, text
from structlog.testing import capture_logs

from waypost.accounts import ApiCaller, get_account, list_keys
from waypost.database import Database
from waypost.kit.errors import Problems
from waypost.kit.ids import new_id
from waypost.kit.urls import Url
from waypost.outbound import NotPublic, Outbound
from waypost.resources.webhooks import service
from waypost.resources.webhooks.model import webhooks
from waypost.resources.webhooks.receiver_checker import ReceiverChecker
from waypost.resources.webhooks.schemas import NewWebhook

EVENTS = ["pixel.fired", "link.clicked", "link.created"]


async def test_creates_a_webhook_with_a_secret(env: Env) -> None:
    answer = await env.post({"url": URL, "event_types": EVENTS})
    assert answer.status_code == 201
    made = answer.json()["data"]
    assert list(made) == ["id", "url", "event_types", "created_at", "updated_at", "secret"]
    assert (made["url"], made["event_types"]) == (URL, EVENTS)
    assert made["created_at"] == made["updated_at"] == "2030-01-01T12:00:00.000000Z"
    assert (await env.get(f"/{made['id']}")).json()["data"] == {k: v for k, v in made.items() if k != "secret"}


async def test_the_secret_is_32_bytes_of_chance(env: Env) -> None:
    secrets = {(await env.make())["secret"] for _ in range(3)}
    assert len(secrets) == 3
    for secret in secrets:
        found = re.fullmatch(r"whsec_([A-Za-z0-9+/]{43}=)", secret)
        assert found
        assert len(base64.urlsafe_b64decode(found[1] + "=")) == 32


async def test_the_secret_is_shown_once_and_sealed_in_the_database(env: Env) -> None:
    with capture_logs() as logs:
        made = await env.make()
        await env.happen()
        answers = [
            await env.get(),
            await env.get(f"/{made['id']}"),
            await env.get(f"/{made['id']}/deliveries"),
            await env.ask("POST", f"/{made['id']}/test"),
        ]
    assert not any("whsec_" in answer.text for answer in answers)
    assert "whsec_" not in repr(logs)
    async with env.db.read() as tx:
        row = (await tx.execute(select(webhooks))).one()
        everything = (await tx.execute(text("SELECT * FROM webhooks"))).all()
        everything += (await tx.execute(text("SELECT * FROM webhook_deliveries"))).all()
    assert made["secret"].removeprefix("whsec_") not in repr(everything)
    assert made["secret"].encode() not in row.secret
    assert env.deps.key_ring.decrypt(webhooks.c.secret, row.id, row.secret) == made["secret"]


async def test_what_the_verb_returns_does_not_show_it_by_accident(env: Env) -> None:
    account = await get_account(env.db, "alice@example.com")
    caller = ApiCaller(account, (await list_keys(env.db, account.id))[0])
    webhook, secret = await service.create(env.deps, caller, NewWebhook.model_validate(NEW), Problems())
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
async def test_urls_that_are_taken(env: Env, url: str, kept: str) -> None:
    assert (await env.make(url=url))["url"] == kept


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
async def test_faults(env: Env, fields: dict[str, Any], named: set[str]) -> None:
    assert faults(await env.post(fields)).keys() == named
    assert (await env.get()).json()["data"] == []


async def test_an_event_is_subscribed_to_once(env: Env) -> None:
    made = await env.make(event_types=["link.clicked", "link.created", "link.clicked"])
    assert made["event_types"] == ["link.clicked", "link.created"]
    assert (await env.get(f"/{made['id']}")).json()["data"]["event_types"] == ["link.clicked", "link.created"]


async def test_unknown_fields_are_ignored(env: Env) -> None:
    chosen = await env.make(secret="whsec_mine", id=str(new_id()), colour="red")
    assert chosen["secret"] != "whsec_mine"


async def test_a_form_is_taken(env: Env) -> None:
    parts = [("url", (None, URL)), ("event_types[]", (None, "link.created")), ("event_types[]", (None, "link.clicked"))]
    answer = await env.ask("POST", "", files=parts)
    assert (answer.status_code, answer.json()["data"]["event_types"]) == (201, ["link.created", "link.clicked"])


async def test_the_length_of_the_url(env: Env) -> None:
    assert len((await env.make(url=f"{URL}/".ljust(2048, "a")))["url"]) == 2048
    for too_long in (f"{URL}/".ljust(2049, "a"), f"{URL}/".ljust(2040, "ü")):  # the latter as it would be kept
        assert faults(await env.post(NEW | {"url": too_long})) == {"url": ["This must have at most 2,048 characters."]}


# ── where it leads ──────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("addresses", [["127.0.0.1"], ["10.0.0.1"], [PUBLIC, "192.168.0.1"], ["169.254.169.254"]])
async def test_a_name_of_a_private_address(env: Env, addresses: list[str]) -> None:
    env.names.has("inside.example.com", addresses)
    answer = await env.post(NEW | {"url": "https://inside.example.com/"})
    assert faults(answer) == {"url": [service.NOT_PUBLIC]}


async def test_a_name_nobody_has(env: Env) -> None:
    answer = await env.post(NEW | {"url": "https://nobody.example.com/"})
    assert faults(answer) == {"url": [service.UNREACHABLE]}


async def test_what_nobody_listens_at_is_taken(env: Env) -> None:
    """Receivers are often built after they are subscribed; nothing is sent to find out."""
    with socket.create_server((OPEN, 0)) as silent:
        silent.setblocking(False)
        await env.make(url=f"https://{OPEN}:{silent.getsockname()[1]}/")
        with pytest.raises(BlockingIOError):
            silent.accept()


class Crowd(Outbound):
    """In the place of the way out: notes how many look at once; nobody goes on before `at_once` do."""

    def __init__(self, at_once: int) -> None:
        super().__init__()
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
    async with open_env(db, tmp_path, ReceiverChecker(crowd)) as env:
        answers = await asyncio.gather(*(env.post(NEW) for _ in range(12)))
    assert ({answer.status_code for answer in answers}, crowd.most) == ({422}, 4)


async def test_accounts_do_not_wait_for_each_other(db: Database, tmp_path: Path) -> None:
    crowd: Any = Crowd(8)
    async with open_env(db, tmp_path, ReceiverChecker(crowd)) as env:
        await asyncio.gather(*(env.post(NEW, who) for who in (env.alice, env.bob) for _ in range(4)))
    assert crowd.most == 8


# ── how many ────────────────────────────────────────────────────────────────────────────────────────────────────────


async def fill(env: Env, count: int) -> None:
    values = {"account_id": env.alice.account_id, "url": URL, "event_types": ["link.created"]}
    values |= {"created_at": env.clock(), "updated_at": env.clock()}
    async with env.db.write() as tx:
        for id_ in [new_id() for _ in range(count)]:
            ciphertext = env.deps.key_ring.encrypt(webhooks.c.secret, id_, "whsec_x")
            await tx.execute(insert(webhooks).values(id=id_, secret=ciphertext, **values))


async def test_an_account_may_have_20(env: Env) -> None:
    await fill(env, service.MAX_WEBHOOKS - 1)
    last = await env.make()
    assert faults(await env.post(NEW)) == {"url": [service.TOO_MANY]}
    assert faults(await env.post(NEW | {"event_types": []})).keys() == {"url", "event_types"}
    await env.make(env.bob)
    await env.delete(last)
    await env.make()


async def test_no_more_than_20_however_many_are_made_at_once(env: Env) -> None:
    await fill(env, service.MAX_WEBHOOKS - 3)
    people = [await new_key(env.db, env.alice.account_id) for _ in range(8)]
    answers = await asyncio.gather(*(env.post(NEW, who) for who in people))
    assert sorted(answer.status_code for answer in answers) == [201] * 3 + [422] * 5
    assert (await env.get()).json()["meta"]["total"] == service.MAX_WEBHOOKS == 20
