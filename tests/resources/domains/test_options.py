"""GET and PATCH /v1/domains/{id}/options, and the options on the page of a domain."""

import json
from typing import Any

from resources.domains.env import NAME, Env
from resources.links.env import faults


async def patch(env: Env, domain: dict[str, Any], fields: Any, **rest: Any) -> Any:
    return await env.ask("PATCH", f"/{domain['id']}/options", content=json.dumps(fields), **rest)


async def get(env: Env, domain: dict[str, Any]) -> dict[str, Any]:
    answer = await env.ask("GET", f"/{domain['id']}/options")
    assert answer.status_code == 200, answer.text
    return answer.json()["data"]


async def test_changes_what_was_sent(env: Env) -> None:
    made = await env.make()
    defaults = {"domain_id": made["id"], "forward_query": "none", "forward_path": False, "ignore_case": True}
    defaults |= {"slug_length": 7, "slug_alphabet": "mixed", "updated_at": None}
    assert await get(env, made) == defaults
    assert (await patch(env, made, {})).json()["data"] == defaults
    for sent, stored in ((False, False), (None, True), (True, True)):
        env.published.clear()
        answer = await patch(env, made, {"ignore_case": sent})
        assert answer.json()["data"]["ignore_case"] is stored, answer.text
        assert answer.json()["data"]["updated_at"]
        assert await get(env, made) == answer.json()["data"]
        assert env.published == [NAME]
        env.published.clear()
        assert (await patch(env, made, {"ignore_case": sent})).status_code == 200
        assert env.published == [], "unchanged"
    assert (await env.find(made)).json()["data"] == made, "not a change of the domain itself"
    wrong = {"ignore_case": "yes", "slug_length": 3, "slug_alphabet": "Mixed"}
    assert faults(await patch(env, made, wrong)).keys() == wrong.keys()
    slugs = {"slug_length": 20, "slug_alphabet": "digits"}
    assert (await patch(env, made, slugs)).json()["data"].items() >= slugs.items()


async def test_options_end_with_their_domain(env: Env) -> None:
    made = await env.make()
    await patch(env, made, {"ignore_case": False})
    await env.delete(made)
    assert (await get(env, await env.make()))["ignore_case"] is True


async def test_options_are_of_their_account(env: Env) -> None:
    made = await env.make()
    for method in ("GET", "PATCH"):
        answer = await env.ask(method, f"/{made['id']}/options", content="{}", who=env.bob)
        assert answer.status_code == 404
