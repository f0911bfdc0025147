"""The routing of a link in the API: stored, checked, replaced and removed. `resources.routing` tests its parts."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import pytest
from resources.links.env import HOST, SHARED, UNSAFE, Env, faults
from resources.links.test_bulk_pages import ALL, run_job, start, undo
from servers import SafeBrowsingServer

from waypost.accounts import RateLimiters, open_limiters
from waypost.accounts.model import SignInClient
from waypost.accounts.sign_in import passwords
from waypost.composition import new_destination_checker, outbound_client
from waypost.kit.clock import timestamp
from waypost.kit.errors import RateLimited
from waypost.kit.ids import new_id
from waypost.resources.links import Routes, account_data, routing, rules
from waypost.resources.links.model import link_clicks
from waypost.resources.links.routing import LinkRouting, change, password_check
from waypost.resources.links.routing.password_check import ATTEMPTS_PER_MINUTE, PasswordChecker
from waypost.resources.links.routing.recheck import RoutingRecheck
from waypost.settings import Settings

IOS = {"type": "platform", "operator": "in", "values": ["iOS"]}
NOTHING = {
    "rules": [],
    "variants": [],
    "starts_at": None,
    "click_limit": None,
    "fallback_url": None,
    "has_password": False,
    "updated_at": None,
}


@pytest.fixture
async def limiters(env: Env, tmp_path: Path) -> AsyncIterator[RateLimiters]:
    opened = open_limiters(env.deps.db, tmp_path)
    yield opened
    await opened.close()


async def put(env: Env, link: dict[str, Any], sent: Any, who: Any = None) -> httpx.Response:
    return await env.client.put(f"/api/v1/links/{link['id']}/routing", json=sent, headers=(who or env.alice).headers)


async def saved(env: Env, link: dict[str, Any], **fields: Any) -> dict[str, Any]:
    answer = await put(env, link, fields)
    assert answer.status_code == 200, answer.text
    data: dict[str, Any] = answer.json()["data"]
    assert data == await found(env, link)
    return data


async def found(env: Env, link: dict[str, Any]) -> dict[str, Any]:
    answer = await env.client.get(f"/api/v1/links/{link['id']}/routing", headers=env.alice.headers)
    assert answer.status_code == 200, answer.text
    data: dict[str, Any] = answer.json()["data"]
    return data


async def stored(env: Env, link: dict[str, Any]) -> LinkRouting | None:
    async with env.deps.db.read() as tx:
        return await routing.find(tx, UUID(link["id"]))


def rule(env: Env, path: str, name: str = "A") -> dict[str, Any]:
    return {"name": name, "conditions": [IOS], "destination_url": env.site.url(path)}


@pytest.fixture
async def link(env: Env) -> dict[str, Any]:
    return await env.make(slug="main")


async def test_sets_replaces_and_deletes_a_routing(env: Env, link: dict[str, Any]) -> None:
    assert await found(env, link) == {"link_id": link["id"], **NOTHING}
    variant = {"name": "B", "destination_url": env.site.url("/b"), "weight": 50}
    full = {
        "rules": [rule(env, "/a")],
        "variants": [variant],
        "starts_at": "2026-11-01T00:00:00.000000Z",
        "click_limit": 9,
        "fallback_url": env.site.url("/over"),
    }
    first = await saved(env, link, **full, password="1234")
    now = timestamp(env.clock())
    assert first == {"link_id": link["id"], **full, "has_password": True, "updated_at": now}
    assert list(first) == ["link_id", *NOTHING]
    assert set(env.site.seen) == {"/page", "/a", "/b", "/over"}
    env.clock.move(timedelta(seconds=1))
    assert await saved(env, link, **first) == first | {"updated_at": timestamp(env.clock())}, (
        "what was read can be sent"
    )
    assert len(env.site.seen) == 4, "unchanged destinations are not fetched again"
    assert (await saved(env, link, rules=[])) == {"link_id": link["id"], **NOTHING} | {
        "has_password": True,
        "updated_at": timestamp(env.clock()),
    }
    assert await saved(env, link, password=None) == {"link_id": link["id"], **NOTHING}
    assert await stored(env, link) is None
    await saved(env, link, **full)
    answer = await env.client.delete(f"/api/v1/links/{link['id']}/routing", headers=env.alice.headers)
    assert (answer.status_code, answer.content) == (204, b"")
    assert await found(env, link) == {"link_id": link["id"], **NOTHING}
    assert (await env.find(link)).json()["data"] == link, "the link object keeps its fields"
    assert env.changed_slugs == ["main", "~main", *["main"] * 6]


async def test_each_password_has_a_version_of_its_own(env: Env, link: dict[str, Any]) -> None:
    versions = []
    for password in ("pass\0 😀", "pass\0 😀", None, "other"):
        await saved(env, link, password=password, click_limit=1)
        now = await stored(env, link)
        assert now is not None
        assert await passwords.verify(password or "", now.password_hash, SignInClient()) == (password is not None)
        versions.append(now.password_version)
        env.clock.move(timedelta(microseconds=len(versions) // 2))
    first, second, removed, last = versions
    assert removed is None
    assert first < second < last


async def test_checks_destinations_like_that_of_a_link(env: Env, link: dict[str, Any]) -> None:
    env.site.pages["/broken"] = (500, "")
    wrong = {
        "ftp://example.com/": "The URL must start with http:// or https://.",
        f"https://{SHARED}/x": rules.LOOP,
        "http://127.0.0.1/": rules.NOT_PUBLIC,
    }
    sent = {
        "rules": [{**rule(env, "/"), "name": str(i), "destination_url": url} for i, url in enumerate(wrong)],
        "variants": [{"name": "x", "destination_url": "x", "weight": 1}],
        "fallback_url": "http://localhost/",
    }
    errors = faults(await put(env, link, sent))
    assert {f"rules.{i}.destination_url": [text] for i, text in enumerate(wrong.values())}.items() <= errors.items()
    assert set(errors) == {f"rules.{i}.destination_url" for i in range(3)} | {
        "variants.0.destination_url",
        "fallback_url",
    }
    sent = {
        "rules": [rule(env, "/ok"), rule(env, "/broken", "B"), rule(env, UNSAFE, "C")],
        "variants": [{"name": "x", "destination_url": env.site.url("/broken"), "weight": 1}],
        "fallback_url": env.site.url(UNSAFE),
    }
    assert faults(await put(env, link, sent)) == {
        "rules.1.destination_url": [rules.UNREACHABLE],
        "rules.2.destination_url": [rules.UNSAFE],
        "variants.0.destination_url": [rules.UNREACHABLE],
        "fallback_url": [rules.UNSAFE],
    }
    assert await found(env, link) == {"link_id": link["id"], **NOTHING}
    canonical = await saved(env, link, fallback_url=env.site.url("/{id}"))
    assert canonical["fallback_url"] == env.site.url("/%7Bid%7D")
    long = env.site.url("/" + "ü" * 500)
    assert faults(await put(env, link, {"fallback_url": long})) == {"fallback_url": [change.TOO_LONG]}


async def test_fetching_all_destinations_is_bounded(
    env: Env, link: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fetch(*args: Any, **kwargs: Any) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(change, "DEADLINE", 0.01)
    monkeypatch.setattr(type(env.deps.destination_checker), "fetch_metadata", fetch)
    names = [str(number) for number in range(20)]
    errors = faults(await put(env, link, {"rules": [rule(env, f"/{name}", name) for name in names]}))
    assert errors == {f"rules.{name}.destination_url": [rules.UNREACHABLE] for name in names}


async def test_links_of_others_and_missing_links(env: Env, link: dict[str, Any]) -> None:
    for sent in ({}, {"rules": 1}):
        assert (await put(env, link, sent, env.bob)).status_code == 404
    await saved(env, link, click_limit=1)
    assert (await env.delete(link)).status_code == 204
    assert (await put(env, link, {})).status_code == 404
    assert await stored(env, link) is None


async def test_the_last_of_concurrent_writers_wins_whole(env: Env, link: dict[str, Any]) -> None:
    bodies = [
        {"click_limit": 1, "rules": [rule(env, "/page", "one")], "password": "first"},
        {"click_limit": 2, "rules": [rule(env, "/page", "two")]},
        {"click_limit": 3, "rules": [rule(env, "/page", "three")], "password": None},
    ]
    answers = await asyncio.gather(*(put(env, link, body) for body in bodies))
    assert [answer.status_code for answer in answers] == [200] * 3
    final = await found(env, link)
    assert (final["click_limit"], final["rules"][0]["name"]) in [(1, "one"), (2, "two"), (3, "three")]


async def test_start_and_click_limit_decide_the_status(env: Env, link: dict[str, Any]) -> None:
    other = await env.make(slug="other")

    async def active() -> set[str]:
        """The slugs that lists and links call active, after a check that they agree."""
        listed = {
            status: {each["slug"] for each in (await env.browse(f"?status={status}")).json()["data"]}
            for status in ("active", "inactive")
        }
        shown = {each["slug"]: each["status"] for each in (await env.browse()).json()["data"]}
        assert shown == {slug: status for status, slugs in listed.items() for slug in slugs}
        return listed["active"]

    assert await active() == {"main", "other"}
    start = env.clock() + timedelta(hours=1)
    await saved(env, link, starts_at=timestamp(start), click_limit=2)
    assert await active() == {"other"}
    env.clock.move(timedelta(hours=1))
    assert await active() == {"main", "other"}
    async with env.deps.db.write() as tx:
        await tx.execute(link_clicks.update().values(clicks=2))
    assert await active() == {"other"}
    await env.changed(other, status="inactive")
    assert await active() == set()
    await saved(env, link, click_limit=3)
    assert await active() == {"main"}


async def test_skips_only_what_leads_to_an_unsafe_destination(env: Env, link: dict[str, Any], tmp_path: Path) -> None:
    blocked = [env.site.url("/b"), env.site.url("/over")]
    rules_ = [rule(env, "/a"), rule(env, "/b", "B")]
    sent = await saved(env, link, rules=rules_, fallback_url=blocked[1])
    other = await env.make(slug="other")
    await saved(env, other, click_limit=1)
    settings = Settings(data_dir=tmp_path, blocklist=tmp_path / "blocklist", outbound_allow=[HOST])
    changed: list[str] = []
    worker = RoutingRecheck(
        replace(env.deps, routes=Routes(changed.extend, env.clock)),
        new_destination_checker(settings, outbound_client(settings)),
    )

    async def after(hours: int, *lines: str) -> Any:
        """The unsafe destinations some time after the blocklist had these lines."""
        (tmp_path / "blocklist").write_text("\n".join([env.site.url(UNSAFE), *lines]))
        env.clock.move(timedelta(hours=hours))
        assert not await worker.step()
        now = await stored(env, link)
        return now and now.unsafe_urls

    assert await after(5, *blocked) == [], "not due yet"
    assert await saved(env, link, **sent) == (sent := sent | {"updated_at": timestamp(env.clock())})
    assert await after(2, *blocked) == blocked
    assert changed == ["main"]
    assert await found(env, link) == sent, "its fields stay, and updated_at"
    assert faults(await put(env, link, sent)) == {
        "rules.1.destination_url": [rules.UNSAFE],
        "fallback_url": [rules.UNSAFE],
    }
    assert await after(7) == blocked, "they stay so until somebody decides"
    assert changed == ["main"]
    await saved(env, link, rules=rules_)
    assert await after(0) == []


async def test_asks_safe_browsing_about_all_links_together(
    env: Env, link: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other, evil = await env.make(slug="other"), env.site.url("/over")
    await saved(env, link, rules=[rule(env, "/a"), rule(env, "/b", "B")])
    await saved(env, other, rules=[rule(env, "/b")], fallback_url=evil)

    async def recheck() -> list[Sequence[str]]:
        """Return the unsafe destinations of both links."""
        env.clock.move(timedelta(hours=7))
        assert not await worker.step()
        return [row.unsafe_urls for each in (link, other) if (row := await stored(env, each))]

    async with SafeBrowsingServer("key", evil).running() as google:
        settings = Settings(
            data_dir=tmp_path, safe_browsing_key="key", safe_browsing_url=google.url(), outbound_allow=[HOST]
        )
        worker = RoutingRecheck(env.deps, new_destination_checker(settings, outbound_client(settings)))
        assert await recheck() == [[], [evil]]
        assert len(google.heads) == 1
    capsys.readouterr()
    assert await recheck() == [[], [evil]], "it is not reachable any more"
    assert capsys.readouterr().out.count("Safe Browsing unavailable") == 1


async def test_an_undone_deletion_restores_the_routing(env: Env, link: dict[str, Any]) -> None:
    sent = await saved(env, link, rules=[rule(env, "/a")], click_limit=5)
    deletion = await run_job(env, await start(env, "delete", ALL))
    await run_job(env, await undo(env, deletion))
    assert await found(env, link) == sent


async def test_exports_the_routing_of_an_account(env: Env, link: dict[str, Any]) -> None:
    await env.make(slug="plain")
    limited, hers = await env.make(slug="limited"), await env.make(env.bob)
    expected = [
        await saved(env, link, rules=[rule(env, "/a")], password="secret"),
        await saved(env, limited, click_limit=1),
    ]
    assert (await put(env, hers, {"click_limit": 1}, env.bob)).status_code == 200
    exported = account_data.export_account_data(env.deps, env.alice.account_id, env.clock())
    routed = {row["slug"]: row["routing"] for batch in [batch async for batch in exported] for row in batch}
    assert routed == {"main": expected[0], "limited": expected[1], "plain": None}


async def test_checks_passwords_within_a_limit_for_each_address(env: Env, limiters: RateLimiters) -> None:
    link = await env.make()
    hex_id = UUID(link["id"]).hex.encode()
    await saved(env, link, password="open sesame")
    of_link = await stored(env, link)
    assert of_link is not None
    checker = PasswordChecker(env.deps.db, limiters)
    assert await checker.check(hex_id, "open sesame", "192.0.2.1") == of_link.password_version
    for _ in range(ATTEMPTS_PER_MINUTE - 1):
        assert await checker.check(hex_id, "close sesame", "192.0.2.1") is None
    with pytest.raises(RateLimited):
        await checker.check(hex_id, "open sesame", "192.0.2.1")
    assert await checker.check(hex_id, "open sesame", "192.0.2.2") == of_link.password_version
    for number in range(ATTEMPTS_PER_MINUTE):
        assert await checker.check(hex_id, "close sesame", f"2001:db8::{number}") is None
    with pytest.raises(RateLimited):
        await checker.check(hex_id, "open sesame", "2001:db8::ffff")
    assert await checker.check(new_id().hex.encode(), "open sesame", "192.0.2.1") is None


async def test_one_network_cannot_keep_all_cores_busy_with_many_links(
    env: Env, limiters: RateLimiters, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(password_check, "ATTEMPTS_OF_NETWORK_PER_MINUTE", 3)
    checker = PasswordChecker(env.deps.db, limiters)
    for number in range(3):
        assert await checker.check(new_id().hex.encode(), "x", f"2001:db8:1:{number}::1") is None
    with pytest.raises(RateLimited):
        await checker.check(new_id().hex.encode(), "x", "2001:db8:1:9::1")
    assert await checker.check(new_id().hex.encode(), "x", "2001:db8:2::1") is None
