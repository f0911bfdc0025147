"""POST, PATCH and DELETE /v1/links/bulk"""

import asyncio
import contextlib
import json
from typing import Any
from urllib.parse import parse_qsl, urlsplit
from uuid import uuid4

import httpx
import pytest
from people import Person
from resources.links.env import KEYS, UNSAFE, Env, faults
from resources.webhooks.env import URL
from sqlalchemy import select

from waypost.idempotency.model import idempotency_keys
from waypost.kit.fair_queue import TimeBudget
from waypost.kit.ids import new_id
from waypost.resources.links.bulk import service as bulk
from waypost.resources.links.deps import new_bulk_queue
from waypost.resources.webhooks.model import webhook_deliveries, webhooks
from waypost.web.body import MAX_BULK


async def send(env: Env, method: str, body: Any, who: Person | None = None) -> httpx.Response:
    content = body if isinstance(body, bytes) else json.dumps(body)
    headers = (who or env.alice).headers
    return await env.client.request(method, "/api/v1/links/bulk", content=content, headers=headers)


async def create(env: Env, *rows: Any) -> dict[str, Any]:
    answer = await send(env, "POST", {"links": rows})
    assert answer.status_code == 200, answer.text
    return answer.json()


async def change(env: Env, ids: list[str], who: Person | None = None, **fields: Any) -> dict[str, Any]:
    answer = await send(env, "PATCH", {"ids": ids, "set": fields}, who)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def delete(env: Env, ids: list[str], who: Person | None = None) -> dict[str, Any]:
    answer = await send(env, "DELETE", {"ids": ids}, who)
    assert answer.status_code == 200, answer.text
    return answer.json()


def statuses(answer: dict[str, Any]) -> list[str]:
    return [row["status"] for row in answer["data"]]


async def test_each_row_succeeds_or_fails_alone(env: Env) -> None:
    url = env.site.url()
    answer = await create(
        env,
        {"destination_url": url, "slug": "one", "tags": ["a"]},
        {"destination_url": url, "slug": "not a slug", "title": 1},
        {"slug": "two"},
        "a text",
        {"destination_url": env.site.url(UNSAFE)},
        {"destination_url": url},
    )
    assert statuses(answer) == ["created", "invalid", "invalid", "invalid", "invalid", "created"]
    assert answer["meta"] == {"created": 2, "invalid": 4}
    assert [row["index"] for row in answer["data"]] == list(range(6))
    first = answer["data"][0]["link"]
    assert (await env.find(first)).json()["data"] == first
    assert [set(row["errors"]) for row in answer["data"][1:5]] == [
        {"slug", "title"},
        {"destination_url"},
        {"body"},
        {"destination_url"},
    ]
    assert set(env.changed_slugs) == {"one", "~one", answer["data"][5]["link"]["slug"]}


async def test_the_first_row_with_a_slug_gets_it(env: Env) -> None:
    rows = [{"destination_url": env.site.url(f"/{number}"), "slug": "same"} for number in range(8)]
    answer = await create(env, {"destination_url": env.site.url(UNSAFE), "slug": "same"}, *rows)
    assert statuses(answer) == ["invalid", "created", *["invalid"] * 7]
    assert {tuple(row["errors"]) for row in answer["data"][2:]} == {("slug",)}


async def test_events_are_those_of_single_creates(env: Env) -> None:
    row = {"id": new_id(), "account_id": env.alice.account_id, "url": URL, "event_types": ["link.created"]}
    row |= {"created_at": env.clock(), "updated_at": env.clock()}
    secret = KEYS.encrypt(webhooks.c.secret, row["id"], "whsec_x")
    async with env.deps.db.write() as tx:
        await tx.execute(webhooks.insert(), row | {"secret": secret})
    answer = await create(env, *[{"destination_url": env.site.url()}] * 3, {})
    async with env.deps.db.read() as tx:
        payloads = [json.loads(text) for text in await tx.scalars(select(webhook_deliveries.c.body))]
    created = [row["link"] for row in answer["data"][:3]]
    assert sorted(payload["data"]["id"] for payload in payloads) == sorted(link["id"] for link in created)
    assert all(payload["data"] in created for payload in payloads)


async def test_rows_of_a_killed_request_are_not_created_again(env: Env) -> None:
    content = json.dumps({"links": [{"destination_url": env.site.url()}, {"slug": "no destination"}]})
    headers = {**env.alice.headers, "Idempotency-Key": "k"}
    first = await env.client.post("/api/v1/links/bulk", content=content, headers=headers)
    abandoned = {"lease_until": env.clock(), "status": None, "answer": None}
    async with env.deps.db.write() as tx:
        await tx.execute(idempotency_keys.update().values(abandoned))
    again = await env.client.post("/api/v1/links/bulk", content=content, headers=headers)
    assert (again.json(), "Idempotent-Replayed" in again.headers) == (first.json(), False)
    assert (await env.browse()).json()["meta"]["total"] == 1


async def test_rows_without_a_turn_are_to_be_sent_again(env: Env, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk, "MAX_WAIT", 0.05)
    rows = [{"destination_url": env.site.url()}] * 6
    async with contextlib.AsyncExitStack() as stack:
        for _ in range(4):  # other requests of the account
            await stack.enter_async_context(env.deps.bulk_queue.slot(env.alice.account_id, TimeBudget(None)))
        answer = await create(env, *rows)
    assert answer == {
        "data": [{"index": n, "status": "retry"} for n in range(6)],
        "meta": {"created": 0, "invalid": 0, "retry": 6},
    }
    assert (await env.browse()).json()["meta"]["total"] == 0


async def test_other_accounts_do_not_wait(env: Env) -> None:
    async with contextlib.AsyncExitStack() as stack:
        for _ in range(4):
            await stack.enter_async_context(env.deps.bulk_queue.slot(env.alice.account_id, TimeBudget(None)))
        answer = await asyncio.wait_for(
            send(env, "POST", {"links": [{"destination_url": env.site.url()}]}, env.bob), 10
        )
        assert statuses(answer.json()) == ["created"]


def test_the_queue_of_an_account_takes_every_request_of_a_minute() -> None:
    assert new_bulk_queue()._max_waiting_per_key >= 60 * bulk.CONCURRENT


@pytest.mark.parametrize(
    ("method", "body", "names"),
    [
        ("POST", {}, {"links"}),
        ("POST", {"links": []}, {"links"}),
        ("POST", {"links": {}}, {"links"}),
        ("POST", {"links": [{}] * 101}, {"links"}),
        ("POST", b"[", {"body"}),
        ("PATCH", {}, {"ids", "set"}),
        ("PATCH", {"ids": ["x"] * 101, "set": 1}, {"ids", "set"}),
        ("PATCH", {"ids": [1, "x"], "set": {"status": "x"}}, {"ids.0", "set.status"}),
        ("DELETE", {}, {"ids"}),
        ("DELETE", {"ids": []}, {"ids"}),
        ("DELETE", {"ids": None}, {"ids"}),
    ],
)
async def test_refuses_a_malformed_body(env: Env, method: str, body: Any, names: set[str]) -> None:
    assert set(faults(await send(env, method, body))) == names


async def test_the_size_of_a_body(env: Env) -> None:
    row = {"destination_url": env.site.url(), "og_description": "é" * 5_000, "title": "t" * 255}
    body = json.dumps({"links": [row] * 100}).encode()
    assert 2 << 20 < len(body) < MAX_BULK
    answer = await send(env, "POST", body)
    assert answer.json()["meta"] == {"created": 100, "invalid": 0}
    assert (await send(env, "POST", body.ljust(MAX_BULK + 1))).status_code == 413


async def test_a_form_is_refused(env: Env) -> None:
    answer = await env.client.post("/api/v1/links/bulk", files={"links": (None, b"x")}, headers=env.alice.headers)
    assert set(faults(answer)) == {"body"}


async def test_changes_many(env: Env) -> None:
    pixel = await env.pixel()
    first, second = [await env.make(slug=slug, tags=["a", "b"]) for slug in ("one", "two")]
    other = await env.make(env.bob)
    env.changed_slugs.clear()
    fields = {"status": "inactive", "expires_at": "2031-01-01T00:00:00Z", "pixel_ids": [pixel], "hostname": None}
    ids = [first["id"], other["id"], second["id"], str(uuid4()), "1"]
    answer = await change(env, ids, **fields, add_tags=["c", "b"], remove_tags=["a"])
    assert answer == {
        "data": [
            {"id": id_, "status": "updated" if id_ in {first["id"], second["id"]} else "not_found"} for id_ in ids
        ],
        "meta": {"updated": 2, "unchanged": 0, "not_found": 3, "invalid": 0},
    }
    for link in (first, second):
        expected = link | fields | {"expires_at": "2031-01-01T00:00:00.000000Z", "hostname": "go.test"}
        assert (await env.find(link)).json()["data"] == expected | {"tags": ["b", "c"]}
    assert sorted(env.changed_slugs) == ["one", "two"]
    assert (await env.find(other, env.bob)).json()["data"] == other
    assert (await env.browse("?tag=c")).json()["meta"]["total"] == 2
    assert (await env.browse("?tag=a")).json()["meta"]["total"] == 0


async def test_utm_params_are_set_in_each_destination_and_others_stay(env: Env) -> None:
    own = {"utm_source": "old", "utm_term": "shoes", "utm_content": "logo"}
    links = [await env.make(utm_params=own), await env.make()]
    ids = [link["id"] for link in links]
    sent = {"utm_source": "newsletter", "utm_medium": "e mail", "utm_content": None}
    assert statuses(await change(env, ids, utm_params=sent)) == ["updated", "updated"]
    first, second = [(await env.find(link)).json()["data"] for link in links]
    assert first["utm_params"] == {"utm_source": "newsletter", "utm_medium": "e mail", "utm_term": "shoes"}
    assert second["utm_params"] == {"utm_source": "newsletter", "utm_medium": "e mail"}
    assert "utm_content" not in first["destination_url"]
    for link in (first, second):
        assert dict(parse_qsl(urlsplit(link["destination_url"]).query)) == link["utm_params"]
    assert statuses(await change(env, ids, utm_params=sent)) == ["unchanged", "unchanged"]
    refused = await send(env, "PATCH", {"ids": ids, "set": {"utm_params": {"utm_source": "x" * 256}}})
    assert set(faults(refused)) == {"set.utm_params.utm_source"}


async def test_a_change_without_effect_changes_nothing(env: Env) -> None:
    link = await env.make(tags=["a"])
    env.changed_slugs.clear()
    for fields in ({}, {"add_tags": ["a"]}, {"remove_tags": ["x"]}, {"status": "active"}, {"tags": ["a"]}):
        assert statuses(await change(env, [link["id"]], **fields)) == ["unchanged"]
    assert (await env.find(link)).json()["data"] == link
    assert env.changed_slugs == []


async def test_tags_alone_change_no_route(env: Env) -> None:
    link = await env.make()
    env.changed_slugs.clear()
    assert statuses(await change(env, [link["id"]] * 2, tags=["x"])) == ["updated", "unchanged"]
    assert env.changed_slugs == []


async def test_a_row_is_invalid_for_what_depends_on_its_link(env: Env) -> None:
    full, free = await env.make(tags=[str(n) for n in range(100)]), await env.make()
    answer = await change(env, [full["id"], free["id"]], add_tags=["one more"])
    assert statuses(answer) == ["invalid", "updated"]
    assert set(answer["data"][0]["errors"]) == {"add_tags"}
    assert statuses(await change(env, [full["id"]], add_tags=["one more"], remove_tags=["7"])) == ["updated"]


@pytest.mark.parametrize(
    ("fields", "names"),
    [
        ({"slug": "x", "title": None}, {"set.slug", "set.title"}),
        ({"status": "off"}, {"set.status"}),
        ({"status": None, "add_tags": None, "remove_tags": None}, {"set.status", "set.add_tags", "set.remove_tags"}),
        ({"expires_at": "2020-01-01T00:00:00Z", "hostname": "go.elsewhere.com"}, {"set.expires_at", "set.hostname"}),
        ({"pixel_ids": ["x", "01a1fbb2-2855-72ee-8e77-c161c4205e89"]}, {"set.pixel_ids.0", "set.pixel_ids.1"}),
        ({"tags": [""], "add_tags": [1]}, {"set.tags", "set.tags.0", "set.add_tags.0"}),
        ({"tags": ["a"], "remove_tags": ["b"]}, {"set.tags"}),
        ({"add_tags": ["a"], "remove_tags": ["b", "a"]}, {"set.remove_tags.1"}),
    ],
)
async def test_refuses_what_no_link_could_have(env: Env, fields: dict[str, Any], names: set[str]) -> None:
    link = await env.make()
    answer = await send(env, "PATCH", {"ids": [link["id"]], "set": fields})
    assert set(faults(answer)) == names
    assert (await env.find(link)).json()["data"] == link


async def test_deletes_many(env: Env) -> None:
    first, second = await env.make(slug="one", tags=["a"]), await env.make(slug="two")
    other = await env.make(env.bob)
    env.changed_slugs.clear()
    ids = [first["id"], other["id"], second["id"], first["id"], "x"]
    answer = await delete(env, ids)
    assert statuses(answer) == ["deleted", "not_found", "deleted", "not_found", "not_found"]
    assert answer["meta"] == {"deleted": 2, "not_found": 3}
    assert [row["id"] for row in answer["data"]] == ids
    assert sorted(env.changed_slugs) == ["one", "two"]
    assert (await env.browse()).json()["meta"]["total"] == 0
    assert (await env.browse("?tag=a")).json()["meta"]["total"] == 0
    assert (await env.find(other, env.bob)).status_code == 200
    assert (await env.make(slug="one"))["slug"] == "one"


async def test_concurrent_requests_for_the_same_links(env: Env) -> None:
    ids = [(await env.make())["id"] for _ in range(10)]
    answers = await asyncio.gather(
        *(change(env, ids[::step], add_tags=[f"{number}"]) for number, step in enumerate((1, -1, 1, -1))),
        delete(env, ids[::-1][:5]),
    )
    assert answers[-1]["meta"] == {"deleted": 5, "not_found": 0}
    assert (await env.browse("?tag=0&tag=3")).json()["meta"]["total"] == 5


async def test_is_one_request_of_the_budget(env: Env) -> None:
    link = await env.make()
    before = int((await env.find(link)).headers["X-RateLimit-Remaining"])
    answer = await send(env, "PATCH", {"ids": [link["id"]] * 100, "set": {"status": "inactive"}})
    assert int(answer.headers["X-RateLimit-Remaining"]) == before - 1
