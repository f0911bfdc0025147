"""Options of links: on a path of their own, in requests that create or change links, and in the form."""

import asyncio
from datetime import timedelta
from typing import Any
from unittest.mock import ANY
from urllib.parse import unquote

import httpx
import pytest
from people import START, Person
from resources.links.env import KEYS, Env, faults
from sqlalchemy import func, insert, select

from waypost.audit.store import AuditFilter, list_before
from waypost.kit.clock import timestamp
from waypost.kit.ids import new_id
from waypost.resources.links.rules import EXTERNAL_ID_TAKEN
from waypost.resources.webhooks.model import webhook_deliveries, webhooks

NOTHING = {"forward_query": None, "forward_path": None, "note": None, "external_id": None}


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
    stored = NOTHING
    for sent in (
        {"forward_query": "all"},
        {"forward_path": False},
        {"forward_query": ["utm_*", "gclid", "utm_*"]},
        {"forward_query": "none", "forward_path": True},
        {"forward_query": None, "forward_path": None},
    ):
        answer = await patch(env, link, sent)
        assert answer.status_code == 200, answer.text
        stored = {**stored, **sent}
        if sent.get("forward_query") == ["utm_*", "gclid", "utm_*"]:
            stored["forward_query"] = ["utm_*", "gclid"]
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
    assert await options(env, link) == {**NOTHING, "forward_query": ["a"], "forward_path": True}
    await env.changed(link, options={"forward_path": None})
    assert await options(env, link) == {**NOTHING, "forward_query": ["a"]}
    await env.changed(link, title="Other")
    assert await options(env, link) == {**NOTHING, "forward_query": ["a"]}
    rows = [{"destination_url": env.site.url(), "options": {"forward_query": "all"}}]
    rows += [{"destination_url": env.site.url(), "options": {"forward_query": "?"}}]
    made = await env.client.post("/api/v1/links/bulk", json={"links": rows}, headers=env.alice.headers)
    first, second = made.json()["data"]
    assert (await options(env, first["link"]))["forward_query"] == "all"
    assert second["errors"].keys() == {"options.forward_query"}
    body = {"ids": [link["id"]], "set": {"options": {"forward_query": "none"}}}
    answer = await env.client.patch("/api/v1/links/bulk", json=body, headers=env.alice.headers)
    assert answer.json()["data"][0]["status"] == "updated", answer.text
    assert await options(env, link) == {**NOTHING, "forward_query": "none"}
    body["set"] = {"options": {"forward_query": "?"}}
    answer = await env.client.patch("/api/v1/links/bulk", json=body, headers=env.alice.headers)
    assert faults(answer).keys() == {"set.options.forward_query"}


async def test_notes_and_external_ids_are_no_change_for_visitors(env: Env) -> None:
    link = await env.make(slug="a")
    env.changed_slugs.clear()
    for sent, stored in (
        ({"note": "First\nsecond", "external_id": "A/1?#%é"}, {"note": "First\nsecond", "external_id": "A/1?#%é"}),
        ({"note": " "}, {"note": None, "external_id": "A/1?#%é"}),
        ({"note": "x" * 2_000, "external_id": "é" * 255}, {"note": "x" * 2_000, "external_id": "é" * 255}),
        ({"external_id": None}, {"note": "x" * 2_000, "external_id": None}),
        ({"note": None}, {"note": None, "external_id": None}),
    ):
        assert (await patch(env, link, sent)).status_code == 200
        assert await options(env, link) == {**NOTHING, **stored}
    assert env.changed_slugs == []


@pytest.mark.parametrize("wrong", ["", " ", "a b", "a\u00a0b", "a\n", "\u200b", "\ud800", "\0", "x" * 256, 5, ["a"]])
async def test_refuses_wrong_external_ids(env: Env, wrong: Any) -> None:
    link = await env.make()
    assert faults(await env.patch(link, {"options": {"external_id": wrong}})).keys() == {"options.external_id"}
    assert faults(await env.patch(link, {"options": {"note": "x" * 2_001}})).keys() == {"options.note"}
    assert faults(await env.patch(link, {"options": {"note": "a\0"}})).keys() == {"options.note"}


async def test_an_external_id_is_of_one_link_of_the_account(env: Env) -> None:
    one = await env.make(options={"external_id": "1"})
    two = await env.make(options={"external_id": "2"})
    await env.make(env.bob, options={"external_id": "1"})
    taken = {"options.external_id": [EXTERNAL_ID_TAKEN]}
    assert faults(await env.post({"options": {"external_id": "1"}})) == taken
    assert faults(await env.patch(two, {"title": "B", "options": {"external_id": "1"}})) == taken
    assert (await env.find(two)).json()["data"] == two
    assert await options(env, two) == {**NOTHING, "external_id": "2"}
    assert faults(await patch(env, two, {"external_id": "1"})) == {"external_id": [EXTERNAL_ID_TAKEN]}
    assert (await patch(env, one, {"external_id": "1"})).status_code == 200
    for ids in ([two["id"]], [one["id"], two["id"]]):
        body = {"ids": ids, "set": {"options": {"external_id": "1" if len(ids) == 1 else "3"}}}
        answer = await env.client.patch("/api/v1/links/bulk", json=body, headers=env.alice.headers)
        assert faults(answer) == {"set.options.external_id": [EXTERNAL_ID_TAKEN]}
    rows = [{"destination_url": env.site.url(), "options": {"external_id": id_}} for id_ in ("1", "3", "3")]
    made = await env.client.post("/api/v1/links/bulk", json={"links": rows}, headers=env.alice.headers)
    assert made.json()["meta"] == {"created": 1, "invalid": 2}
    assert made.json()["data"][0]["errors"] == taken
    await patch(env, one, {"external_id": None})
    assert (await patch(env, two, {"external_id": "1"})).status_code == 200
    await env.delete(two)
    await env.make(options={"external_id": "1"})


async def test_one_of_several_links_at_once_gets_an_external_id(env: Env) -> None:
    others = [await env.make() for _ in range(3)]
    sent = [env.post({"options": {"external_id": "1"}}) for _ in range(3)]
    sent += [env.patch(link, {"options": {"external_id": "1"}}) for link in others]
    answers = await asyncio.gather(*sent)
    assert sorted(answer.status_code // 100 for answer in answers) == [2, 4, 4, 4, 4, 4]
    assert len((await env.browse("?external_id=1")).json()["data"]) == 1


async def test_lists_find_external_ids_and_notes(env: Env) -> None:
    async def found(query: str) -> list[str]:
        answer = await env.browse(query)
        assert answer.status_code == 200, answer.text
        assert answer.json()["meta"]["total"] == len(answer.json()["data"])
        return [link["slug"] for link in answer.json()["data"]]

    link = await env.make(slug="a", options={"external_id": "A/1+2", "note": "For the Straße\nin autumn"})
    await env.make(slug="b", options={"external_id": "a/1+2"})
    await env.make(env.bob, options={"external_id": "A/1+2"})
    assert await found("?external_id=A%2F1%2B2") == ["a"]
    assert await found("?external_id=A%2F1%2B2&status=active&search=autumn") == ["a"]
    assert await found("?external_id=A%2F1%2B2&search=nothing") == await found("?external_id=A") == []
    assert await found("?search=STRASSE") == await found("?search=au") == ["a"]
    await patch(env, link, {"note": "Later"})
    assert (await found("?search=strasse"), await found("?search=later")) == ([], ["a"])
    assert await found("?external_id=a%20b") == []
    assert faults(await env.browse(f"?external_id={'x' * 256}")).keys() == {"external_id"}
    await env.delete(link)
    assert await found("?external_id=A%2F1%2B2") == []


async def put(
    env: Env, external_id: str, *, who: Person | None = None, only: dict[str, str] | None = None, **fields: Any
) -> httpx.Response:
    headers = (who or env.alice).headers | (only or {})
    return await env.client.put(f"/api/v1/links/by-external-id/{external_id}", json=fields, headers=headers)


async def test_upserts_a_link(env: Env) -> None:
    made = await put(env, "A%2F1%3F%23%25%C3%A9", destination_url=env.site.url(), title="A", tags=["x"])
    assert made.status_code == 201, made.text
    link = made.json()["data"]
    assert await options(env, link) == {**NOTHING, "external_id": "A/1?#%é"}
    note = {"note": "n", "external_id": "A/1?#%é"}
    changed = await put(env, "A%2F1%3F%23%25%C3%A9", title="B", slug=None, destination_url=None, options=note)
    assert (changed.status_code, changed.json()["data"]) == (200, {**link, "title": "B", "updated_at": ANY})
    assert await options(env, link) == {**NOTHING, **note}
    others = await put(env, "A%2F1%3F%23%25%C3%A9", who=env.bob, destination_url=env.site.url())
    assert (others.status_code, others.json()["data"]["id"] == link["id"]) == (201, False)
    await env.delete(link)
    again = await put(env, "A%2F1%3F%23%25%C3%A9", destination_url=env.site.url(), slug=link["slug"])
    assert (again.status_code, again.json()["data"]["slug"]) == (201, link["slug"])
    assert again.json()["data"]["id"] != link["id"]


async def test_conditions_of_upserts(env: Env) -> None:
    absent, sent = {"If-None-Match": "*"}, {"destination_url": env.site.url()}
    for only in ({"If-Match": "*"}, {"If-Match": '"a"'}, {"If-None-Match": '"a"'}, {**absent, "If-Match": "*"}):
        assert (await put(env, "1", only=only, **sent)).status_code == 412, only
    answers = await asyncio.gather(*(put(env, "1", only=absent, title=f"{n}", **sent) for n in range(4)))
    assert sorted(answer.status_code for answer in answers) == [201, 412, 412, 412]
    [link] = [answer.json()["data"] for answer in answers if answer.is_success]
    path = f"/api/v1/links/{link['id']}"
    first = await env.client.get(path, headers=env.alice.headers)
    assert first.json()["data"] == link, "nothing was overwritten"
    current = {"If-Match": first.headers["ETag"]}
    env.clock.move(timedelta(seconds=1))
    assert (await put(env, "1", only=current, title="B")).status_code == 200
    assert (await put(env, "1", only=current, title="C")).status_code == 412
    assert (await put(env, "1", only={"If-Match": "*"}, title="D")).status_code == 200
    assert (await put(env, "2", only={"If-Match": "*"}, **sent)).status_code == 412
    assert (await env.browse()).json()["meta"]["total"] == 1


async def test_an_upsert_clears_what_is_null(env: Env) -> None:
    cleared: dict[str, Any] = dict.fromkeys(("title", "og_title", "og_description", "og_image", "expires_at", "tags"))
    cleared |= dict.fromkeys(("pixel_ids", "hostname", "options"))
    ends = timestamp(env.clock() + timedelta(hours=1))
    made = await put(env, "1", destination_url=env.site.url(), **{**cleared, "slug": None, "utm_params": None})
    assert made.status_code == 201, made.text
    sent = {"title": "A", "og_title": "B", "og_image": env.site.url("/c.png"), "expires_at": ends, "tags": ["x"]}
    await put(env, "1", **sent, pixel_ids=[await env.pixel()], options={"note": "n", "forward_path": True})
    answer = await put(env, "1", **cleared)
    link = answer.json()["data"]
    assert (link["title"], link["tags"], link["pixel_ids"], link["hostname"]) == ("Untitled", [], [], "go.test")
    assert {link[name] for name in ("og_title", "og_description", "og_image", "expires_at")} == {None}
    assert await options(env, link) == {**NOTHING, "note": "n", "forward_path": True, "external_id": "1"}
    await put(env, "1", options={"note": None})
    assert await options(env, link) == {**NOTHING, "forward_path": True, "external_id": "1"}
    marked = await put(env, "1", destination_url=env.site.url(), utm_params={"utm_source": "a"})
    plain = await put(env, "1", destination_url=env.site.url(), utm_params=None)
    assert (marked.json()["data"]["utm_params"], plain.json()["data"]["utm_params"]) == ({"utm_source": "a"}, {})


async def test_a_repeated_upsert_changes_and_visits_nothing(env: Env) -> None:
    ends = timestamp(env.clock() + timedelta(hours=1))
    sent = {"destination_url": env.site.url(), "utm_params": {"utm_source": "a"}, "expires_at": ends, "slug": None}
    first = await put(env, "1", **sent)
    env.clock.move(timedelta(hours=2))
    env.site.pages.clear()
    assert env.site.seen == ["/page"]
    second = await put(env, "1", **sent)
    assert (first.status_code, second.status_code) == (201, 200), second.text
    assert second.json()["data"] == {**first.json()["data"], "status": "inactive"}
    assert env.site.seen == ["/page"]
    third = await put(env, "1", **{**sent, "utm_params": {"utm_source": "b"}})
    assert third.json()["data"]["destination_url"].endswith("?utm_source=b")
    moved = await put(env, "1", destination_url=env.site.url("/moved"))
    assert (moved.status_code, len(env.site.seen)) == (200, 3)


async def test_an_upsert_is_refused_with_all_problems(env: Env) -> None:
    assert faults(await put(env, "1")).keys() == {"destination_url"}
    other = {"external_id": "2", "note": "x" * 2_001}
    wrong = {"slug": "no blanks", "utm_params": {"utm_nothing": "x"}, "options": other}
    assert faults(await put(env, "1", **wrong)).keys() == {
        "destination_url",
        "slug",
        "utm_params.utm_nothing",
        "options.note",
    }
    assert faults(await put(env, "1", options={"external_id": "2"})).keys() == {
        "destination_url",
        "options.external_id",
    }
    for path in ("a%20b", "%00", "%ff", "%ED%A0%80", "%E2%80%8B", "x" * 256):
        assert faults(await put(env, path, destination_url=env.site.url())).keys() == {"external_id"}, path
    assert (await put(env, "", destination_url=env.site.url())).status_code == 404
    await put(env, "1", destination_url=env.site.url())
    assert faults(await put(env, "1", utm_params={"utm_source": "x"})).keys() == {"destination_url"}
    assert faults(await put(env, "1", options={"external_id": "2"})).keys() == {"options.external_id"}
    answer = await env.client.get("/api/v1/links/by-external-id/1", headers=env.alice.headers)
    assert (answer.status_code, answer.headers["allow"]) == (405, "PUT")


@pytest.mark.parametrize("external_id", ["routing", "options", "%2F", "%252F", "bulk", "a%2Frouting", "{}"])
async def test_any_visible_text_is_an_external_id(env: Env, external_id: str) -> None:
    assert (await put(env, external_id, destination_url=env.site.url())).status_code == 201
    [link] = (await env.browse(f"?external_id={external_id}")).json()["data"]
    assert (await options(env, link))["external_id"] == unquote(external_id)


@pytest.mark.parametrize("slug", [None, "same"])
async def test_several_upserts_at_once_make_one_link(env: Env, slug: str | None) -> None:
    row = {"id": new_id(), "account_id": env.alice.account_id, "url": "https://a.example/"}
    row |= {"secret": KEYS.encrypt(webhooks.c.secret, row["id"], "whsec_x"), "event_types": ["link.created"]}
    async with env.deps.db.write() as tx:
        await tx.execute(insert(webhooks), row | {"created_at": START, "updated_at": START})
    sent = {"destination_url": env.site.url(), **({"slug": slug} if slug else {})}
    answers = await asyncio.gather(*(put(env, "1", title=f"{n}", **sent) for n in range(8)))
    assert sorted(answer.status_code for answer in answers) == [*[200] * 7, 201]
    assert len({answer.json()["data"]["id"] for answer in answers}) == 1
    assert (await env.browse()).json()["meta"]["total"] == 1
    async with env.deps.db.read() as tx:
        entries, _ = await list_before(tx, env.alice.account_id, AuditFilter(), None, limit=20)
        deliveries = await tx.scalar(select(func.count()).select_from(webhook_deliveries))
    actions = [entry.action for entry in entries if entry.action != "key.created"]
    assert (sorted(actions), deliveries) == (["link.created", *["link.updated"] * 7], 1)
