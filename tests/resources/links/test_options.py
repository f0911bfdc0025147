"""Options of links: on a path of their own, in requests that create or change links, and in the form."""

from typing import Any

import pytest
from resources.links.env import Env, faults

NOTHING = {"forward_query": None, "forward_path": None}


async def options(env: Env, link: dict[str, Any]) -> dict[str, Any]:
    answer = await env.client.get(f"/api/v1/links/{link['id']}/options", headers=env.alice.headers)
    assert answer.status_code == 200, answer.text
    found = answer.json()["data"]
    assert (found.pop("link_id"), found.pop("updated_at")) == (
        link["id"],
        (await env.find(link)).json()["data"]["updated_at"],
    )
    return found


async def patch(env: Env, link: dict[str, Any], fields: dict[str, Any]) -> Any:
    url = f"/api/v1/links/{link['id']}/options"
    return await env.client.patch(url, json=fields, headers=env.alice.headers)


async def test_changes_what_was_sent(env: Env) -> None:
    link = await env.make(slug="a")
    assert await options(env, link) == NOTHING
    env.changed_slugs.clear()
    for sent, stored in (
        ({"forward_query": "all"}, {"forward_query": "all", "forward_path": None}),
        ({"forward_path": False}, {"forward_query": "all", "forward_path": False}),
        ({"forward_query": ["utm_*", "gclid", "utm_*"]}, {"forward_query": ["utm_*", "gclid"], "forward_path": False}),
        ({"forward_query": "none", "forward_path": True}, {"forward_query": "none", "forward_path": True}),
        ({"forward_query": None, "forward_path": None}, NOTHING),
    ):
        answer = await patch(env, link, sent)
        assert answer.status_code == 200, answer.text
        assert await options(env, link) == stored
    assert env.changed_slugs == ["a"] * 5
    assert (await patch(env, link, {})).status_code == 200
    assert len(env.changed_slugs) == 5, "unchanged"


@pytest.mark.parametrize(
    "wrong",
    [
        *("some", "", 5, True, {}, [], [""], ["*"], ["a*b"], ["a b"], ["a=b"], ["a&b"], [5], ["x" * 256]),
        [f"a{number}" for number in range(21)],
    ],
)
async def test_refuses_wrong_values(env: Env, wrong: Any) -> None:
    link = await env.make()
    assert faults(await patch(env, link, {"forward_query": wrong})).keys() == {"forward_query"}
    sent = {"options": {"forward_query": wrong, "forward_path": "yes"}}
    assert faults(await env.post(sent)).keys() == {"options.forward_query", "options.forward_path"}
    assert faults(await env.patch(link, sent)).keys() == {"options.forward_query", "options.forward_path"}


async def test_requests_for_links_take_options(env: Env) -> None:
    link = await env.make(options={"forward_query": ["a"], "forward_path": True})
    assert await options(env, link) == {"forward_query": ["a"], "forward_path": True}
    await env.changed(link, options={"forward_path": None})
    assert await options(env, link) == {"forward_query": ["a"], "forward_path": None}
    await env.changed(link, title="Other")
    assert await options(env, link) == {"forward_query": ["a"], "forward_path": None}
    rows = [{"destination_url": env.site.url(), "options": {"forward_query": "all"}}]
    rows += [{"destination_url": env.site.url(), "options": {"forward_query": "?"}}]
    made = await env.client.post("/api/v1/links/bulk", json={"links": rows}, headers=env.alice.headers)
    first, second = made.json()["data"]
    assert (await options(env, first["link"]))["forward_query"] == "all"
    assert second["errors"].keys() == {"options.forward_query"}
    body = {"ids": [link["id"]], "set": {"options": {"forward_query": "none"}}}
    answer = await env.client.patch("/api/v1/links/bulk", json=body, headers=env.alice.headers)
    assert answer.json()["data"][0]["status"] == "updated", answer.text
    assert await options(env, link) == {"forward_query": "none", "forward_path": None}
    body["set"] = {"options": {"forward_query": "?"}}
    answer = await env.client.patch("/api/v1/links/bulk", json=body, headers=env.alice.headers)
    assert faults(answer).keys() == {"set.options.forward_query"}
