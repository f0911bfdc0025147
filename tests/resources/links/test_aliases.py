"""Aliases of a link: what the API accepts, where they are found, and when they end."""

import asyncio
from typing import Any
from uuid import uuid4

import httpx
import pytest
from domains import domain, forget
from resources.links.env import KEYS, SHARED, Env, faults
from resources.links.test_domain import ROUTES, job

from waypost.redirect import Route, alias_change
from waypost.resources.links import aliases
from waypost.resources.links import rules as link_rules
from waypost.resources.links.aliases import rules
from waypost.resources.links.aliases import service as alias_service
from waypost.resources.links.domain_detach import detach_links
from waypost.resources.links.routes.source import open_route_source

NAME, IDN, HERS = "go.brand.test", "xn--bcher-kva.test", "hers.test"


async def add(env: Env, link: dict[str, Any], path: Any, hostname: Any = NAME, who: Any = None) -> httpx.Response:
    body = {"hostname": hostname, "path": path}
    return await env.client.post(f"/api/v1/links/{link['id']}/aliases", json=body, headers=(who or env.alice).headers)


async def added(env: Env, link: dict[str, Any], path: str, hostname: str = NAME) -> dict[str, Any]:
    answer = await add(env, link, path, hostname)
    assert answer.status_code == 201, answer.text
    return answer.json()["data"]


async def browse(env: Env, link: dict[str, Any], query: str = "") -> dict[str, Any]:
    answer = await env.client.get(f"/api/v1/links/{link['id']}/aliases{query}", headers=env.alice.headers)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def remove(env: Env, alias: dict[str, Any], who: Any = None) -> int:
    url = f"/api/v1/links/{alias['link_id']}/aliases/{alias['id']}"
    return (await env.client.delete(url, headers=(who or env.alice).headers)).status_code


async def target(env: Env, path: str, hostname: str = NAME) -> Route | None:
    """What redirects load."""
    routes = open_route_source(env.deps.db, SHARED, KEYS)
    try:
        return await routes.aliases.find(alias_change(hostname, path).encode())
    finally:
        routes.close()


@pytest.fixture
async def link(env: Env) -> dict[str, Any]:
    await domain(env.deps.db, env.alice.account_id, NAME)
    return await env.make(slug="main")


async def test_adds_lists_and_deletes_aliases(env: Env, link: dict[str, Any]) -> None:
    first = await added(env, link, "summer/Sale")
    assert list(first) == ["id", "link_id", "hostname", "path", "created_at"]
    assert (first["link_id"], first["hostname"], first["path"]) == (link["id"], NAME, "summer/Sale")
    second = await added(env, link, "😀", f"{NAME.upper()}.")
    page = await browse(env, link, "?per_page=1")
    assert (page["data"], page["meta"]["total"], page["meta"]["last_page"]) == ([second], 2, 2)
    assert (await browse(env, link, "?per_page=1&page=2"))["data"] == [first]
    found = await target(env, "summer/Sale")
    assert found is not None
    assert found == (NAME.encode(), link["id"].replace("-", "").encode(), b"main")
    assert await target(env, "summer/sale") is None
    assert (await env.find(link)).json()["data"] == link, "the link object keeps its fields"
    assert await remove(env, first) == 204
    assert await target(env, "summer/Sale") is None
    assert await remove(env, first) == 404
    assert (await browse(env, link))["data"] == [second]
    assert env.changed_slugs == [
        *("main", "~main"),
        *(NAME, "~summer/sale", NAME, "~😀"),
        *(alias_change(NAME, "summer/Sale"), "~summer/sale"),
    ]


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("", rules.EMPTY_PATH),
        ("a" * 1025, rules.PATH_TOO_LONG),
        ("/a", rules.LEADING_SLASH),
        ("a\nb", rules.CONTROL_CHARACTERS),
        ("a\x85", rules.CONTROL_CHARACTERS),
        ("healthz", rules.RESERVED_PATH),
        (".well-known/a", rules.RESERVED_PATH),
        (None, "This field is required."),
        (1, "This must be a string."),
    ],
)
async def test_refuses_paths(env: Env, link: dict[str, Any], path: Any, problem: str) -> None:
    assert faults(await add(env, link, path, "unknown.test")) == {
        "path": [problem],
        "hostname": [link_rules.NO_SUCH_DOMAIN],
    }


@pytest.mark.parametrize("path", ["a" * 1024, "a//b/", "login", "a?b#c", "%41", " ", "..", "e\u0301", "\u202eabc"])
async def test_takes_any_other_path_literally(env: Env, link: dict[str, Any], path: str) -> None:
    assert (await added(env, link, path))["path"] == path
    assert await target(env, path) is not None


async def test_needs_a_domain_of_the_account(env: Env, link: dict[str, Any]) -> None:
    await domain(env.deps.db, env.bob.account_id, HERS)
    assert faults(await add(env, link, "a", SHARED)) == {"hostname": [alias_service.ON_SHARED_DOMAIN]}
    for hostname in (HERS, "unknown.test", "no hostname"):
        assert faults(await add(env, link, "a", hostname)) == {"hostname": [link_rules.NO_SUCH_DOMAIN]}
    await domain(env.deps.db, env.alice.account_id, IDN, is_served=False)
    assert (await added(env, link, "a", "bücher.test"))["hostname"] == IDN
    assert await target(env, "a", IDN) is None, "the domain is not verified"


async def test_a_path_is_unique_on_its_domain(env: Env, link: dict[str, Any]) -> None:
    await domain(env.deps.db, env.alice.account_id, IDN)
    other = await env.make(slug="other")
    answers = await asyncio.gather(*(add(env, each, "same") for each in (link, other, link)))
    assert sorted(answer.status_code for answer in answers) == [201, 422, 422]
    assert faults(await add(env, link, "same")) == {"path": [rules.PATH_TAKEN]}
    await added(env, other, "same", IDN)
    await added(env, other, "Same")
    await added(env, other, "main")  # the slug of a link is no alias


async def test_others_see_no_aliases(env: Env, link: dict[str, Any]) -> None:
    alias = await added(env, link, "a")
    url = f"/api/v1/links/{link['id']}/aliases"
    assert (await env.client.get(url, headers=env.bob.headers)).status_code == 404
    assert (await add(env, link, "", who=env.bob)).status_code == 404
    assert await remove(env, alias, env.bob) == 404
    other = await env.make()
    assert await remove(env, alias | {"link_id": other["id"]}) == 404
    for id_ in (uuid4(), "x"):
        assert (await add(env, {"id": id_}, "a")).status_code == 404


async def test_limits_the_aliases_of_a_link(env: Env, link: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aliases, "MAX_ALIASES", 2)
    for path in "ab":
        await added(env, link, path)
    assert faults(await add(env, link, "c")) == {"path": [rules.TOO_MANY]}


async def test_searches_find_aliases(env: Env, link: dict[str, Any]) -> None:
    async def found(text: str) -> list[str]:
        return [each["id"] for each in (await env.browse(f"?search={text}")).json()["data"]]

    alias = await added(env, link, "Summer/50%25")
    await added(env, link, "winter")
    for _ in range(2):
        assert await found("summer/50%2525") == await found("MMER/") == await found("winter") == [link["id"]]
        await env.changed(link, title="Another title")
    await remove(env, alias)
    assert (await found("summer"), await found("winter"), await found("another")) == ([], [link["id"]], [link["id"]])


async def test_aliases_end_with_their_link(env: Env, link: dict[str, Any]) -> None:
    await added(env, link, "a")
    await env.delete(link)
    assert await target(env, "a") is None
    await added(env, await env.make(), "a")


async def test_aliases_end_with_their_domain(env: Env) -> None:
    db, account = env.deps.db, env.alice.account_id
    deleted, _ = await domain(db, account, NAME), await domain(db, account, IDN)
    link = await env.make(slug="main")
    await added(env, link, "gone")
    kept = await added(env, link, "kept", IDN)
    await forget(db, deleted)
    assert (await browse(env, link))["data"] == [kept]
    assert await target(env, "gone") is None
    await domain(db, account, NAME)
    assert await target(env, "gone") is None, "the domain is another one"
    await detach_links(db, ROUTES, job(str(deleted)))
    assert (await env.browse("?search=gone")).json()["data"] == []
    again = await added(env, link, "gone")
    assert (await browse(env, link))["data"] == [again, kept]
    async with db.read() as tx:
        assert not await aliases.find_of_domain(tx, deleted, 10)
