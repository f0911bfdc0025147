"""Idempotency-Key: a POST that is sent again gets the same response, and nothing runs a second time."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import pytest
from endpoints import Fields
from people import FakeClock, Person, new_client, new_person
from sqlalchemy import func, select, text
from starlette.responses import Response

from waypost.accounts import ApiCaller
from waypost.database import Database, after_commit
from waypost.idempotency import delete_expired, service
from waypost.idempotency.model import KEPT_FOR, idempotency_keys
from waypost.kit.clock import now
from waypost.kit.errors import Invalid, Problems
from waypost.web import PREFIX, Endpoint, data
from waypost.worker.jobs import JobKind, enqueue, jobs

JOBS, FILES = f"{PREFIX}/jobs", f"{PREFIX}/files"
HEADER = "Idempotency-Key"
Verb = Callable[[dict[str, Any]], Awaitable[None]]


class Verbs:
    """What `POST /jobs` does, and what it published after its commits."""

    def __init__(self, db: Database) -> None:
        self.db = db
        self.published: list[str] = []
        self.started, self.go = asyncio.Event(), asyncio.Event()
        self.go.set()
        self.runs = 0
        self.request_ids: list[UUID | None] = []

    async def run(self, caller: ApiCaller, fields: dict[str, Any]) -> str:
        self.runs += 1
        self.started.set()
        await self.go.wait()
        if "refused" in fields:
            raise Invalid({"refused": ["No."]})
        for name in fields.get("names", ["one"]):
            async with caller.commit(self.db) as tx:
                id_ = await enqueue(tx, JobKind(name), {}, now=now())
                after_commit(tx, partial(self.published.append, name))
        if "broken" in fields:
            raise ZeroDivisionError
        return str(id_)

    async def count(self) -> int:
        async with self.db.read() as tx:
            return await tx.scalar(select(func.count()).select_from(jobs)) or 0

    async def keys(self) -> int:
        async with self.db.read() as tx:
            return await tx.scalar(select(func.count()).select_from(idempotency_keys)) or 0


async def create(verbs: Verbs, caller: ApiCaller, fields: Fields, problems: Problems) -> Response:
    verbs.request_ids.append(caller.claim and caller.claim.request_id)
    return data({"id": await verbs.run(caller, fields.model_extra), "secret": "whsec_ü"})


async def other(verbs: Verbs, caller: ApiCaller, fields: Fields, problems: Problems) -> Response:
    return data(await verbs.run(caller, fields.model_extra))


ENDPOINTS = [
    Endpoint("POST", "/jobs", create, "Create", "links:write", status=201, body=Fields),
    Endpoint("POST", "/others", other, "Create another", "links:write", status=202, body=Fields),
    Endpoint("POST", "/files", other, "Get a file", "links:write", body=Fields, file="text/plain"),
    Endpoint("PATCH", "/jobs", other, "Change", "links:write", body=Fields),
]


@pytest.fixture
def verbs(db: Database) -> Verbs:
    return Verbs(db)


@pytest.fixture
async def client(db: Database, tmp_path: Path, clock: FakeClock, verbs: Verbs) -> AsyncIterator[httpx.AsyncClient]:
    async with new_client(db, tmp_path, (verbs, ENDPOINTS), clock=clock) as client:
        yield client


def post(
    client: httpx.AsyncClient, person: Person, key: str = "k", *, path: str = JOBS, **request: Any
) -> Awaitable[httpx.Response]:
    request = request or {"json": {}}
    return client.post(path, headers={**person.headers, HEADER: key}, **request)


def problems(answer: httpx.Response) -> list[str]:
    assert answer.status_code == 422
    return list(answer.json()["error"]["errors"])


async def test_replays_the_response(client: httpx.AsyncClient, alice: Person, verbs: Verbs) -> None:
    first, second = await post(client, alice), await post(client, alice)
    assert (first.status_code, "Idempotent-Replayed" in first.headers) == (201, False)
    assert (second.status_code, second.content) == (201, first.content)
    assert second.headers["Idempotent-Replayed"] == "true"
    assert second.headers["Content-Type"] == first.headers["Content-Type"]
    assert second.headers["X-RateLimit-Remaining"] == "58"
    assert (verbs.runs, await verbs.count(), verbs.published) == (1, 1, ["one"])


async def test_quotes_are_not_part_of_a_key(client: httpx.AsyncClient, alice: Person, verbs: Verbs) -> None:
    for key, other in (("k", '"k"'), ('"l"', "l"), (f'"{"m" * 255}"', "m" * 255), ('"', '"""')):
        assert (await post(client, alice, key)).status_code == 201
        assert (await post(client, alice, other)).headers["Idempotent-Replayed"] == "true"
    assert verbs.runs == 4
    for key in ('""', '"a b"', f'"{"m" * 256}"'):
        assert problems(await post(client, alice, key)) == [HEADER]


async def test_replays_a_form(client: httpx.AsyncClient, alice: Person, verbs: Verbs) -> None:
    form = b'--x\r\ncontent-disposition: form-data; name="a"\r\n\r\n1\r\n--x--\r\n'
    alice.headers["Content-Type"] = ""
    for _ in range(2):
        headers = {**alice.headers, HEADER: "k", "Content-Type": "multipart/form-data; boundary=x"}
        assert (await client.post(JOBS, headers=headers, content=form)).status_code == 201
    assert verbs.runs == 1


async def test_each_key_and_each_account_has_its_own_response(
    client: httpx.AsyncClient, db: Database, alice: Person, verbs: Verbs
) -> None:
    carol = await new_person(db, "carol")
    for person, key in ((alice, "a"), (alice, "b"), (carol, "a")):
        assert (await post(client, person, key)).status_code == 201
    await client.post(JOBS, headers=alice.headers, json={})
    await client.patch(JOBS, headers={**alice.headers, HEADER: "a"}, json={})
    assert verbs.runs == 5


async def test_refuses_a_key_of_another_request(client: httpx.AsyncClient, alice: Person, verbs: Verbs) -> None:
    await post(client, alice, json={"a": 1})
    for request in ({"json": {"a": 2}}, {"content": b'{"a": 1 }'}, {"json": {"a": 1}, "path": f"{PREFIX}/others"}):
        assert problems(await post(client, alice, **request)) == [HEADER]
    assert verbs.runs == 1


@pytest.mark.parametrize("key", ["", " ", "a b", "x" * 256, "ü", "a\x7f"])
async def test_refuses_an_invalid_key(client: httpx.AsyncClient, alice: Person, verbs: Verbs, key: str) -> None:
    headers = {**alice.headers, HEADER: key.encode("latin-1")}
    for path in (JOBS, FILES):
        assert problems(await client.post(path, headers=headers, json={})) == [HEADER]
    assert verbs.runs == 0


async def test_a_file_is_not_replayed(client: httpx.AsyncClient, alice: Person, verbs: Verbs) -> None:
    for _ in range(2):
        assert "Idempotent-Replayed" not in (await post(client, alice, path=FILES)).headers
    assert verbs.runs == 2


async def test_refuses_two_keys(client: httpx.AsyncClient, alice: Person) -> None:
    headers = [*alice.headers.items(), (HEADER, "a"), (HEADER, "b")]
    assert problems(await client.post(JOBS, headers=headers, json={})) == [HEADER]


async def test_a_long_key_works(client: httpx.AsyncClient, alice: Person) -> None:
    assert (await post(client, alice, "!~" * 127 + "x")).status_code == 201


async def test_a_refused_request_can_be_corrected(client: httpx.AsyncClient, alice: Person, verbs: Verbs) -> None:
    assert problems(await post(client, alice, json={"refused": 1})) == ["refused"]
    assert problems(await post(client, alice, content=b"{")) == ["body"]
    assert await verbs.keys() == 0
    assert (await post(client, alice)).status_code == 201


async def test_a_request_that_fails_changes_nothing(client: httpx.AsyncClient, alice: Person, verbs: Verbs) -> None:
    assert (await post(client, alice, json={"broken": 1})).status_code == 500
    assert (await verbs.count(), verbs.published, await verbs.keys()) == (0, [], 0)
    assert (await post(client, alice)).status_code == 201


async def test_a_running_request_gets_409(client: httpx.AsyncClient, alice: Person, verbs: Verbs) -> None:
    verbs.go.clear()
    async with asyncio.TaskGroup() as group:
        first = group.create_task(_respond(post(client, alice)))
        await verbs.started.wait()
        second = await post(client, alice)
        assert (second.status_code, second.headers["Retry-After"]) == (409, "1")
        assert second.json()["error"]["code"] == "http_error"
        assert problems(await post(client, alice, json={"a": 1})) == [HEADER]
        verbs.go.set()
    assert (await post(client, alice)).content == first.result().content
    assert verbs.runs == 1


async def test_an_abandoned_key_is_taken_over_and_its_first_owner_cannot_commit(
    client: httpx.AsyncClient, alice: Person, verbs: Verbs, clock: FakeClock
) -> None:
    verbs.go.clear()
    async with asyncio.TaskGroup() as group:
        paused = group.create_task(_respond(post(client, alice)))
        await verbs.started.wait()
        clock.move(service.LEASE)
        verbs.started.clear()
        second = group.create_task(_respond(post(client, alice)))
        await verbs.started.wait()
        verbs.go.set()
    assert (paused.result().status_code, second.result().status_code) == (409, 201)
    assert (await post(client, alice)).content == second.result().content
    assert (await verbs.count(), verbs.published) == (1, ["one"])
    assert len(set(verbs.request_ids)) == 1
    await post(client, alice, "another")
    assert len(set(verbs.request_ids)) == 2


async def test_a_long_request_keeps_its_key(
    client: httpx.AsyncClient, alice: Person, verbs: Verbs, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "_RENEW_INTERVAL", 0.001)
    verbs.go.clear()
    async with asyncio.TaskGroup() as group:
        group.create_task(_respond(post(client, alice)))
        await verbs.started.wait()
        clock.move(service.LEASE / 2)
        await _until_renewed(verbs.db, clock)
        clock.move(service.LEASE / 2)
        assert (await post(client, alice)).status_code == 409
        verbs.go.set()


async def test_earlier_transactions_of_a_request_are_committed(
    client: httpx.AsyncClient, alice: Person, verbs: Verbs
) -> None:
    """Only the last one waits for the answer."""
    assert (await post(client, alice, json={"names": ["one", "two"]})).status_code == 201
    assert (await verbs.count(), verbs.published) == (2, ["one", "two"])


async def test_responses_expire_after_a_day(
    client: httpx.AsyncClient, alice: Person, verbs: Verbs, clock: FakeClock
) -> None:
    await post(client, alice)
    clock.move(KEPT_FOR - timedelta(seconds=1))
    assert "Idempotent-Replayed" in (await post(client, alice)).headers
    assert not await delete_expired(verbs.db, clock)
    assert await verbs.keys() == 1
    clock.move(timedelta(seconds=1))
    assert "Idempotent-Replayed" not in (await post(client, alice, json={"a": 1})).headers
    clock.move(KEPT_FOR)
    await delete_expired(verbs.db, clock)
    assert await verbs.keys() == 0


async def test_stored_responses_are_encrypted(client: httpx.AsyncClient, alice: Person, db: Database) -> None:
    await post(client, alice)
    async with db.read() as tx:
        [stored] = (await tx.execute(text("SELECT answer FROM idempotency_keys"))).scalars()
    assert bytes(stored)[:1] == b"\x01"
    assert b"whsec" not in bytes(stored)


async def test_an_account_has_a_share(
    client: httpx.AsyncClient, alice: Person, db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    carol = await new_person(db, "carol")
    for name in ("MAX_KEYS", "MAX_BYTES"):
        with monkeypatch.context() as patched:
            patched.setattr(service, name, 1)
            await post(client, alice, "one")
            assert problems(await post(client, alice, "two")) == [HEADER]
            assert (await post(client, alice, "one")).status_code == 201
            assert (await post(client, carol, name)).status_code == (201 if name == "MAX_KEYS" else 422)


async def test_a_request_without_the_header_asks_the_database_nothing(
    client: httpx.AsyncClient, alice: Person, verbs: Verbs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service.StoredAnswers, "claim", None)
    assert (await client.post(JOBS, headers=alice.headers, json={})).status_code == 201
    assert verbs.request_ids == [None]


async def _respond(request: Awaitable[httpx.Response]) -> httpx.Response:
    return await request


async def _until_renewed(db: Database, clock: FakeClock) -> None:
    until = None
    while until != clock() + service.LEASE:
        async with db.read() as tx:
            until = await tx.scalar(select(idempotency_keys.c.lease_until))
