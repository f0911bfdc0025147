"""ETags of all objects: what answers 304, and which changes an `If-Match` stops."""

import re
from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import pytest
from architecture.facts import ENDPOINTS, SCOPES, Endpoint
from architecture.running import OTHER_LOGO, RunningApp

from waypost.kit.versions import MALFORMED, ONLY_ABSENT, WEAK
from waypost.resources.domains.app_links.schemas import GOOGLE_EXAMPLE
from waypost.web.endpoint import NO_ETAG, EndpointTable

pytestmark = pytest.mark.asyncio(loop_scope="module")

BODIES: dict[str, Any] = {
    "links_update": {"json": {"title": "Other"}},
    "links_update_options": {"json": {"forward_path": True}},
    "links_set_routing": {"json": {"click_limit": 7}},
    "pixels_update": {"json": {"name": "Other"}},
    "domains_update": {"json": {"root_url": "https://example.com/other"}},
    "domains_update_options": {"json": {"ignore_case": False}},
    "domains_update_appearance": {"json": {"color": "#123456"}},
    "domains_set_app_links": {"json": {"assetlinks": GOOGLE_EXAMPLE}},
    "templates_update": {"json": {"name": "Other"}},
    "shares_update": {"json": {"name": "Other"}},
    "tags_update": {"json": {"color": "red"}},
    "qrcodes_set_logo": {"files": OTHER_LOGO},
    "domains_set_logo": {"files": OTHER_LOGO},
}
Made = tuple[str, str]
"""A key, and the id of an object."""


def versioned(running: RunningApp) -> dict[str, list[str]]:
    """Names of changes, by the name of the operation that gets what they change."""
    table = next(route for route in running.app.routes if isinstance(route, EndpointTable))
    by_path: dict[str, list[Any]] = {}
    for endpoint in table.endpoints:
        if endpoint.shows:
            by_path.setdefault(endpoint.path, []).append(endpoint)
    return {
        next(each.operation for each in found if each.method == "GET"): [
            each.operation for each in found if each.is_change
        ]
        for found in by_path.values()
    }


async def make(running: RunningApp, name: str) -> Made:
    key = await running.key(await running.account(), SCOPES)
    group = ENDPOINTS[name].path.split("/")[2]
    makers: dict[str, Callable[[str], Awaitable[Any]]] = {
        "links": running.link,
        "pixels": running.pixel,
        "domains": running.domain,
        "utm-templates": running.utm_template,
        "shares": running.share,
        "tags": running.tag,
    }
    if group == "webhooks":
        return key, (await running.webhook(key))[0]["id"]
    id_ = (await makers[group](key))["id"] if group in makers else ""
    if name == "links_get_routing":
        headers, body = {"Authorization": f"Bearer {key}"}, {"click_limit": 5}
        await running.client.put(f"/api/v1/links/{id_}/routing", headers=headers, json=body)
    if name.endswith("get_logo"):
        await running.logo(key, ENDPOINTS[name].path.replace("{id}", id_))
    return key, id_


async def ask(
    running: RunningApp, made: Made, endpoint: Endpoint, headers: dict[str, str], **rest: Any
) -> httpx.Response:
    path = f"/api{endpoint.path.replace('{id}', made[1])}"
    sent = {"Authorization": f"Bearer {made[0]}", **headers}
    return await running.client.request(endpoint.method, path, headers=sent, **rest)


async def test_each_object_has_a_version(shared_app: RunningApp) -> None:
    found = versioned(shared_app)
    changes = {name for name, each in ENDPOINTS.items() if each.method in {"PATCH", "PUT", "DELETE"}}
    assert changes - {name for names in found.values() for name in names} == {
        "links_upsert",
        "links_delete_alias",
        *(f"links_bulk_{verb}" for verb in ("update", "delete")),
    }


async def test_answers_304_to_who_has_the_object(shared_app: RunningApp) -> None:
    for name in versioned(shared_app):
        made, get = await make(shared_app, name), ENDPOINTS[name]
        first = await ask(shared_app, made, get, {})
        etag = first.headers["ETag"]
        assert re.fullmatch(r'"[0-9a-f]{20}(-[0-9a-f]{8})?"', etag), name
        for text in (etag, f"W/{etag}", f'"a", {etag} ,"b"', "*"):
            answer = await ask(shared_app, made, get, {"If-None-Match": text})
            assert (answer.status_code, answer.content, answer.headers["ETag"]) == (304, b"", etag), (name, text)
            assert "X-RateLimit-Remaining" in answer.headers
            for each in (first, answer):
                assert (each.headers["Cache-Control"], each.headers["Vary"]) == ("private, no-cache", "Authorization")
        for text in ('"a"', f'"a"{etag}', etag.strip('"'), f"{etag} x", "", '"', f'"a", {etag[:-1]}'):
            answer = await ask(shared_app, made, get, {"If-None-Match": text})
            assert (answer.status_code, answer.content) == (200, first.content), (name, text)


async def test_if_match_stops_a_change_of_another_version(shared_app: RunningApp) -> None:
    for name, changes in versioned(shared_app).items():
        for change in changes:
            made, get, endpoint = await make(shared_app, name), ENDPOINTS[name], ENDPOINTS[change]
            rest = BODIES.get(change, {})
            before = await ask(shared_app, made, get, {})
            etag = before.headers["ETag"]
            for text, message in (('"other"', "has changed"), (f"W/{etag}", WEAK), (f'W/"a", W/{etag}', WEAK)):
                refused = await ask(shared_app, made, endpoint, {"If-Match": text}, **rest)
                assert (refused.status_code, refused.json()["error"]["code"]) == (412, "http_error"), (change, text)
                assert message in refused.json()["error"]["message"]
            for text in (etag.strip('"'), f"{etag}, x", f'"a"{etag}', "", '"', "*, *"):
                refused = await ask(shared_app, made, endpoint, {"If-Match": text}, **rest)
                assert refused.status_code == 422, (change, text)
                assert refused.json()["error"]["errors"] == {"If-Match": [MALFORMED]}
            assert (await ask(shared_app, made, get, {})).content == before.content, change
            done = await ask(shared_app, made, endpoint, {"If-Match": f'"a", {etag}'}, **rest)
            assert done.status_code == endpoint.success, (change, done.text)
            after = await ask(shared_app, made, get, {})
            assert after.headers.get("ETag") != etag, change
            assert done.headers.get("ETag") == (after.headers["ETag"] if endpoint.method == "PATCH" else None), change
            if endpoint.method != "DELETE":
                assert (await ask(shared_app, made, endpoint, {"If-Match": etag}, **rest)).status_code == 412, change
                assert (await ask(shared_app, made, endpoint, {"If-Match": "*"}, **rest)).status_code == 200, change


async def test_a_change_never_ignores_if_none_match(shared_app: RunningApp) -> None:
    for name, changes in versioned(shared_app).items():
        made = await make(shared_app, name)
        for change in changes:
            refused = await ask(shared_app, made, ENDPOINTS[change], {"If-None-Match": "*"}, **BODIES.get(change, {}))
            assert (refused.status_code, refused.json()["error"]["message"]) == (412, ONLY_ABSENT), change


async def test_if_match_is_refused_where_nothing_has_a_version(shared_app: RunningApp) -> None:
    made = await make(shared_app, "links_get")
    await shared_app.domain(made[0])
    alias = await shared_app.alias(*made)
    headers = {"Authorization": f"Bearer {made[0]}", "If-Match": "*"}
    for method, path, body in (
        ("DELETE", f"/links/{made[1]}/aliases/{alias}", None),
        ("PATCH", "/links/bulk", {"ids": [made[1]], "set": {"title": "Other"}}),
    ):
        answer = await shared_app.client.request(method, f"/api/v1{path}", headers=headers, json=body)
        assert (answer.status_code, answer.json()["error"]["message"]) == (412, NO_ETAG)
        others = {"Authorization": headers["Authorization"], "If-None-Match": "*"}
        answer = await shared_app.client.request(method, f"/api/v1{path}", headers=others, json=body)
        assert (answer.status_code, answer.json()["error"]["message"]) == (412, ONLY_ABSENT)
