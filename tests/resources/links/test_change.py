"""PATCH /v1/links/{id}"""

import asyncio
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from people import START
from resources.links.env import UNSAFE, Env, faults

from waypost.resources.links import add_clicks

LATER = "2030-01-01T12:01:00.000000Z"


async def test_changes_the_sent_fields(env: Env) -> None:
    link = await env.make(slug="old", title="Old", tags=["x"])
    env.clock.move(timedelta(minutes=1))
    changed = await env.changed(link, slug="new", title="New", tags=["a", "b"], expires_at="2031-01-01T00:00:00Z")
    expected = {
        "slug": "new",
        "short_url": "go.test/new",
        "title": "New",
        "tags": ["a", "b"],
        "expires_at": "2031-01-01T00:00:00.000000Z",
        "updated_at": LATER,
    }
    assert changed == link | expected
    assert (await env.find(link)).json() == {"data": changed}


async def test_announces_both_slugs(env: Env) -> None:
    link = await env.make(slug="b")
    env.changed_slugs.clear()
    await env.changed(link, slug="a")
    assert env.changed_slugs == ["a", "b", "~a"]


@pytest.mark.parametrize("fields", [{}, {"title": "T"}, {"slug": "same", "tags": ["x"], "unknown": 1}])
async def test_a_change_without_effect_keeps_updated_at(env: Env, fields: dict[str, Any]) -> None:
    link = await env.make(slug="same", title="T", tags=["x"])
    env.clock.move(timedelta(minutes=1))
    assert await env.changed(link, **fields) == link


async def test_no_body_changes_nothing(env: Env) -> None:
    link = await env.make(slug="same", title="T", tags=["x"])
    answer = await env.client.patch(f"/api/v1/links/{link['id']}", headers=env.alice.headers)
    assert (answer.status_code, answer.json()["data"]) == (200, link)


async def test_accepts_its_own_json(env: Env) -> None:
    link = await env.make(utm_params={"utm_source": "a"}, expires_at="2031-01-01T00:00:00Z")
    env.clock.move(timedelta(minutes=1))
    assert await env.changed(link, **{key: link[key] for key in link if key != "hostname"}) == link


async def test_null_clears_fields(env: Env) -> None:
    link = await env.make(tags=["x"], expires_at="2031-01-01T00:00:00Z")
    nulls = ["title", "hostname", "og_title", "og_description", "og_image", "tags", "expires_at", "pixel_ids"]
    changed = await env.changed(link, **dict.fromkeys(nulls))
    cleared = {
        "title": "Untitled",
        "og_title": None,
        "og_description": None,
        "og_image": None,
        "tags": [],
        "expires_at": None,
    }
    assert changed == link | cleared


async def test_blank_clears_like_null(env: Env) -> None:
    link = await env.make()
    blank = await env.changed(link, title="", og_title="", og_description=" \n")
    cleared = {"title": "Untitled", "og_title": None, "og_description": None}
    assert blank == link | cleared


async def test_a_new_destination_keeps_the_preview(env: Env) -> None:
    link = await env.make()
    env.site.pages["/other"] = (200, "<title>Other</title>")
    changed = await env.changed(link, destination_url=env.site.url("/other"))
    assert changed == link | {"destination_url": env.site.url("/other")}
    assert env.site.seen == ["/page", "/other"]


async def test_checks_a_new_destination(env: Env) -> None:
    link = await env.make()
    env.site.pages["/down"] = (500, "")
    for url in (env.site.url("/down"), env.site.url(UNSAFE), "http://10.0.0.1/", "nonsense", "http://go.test/x"):
        assert faults(await env.patch(link, {"destination_url": url})).keys() == {"destination_url"}, url
    assert (await env.find(link)).json()["data"] == link


async def test_disables_and_enables_a_link(env: Env) -> None:
    link = await env.make()
    assert (await env.changed(link, status="inactive"))["status"] == "inactive"
    assert (await env.changed(link, title="still off"))["status"] == "inactive"
    assert (await env.changed(link, status="active"))["status"] == "active"


async def test_reports_every_problem_at_once(env: Env) -> None:
    await env.make(slug="taken")
    link = await env.make()
    fields = {
        "destination_url": None,
        "slug": "taken",
        "title": "x" * 256,
        "hostname": "links.example.com",
        "og_image": "nonsense",
        "tags": [""],
        "expires_at": START.isoformat(),
        "pixel_ids": ["0190b5a3-9f3b-7000-8000-000000000000"],
        "status": "paused",
    }
    wrong = {*fields, "tags.0", "pixel_ids.0"} - {"tags", "pixel_ids"}
    assert faults(await env.patch(link, fields)).keys() == wrong
    assert (await env.find(link)).json()["data"] == link


@pytest.mark.parametrize("field", ["destination_url", "slug", "status"])
async def test_refuses_null_in_required_fields(env: Env, field: str) -> None:
    link = await env.make()
    assert faults(await env.patch(link, {field: None})) == {field: ["This must not be null."]}


async def test_another_accounts_link_is_not_found(env: Env) -> None:
    link = await env.make()
    answer = await env.patch(link, {"title": 5}, env.bob)
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")
    assert (await env.find(link)).json()["data"] == link


async def test_accepts_a_multipart_form(env: Env) -> None:
    link = await env.make(title="Old", og_title="Old")
    fields = [("title", "New"), ("og_title", ""), ("tags[0]", "a"), ("tags[1]", "b")]
    answer = await env.send_form("PATCH", f"/{link['id']}", fields)
    assert answer.json()["data"] == link | {"title": "New", "og_title": None, "tags": ["a", "b"]}


async def test_no_concurrent_change_is_lost(env: Env) -> None:
    link = await env.make()
    fields = ["title", "og_title", "og_description", "slug"]
    await asyncio.gather(*(env.changed(link, **{fields[n % 4]: f"v{n % 4}"}) for n in range(16)))
    kept = (await env.find(link)).json()["data"]
    assert [kept[name] for name in fields] == ["v0", "v1", "v2", "v3"]


async def test_two_links_swap_slugs_concurrently(env: Env) -> None:
    """Neither may win, but both are answered: locks are taken in one order."""
    one, two = await env.make(slug="one"), await env.make(slug="two")
    answers = await asyncio.gather(env.patch(one, {"slug": "two"}), env.patch(two, {"slug": "one"}))
    assert [answer.status_code for answer in answers] == [422, 422]


async def test_keeps_clicks_counted_meanwhile(env: Env) -> None:
    link = await env.make()
    async with env.deps.db.write() as tx:
        await add_clicks(tx, [(UUID(link["id"]).bytes, env.alice.account_id.bytes, 5)], last_at=0)
    assert (await env.changed(link, title="New"))["clicks"] == 5
    assert (await env.find(link)).json()["data"]["clicks"] == 5


async def test_of_two_changes_of_one_version_one_is_made(env: Env) -> None:
    link = await env.make(slug="one", utm_params={"utm_source": "b", "utm_campaign": "a"}, tags=["z", "a"])
    path = f"/api/v1/links/{link['id']}"
    for round_ in range(5):
        etag = (await env.client.get(path, headers=env.alice.headers)).headers["ETag"]
        env.clock.move(timedelta(seconds=1))
        headers = {**env.alice.headers, "If-Match": etag}
        answers = await asyncio.gather(
            *(env.client.patch(path, headers=headers, json={"title": f"{round_} {n}"}) for n in range(4)),
            *(env.client.patch(f"{path}/options", headers=headers, json={"note": f"{round_} {n}"}) for n in range(4)),
        )
        assert sorted(answer.status_code for answer in answers) == [200] + 7 * [412]


async def test_a_visit_changes_the_etag_but_not_the_version(env: Env) -> None:
    link = await env.make(slug="one", expires_at="2999-01-01T00:00:00+02:00", utm_params={"utm_source": "b"})
    path, headers = f"/api/v1/links/{link['id']}", env.alice.headers
    first = await env.client.patch(path, headers=headers, json={"tags": ["b", "a"], "og_title": "Ü"})
    etag = first.headers["ETag"]
    assert (await env.client.get(path, headers={**headers, "If-None-Match": etag})).status_code == 304
    async with env.deps.db.write() as tx:
        await add_clicks(tx, [(UUID(link["id"]).bytes, env.alice.account_id.bytes, 7)], last_at=0)
    answer = await env.client.get(path, headers={**headers, "If-None-Match": etag})
    assert (answer.status_code, answer.json()["data"]["clicks"]) == (200, 7)
    assert answer.headers["ETag"].split("-")[0] == etag.split("-")[0]
    env.clock.move(timedelta(days=366_000))  # its status changes by time
    answer = await env.client.get(path, headers={**headers, "If-None-Match": answer.headers["ETag"]})
    assert (answer.status_code, answer.json()["data"]["status"]) == (200, "inactive")
    done = await env.client.patch(path, headers={**headers, "If-Match": etag}, json={"title": "Other"})
    assert done.status_code == 200
    assert (await env.client.delete(path, headers={**headers, "If-Match": etag})).status_code == 412
    assert (await env.client.delete(path, headers={**headers, "If-Match": done.headers["ETag"]})).status_code == 204
