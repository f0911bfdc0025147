"""GET /v1/webhooks/{id}/deliveries"""

from datetime import timedelta
from typing import Any

import pytest
from people import BASE_URL
from resources.webhooks.env import Env, faults

from waypost.kit.ids import new_id


async def test_lists_deliveries(env: Env) -> None:
    made = await env.make()
    await env.happen()
    [delivery] = await env.deliveries(made)
    assert delivery == {
        "id": delivery["id"],
        "event": "link.created",
        "status": "pending",
        "attempts": 0,
        "next_attempt_at": "2030-01-01T12:00:00.000000Z",
        "response_status": None,
        "error": None,
        "created_at": "2030-01-01T12:00:00.000000Z",
    }
    assert list(delivery) == [
        *("id", "event", "status", "attempts", "next_attempt_at", "response_status", "error", "created_at")
    ]


async def test_its_way(env: Env) -> None:
    """Under way, failed once, delivered."""
    made = await env.make()
    await env.happen()

    async def now() -> tuple[Any, ...]:
        [delivery] = await env.deliveries(made)
        return tuple(delivery[name] for name in ("status", "attempts", "next_attempt_at", "response_status", "error"))

    claimed = await env.claim()
    assert await now() == ("pending", 1, None, None, None)
    env.clock.move(timedelta(seconds=1))
    later = env.clock() + timedelta(seconds=10)
    await env.settle(claimed, "pending", next_attempt_at=later, response_status=500, error="answered 500")
    assert await now() == ("pending", 1, "2030-01-01T12:00:11.000000Z", 500, "answered 500")
    env.clock.move(timedelta(seconds=10))
    await env.settle(await env.claim(), "delivered", response_status=204)
    assert await now() == ("delivered", 2, None, 204, None)


async def test_newest_first_in_pages(env: Env) -> None:
    made = await env.make()
    for _ in range(3):
        await env.happen()
    path = f"/{made['id']}/deliveries"
    first, second = [(await env.get(f"{path}?per_page=2&page={page}")).json() for page in (1, 2)]
    ids = [each["id"] for each in first["data"] + second["data"]]
    assert (len(set(ids)), ids) == (3, sorted(ids, reverse=True))
    url = f"{BASE_URL}/api/v1/webhooks{path}"
    places = {"current_page": 1, "from": 1, "last_page": 2, "per_page": 2, "to": 2, "total": 3}
    assert first["meta"] == places | {"path": url}


async def test_the_filters(env: Env) -> None:
    made = await env.make(event_types=["link.created", "link.clicked"])
    await env.happen("link.clicked")
    await env.settle(await env.claim(), "failed", error="timed out")
    await env.happen("link.clicked")
    await env.happen("link.created")
    await env.ask("POST", f"/{made['id']}/test")
    for query, found in (
        ("", ["link.clicked", "link.clicked", "link.created", "webhook.test"]),
        ("?status=&event=", ["link.clicked", "link.clicked", "link.created", "webhook.test"]),
        ("?status=pending", ["link.clicked", "link.created", "webhook.test"]),
        ("?status=failed", ["link.clicked"]),
        ("?status=delivered", []),
        ("?event=link.clicked", ["link.clicked", "link.clicked"]),
        ("?event=webhook.test", ["webhook.test"]),
        ("?event=link.clicked&status=failed", ["link.clicked"]),
        ("?event=link.created&status=failed", []),
    ):
        assert sorted(each["event"] for each in await env.deliveries(made, query)) == found, query


@pytest.mark.parametrize(
    ("query", "named"),
    [
        ("status=open", {"status"}),
        ("event=link.deleted", {"event"}),
        ("event=%00", {"event"}),
        ("page=0&per_page=x&status=PENDING&event=link", {"page", "per_page", "status", "event"}),
    ],
)
async def test_values_that_do_not_exist(env: Env, query: str, named: set[str]) -> None:
    made = await env.make()
    assert faults(await env.get(f"/{made['id']}/deliveries?{query}")).keys() == named


async def test_only_its_own(env: Env) -> None:
    made, other = await env.make(), await env.make(event_types=["pixel.fired"])
    bobs = await env.make(env.bob)
    await env.happen()
    assert len(await env.deliveries(made)) == 1
    assert await env.deliveries(other) == []
    assert (await env.get(f"/{bobs['id']}/deliveries", env.bob)).json()["data"] == []


async def test_not_another_accounts(env: Env) -> None:
    made = await env.make()
    await env.happen()
    answers = [await env.get(f"/{id_}/deliveries", env.bob) for id_ in (made["id"], new_id(), "1")]
    assert {answer.status_code for answer in answers} == {404}
    assert len({answer.content for answer in answers}) == 1
