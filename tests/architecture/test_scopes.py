"""R16, the scope matrix: every endpoint with no, each one and all scopes, on own, foreign, missing and misspelt ids."""

from collections.abc import Callable, Sequence
from typing import Any
from uuid import uuid4

import pytest
from architecture.facts import CODES, ENDPOINTS, PREFIX, SCOPES, Endpoint
from architecture.running import LOGO, PIXEL, RECEIVER, RunningApp

from waypost.accounts import SCOPES as SCOPES_OF_THE_APPLICATION

SCOPE_SETS: tuple[Sequence[str], ...] = ((), *((scope,) for scope in SCOPES), SCOPES)
WITH_ID = [endpoint for endpoint in ENDPOINTS.values() if "{id}" in endpoint.path]


@pytest.fixture
def running(shared_app: RunningApp) -> RunningApp:
    return shared_app


def named(value: Any) -> str:
    return f"{value.method} {value.path}" if isinstance(value, Endpoint) else "+".join(value) or "none"


def body(running: RunningApp, endpoint: Endpoint) -> dict[str, Any]:
    """What makes the endpoint succeed."""
    bodies: dict[tuple[str, str], Callable[[], Any]] = {
        ("POST", "/v1/links"): lambda: {"destination_url": running.website.url},
        ("PUT", "/v1/links/by-external-id/{external_id}"): lambda: {"destination_url": running.website.url},
        ("POST", "/v1/webhooks"): lambda: {"url": RECEIVER, "event_types": ["link.created"]},
        ("POST", "/v1/pixels"): lambda: PIXEL,
        ("POST", "/v1/domains"): lambda: {"hostname": running.hostname()},
        ("POST", "/v1/shares"): lambda: {"name": "A"},
        ("POST", "/v1/utm-templates"): lambda: {"name": f"{uuid4()}", "utm_params": {"utm_source": "a"}},
        ("POST", "/v1/tags"): lambda: {"name": str(uuid4())},
        ("POST", "/v1/links/{id}/aliases"): lambda: {"hostname": running.latest_hostname, "path": "sale"},
    }
    if endpoint.path.endswith("/logo"):
        return {"files": LOGO} if endpoint.method == "PUT" else {}
    if endpoint.path.startswith("/v1/qrcodes/"):
        return {"json": {"hostname": "waypost.test"}}
    if endpoint.path == "/v1/links/bulk":
        return {"json": {"links": [{}], "ids": [str(uuid4())], "set": {}}}
    if make := bodies.get((endpoint.method, endpoint.path)):
        return {"json": make()}
    return {"json": {}} if endpoint.method in {"POST", "PATCH", "PUT"} else {}


async def owned(running: RunningApp, key: str, endpoint: Endpoint) -> tuple[str, str]:
    """What the endpoint is to find, such as a link and an alias of it, or a webhook and a delivery of it."""
    makers = {
        "pixels": running.pixel,
        "utm-templates": running.utm_template,
        "shares": running.share,
        "tags": running.tag,
        "domains": running.domain,
    }
    made = makers.get(endpoint.path.split("/")[2])
    id_ = (await made(key))["id"] if made else ""
    if endpoint.path.endswith("/logo"):
        await running.logo(key, endpoint.path.replace("{id}", id_))
    if id_:
        return id_, ""
    if endpoint.path.startswith("/v1/webhooks"):
        webhook, delivery = await running.webhook(key)
        return webhook["id"], delivery["id"]
    link = (await running.link(key))["id"]
    if "/aliases" in endpoint.path:
        await running.domain(key)
    return link, await running.alias(key, link) if endpoint.path.endswith("{alias_id}") else ""


def is_allowed(endpoint: Endpoint, scopes: Sequence[str]) -> bool:
    return endpoint.scope is None or endpoint.scope in scopes


def test_scopes_are_those_of_the_specification() -> None:
    assert SCOPES_OF_THE_APPLICATION == SCOPES


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("endpoint", ENDPOINTS.values(), ids=ENDPOINTS)
async def test_keys_with_all_sets_of_scopes(running: RunningApp, endpoint: Endpoint) -> None:
    account = await running.account()
    owner = await running.key(account, SCOPES)
    for scopes in SCOPE_SETS:
        key = await running.key(account, scopes)
        own = await owned(running, owner, endpoint)
        answer = await running.ask(key, endpoint, *own, **body(running, endpoint))
        assert answer.status_code == (endpoint.success if is_allowed(endpoint, scopes) else 403), named(scopes)
        if answer.status_code == 403:
            error = answer.json()["error"]
            assert (error["code"], f" {endpoint.scope} " in error["message"]) == (CODES[403], True)


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("endpoint", WITH_ID, ids=named)
async def test_foreign_ids_with_all_sets_of_scopes(running: RunningApp, endpoint: Endpoint) -> None:
    account = await running.account()
    others = await running.key(await running.account(), SCOPES)
    foreign, delivery = await owned(running, others, endpoint)
    path = f"{PREFIX}{endpoint.path.partition('{')[0]}{foreign}"
    before = await running.client.get(path, headers={"Authorization": f"Bearer {others}"})
    for scopes in SCOPE_SETS:
        key = await running.key(account, scopes)
        expected = 404 if is_allowed(endpoint, scopes) else 403
        answers = [
            await running.ask(key, endpoint, each, delivery, **body(running, endpoint))
            for each in (foreign, str(uuid4()), "spring", "1", foreign.replace("-", ""))
        ]
        assert {answer.status_code for answer in answers} == {expected}, named(scopes)
        assert len({answer.content for answer in answers}) == 1, "another account's looks unlike a missing one"
    after = await running.client.get(path, headers={"Authorization": f"Bearer {others}"})
    assert (before.status_code, before.content) == (200, after.content), "and it is untouched"


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("endpoint", ENDPOINTS.values(), ids=ENDPOINTS)
async def test_the_order_of_checks(running: RunningApp, endpoint: Endpoint) -> None:
    """The key before the plan, the plan before the scope, the scope before the id and the body."""
    unpaid = await running.account("past_due")
    broken = {"content": b"{"} if body(running, endpoint) else {}
    for key, status in (
        (None, 401),
        ("wp_live_nonsense", 401),
        (await running.key(unpaid, ()), 402),
        (await running.key(unpaid, SCOPES), 402),
    ):
        answer = await running.ask(key, endpoint, "1", **broken)
        assert (answer.status_code, answer.json()["error"]["code"]) == (status, CODES[status])
