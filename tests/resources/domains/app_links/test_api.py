"""GET and PUT /v1/domains/{id}/app-links"""

import json
from typing import Any
from uuid import UUID

import httpx
from resources.domains.env import NAME, Env
from resources.links.env import faults
from sqlalchemy import select

from waypost.resources.domains.app_links import apple, documents
from waypost.resources.domains.app_links.model import domain_app_links
from waypost.resources.domains.app_links.schemas import APPLE_EXAMPLE, GOOGLE_EXAMPLE

APPLE, GOOGLE = "apple_app_site_association", "assetlinks"
BOTH = {APPLE: APPLE_EXAMPLE, GOOGLE: GOOGLE_EXAMPLE}
NONE = {APPLE: None, GOOGLE: None}


async def put(env: Env, domain: dict[str, Any], fields: Any, **rest: Any) -> httpx.Response:
    return await env.ask("PUT", f"/{domain['id']}/app-links", content=json.dumps(fields), **rest)


async def get(env: Env, domain: dict[str, Any], **rest: Any) -> dict[str, Any]:
    answer = await env.ask("GET", f"/{domain['id']}/app-links", **rest)
    assert answer.status_code == 200, answer.text
    return answer.json()["data"]


async def rows(env: Env, domain: dict[str, Any]) -> list[Any]:
    async with env.deps.db.read() as tx:
        query = select(domain_app_links).where(domain_app_links.c.domain_id == UUID(domain["id"]))
        return list(await tx.execute(query))


async def test_replaces_both_documents(env: Env) -> None:
    made = await env.make()
    assert await get(env, made) == NONE
    for sent, kept in (
        (BOTH, BOTH),
        ({GOOGLE: []}, NONE | {GOOGLE: []}),
        ({APPLE: {}}, NONE | {APPLE: {}}),
        ({}, NONE),
    ):
        env.published.clear()
        answer = await put(env, made, sent)
        assert (answer.status_code, answer.json()["data"]) == (200, kept), answer.text
        assert await get(env, made) == kept
        assert env.published == [NAME]
    assert await rows(env, made) == []
    assert (await env.find(made)).json()["data"] == made, "not a change of the domain itself"


async def test_keeps_unknown_keys_and_their_order(env: Env) -> None:
    made = await env.make()
    sent = {APPLE: {"z": [1.5, None, {"ü": "€😀\u0000"}], "a": True, "applinks": {"details": []}}}
    await put(env, made, sent)
    assert json.dumps((await get(env, made))[APPLE]) == json.dumps(sent[APPLE])


async def test_a_new_version_only_if_something_changes(env: Env) -> None:
    made = await env.make()
    await put(env, made, BOTH)
    before = await rows(env, made)
    env.published.clear()
    await put(env, made, BOTH | {"other": 1})
    assert (await rows(env, made), env.published) == (before, [])
    await put(env, made, BOTH | {GOOGLE: []})
    assert (await rows(env, made))[0].version != before[0].version


async def test_names_the_place_of_each_error(env: Env) -> None:
    made = await env.make()
    wrong = {
        APPLE: {"applinks": {"details": [{"appIDs": ["ABCDE12345.com.example.app", "x"]}]}},
        GOOGLE: [{"relation": []}],
    }
    errors = faults(await put(env, made, wrong))
    assert errors.keys() == {f"{APPLE}.applinks.details.0.appIDs.1", f"{GOOGLE}.0.relation", f"{GOOGLE}.0.target"}
    assert errors[f"{APPLE}.applinks.details.0.appIDs.1"] == [apple.APP_ID]
    for name, values in ((APPLE, ([], "{}", 5, True)), (GOOGLE, ({}, "[]", 5, False))):
        for value in values:
            assert faults(await put(env, made, {name: value})).keys() == {name}
    assert faults(await put(env, made, [])).keys() == {"body"}
    assert (await get(env, made), env.published) == (NONE, [])


async def test_limits_size_and_depth(env: Env) -> None:
    made = await env.make()
    around = len(json.dumps({"x": ""}, separators=(",", ":")))
    longest = "ü" * ((documents.MAX_BYTES - around) // 2)
    assert (await put(env, made, {APPLE: {"x": longest}})).status_code == 200
    assert (await get(env, made))[APPLE] == {"x": longest}
    for name, value, message in (
        (APPLE, {"x": longest + "ü"}, documents.TOO_LONG),
        (GOOGLE, ["x" * documents.MAX_BYTES], documents.TOO_LONG),
        (APPLE, {"x": "\ud800"}, documents.NO_UNICODE),
        (APPLE, {"\ud800": {"\ud800": 1}}, documents.NO_UNICODE),
        (GOOGLE, _nested(40), documents.TOO_DEEP),
        (GOOGLE, _nested(900), documents.TOO_DEEP),
    ):
        assert faults(await put(env, made, {name: value})) == {name: [message]}


def _nested(levels: int) -> Any:
    value: list[Any] = []
    for _ in range(levels):
        value = [value]
    return value


async def test_only_the_owner_sees_and_changes_them(env: Env) -> None:
    made = await env.make()
    await put(env, made, BOTH)
    for answer in (
        await env.ask("GET", f"/{made['id']}/app-links", env.bob),
        await put(env, made, NONE, who=env.bob),
        await put(env, made, {APPLE: 5}, who=env.bob),
        await put(env, {"id": "shared"}, NONE),
    ):
        assert answer.status_code == 404
    assert await get(env, made) == BOTH


async def test_a_deleted_domain_leaves_none(env: Env) -> None:
    made = await env.make()
    await put(env, made, BOTH)
    await env.delete(made)
    assert await rows(env, made) == []
    assert await get(env, await env.make()) == NONE
