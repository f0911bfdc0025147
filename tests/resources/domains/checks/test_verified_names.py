"""A hostname that another account has verified needs a TXT record: a CNAME left in place is not accepted."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from people import Person
from resources.domains.checks.checking import Checking
from resources.domains.env import NAME, TARGET
from resources.domains.test_tls_api import Caddy

from waypost.redirect import ChangeFeed
from waypost.resources.domains import HostSource, service
from waypost.resources.domains.checks import messages
from waypost.resources.domains.history import MAX_UNVERIFIED
from waypost.resources.links.aliases import has_aliases

TXT = f"_waypost.{NAME}"


async def verified(checking: Checking, domain: dict[str, Any], who: Person) -> dict[str, Any]:
    """As its owner sees it after a check."""
    assert (await checking.env.ask("POST", f"/{domain['id']}/verify", who)).status_code == 202
    await checking.run()
    return (await checking.env.find(domain, who)).json()["data"]


def kinds(domain: dict[str, Any]) -> list[str]:
    return [record["type"] for record in domain["dns_records"]]


async def test_a_record_left_in_place_proves_nothing_to_another_account(checking: Checking) -> None:
    env = checking.env
    await env.delete(await checking.live())
    claim = await env.make(NAME, env.bob)
    assert kinds(claim) == ["TXT"]
    failed = await verified(checking, claim, env.bob)
    token = claim["dns_records"][0]["value"]
    assert (failed["status"], failed["dns_records"]) == ("failed", claim["dns_records"])
    assert failed["error"] == messages.NOT_VERIFIED.format(
        hostname=NAME,
        txt_name=TXT,
        txt=messages.NO_NAME,
        cname=messages.CNAME_NOT_ACCEPTED,
        advice=messages.SET_TXT.format(txt_name=TXT, token=token),
    )
    checking.names.has(TXT, [f'"{token}"'], kind="TXT")
    assert (await verified(checking, claim, env.bob))["status"] == "verified"


async def test_the_same_account_may_use_the_record_again(checking: Checking) -> None:
    await checking.env.delete(await checking.live())
    again = await checking.live()
    assert kinds(again) == ["TXT", "CNAME"]


async def test_a_former_owner_is_another_account_too(checking: Checking) -> None:
    env = checking.env
    await env.delete(await checking.live())
    bobs = await env.make(NAME, env.bob)
    checking.names.has(TXT, [f'"{bobs["dns_records"][0]["value"]}"'], kind="TXT")
    assert (await verified(checking, bobs, env.bob))["status"] == "verified"
    await env.delete(bobs, env.bob)
    again = await env.make()
    assert kinds(again) == ["TXT"]
    assert (await verified(checking, again, env.alice))["status"] == "failed"


async def test_a_name_that_was_released_is_remembered(checking: Checking) -> None:
    env = checking.env
    await checking.live()
    await service.release(env.deps, NAME, is_forced=True)
    assert kinds(await env.make(NAME, env.bob)) == ["TXT"]


async def test_a_claim_that_was_never_proven_leaves_nothing(checking: Checking) -> None:
    env = checking.env
    assert (await verified(checking, await env.make(NAME, env.bob), env.bob))["status"] == "failed"
    env.clock.move(MAX_UNVERIFIED + timedelta(minutes=1))
    assert await checking.expire()
    assert kinds(await checking.live()) == ["TXT", "CNAME"]


async def test_another_name_is_not_concerned(checking: Checking) -> None:
    env = checking.env
    await env.delete(await checking.live())
    assert kinds(await env.make(f"www.{NAME}", env.bob)) == ["TXT", "CNAME"]


async def test_a_claim_gets_nothing_of_the_one_before(checking: Checking, tmp_path: Path) -> None:
    """No pages, no certificate: neither of the former owner, nor of an account that has not verified the hostname."""
    env, feed = checking.env, ChangeFeed(tmp_path / "changes")
    caddy = Caddy(HostSource(env.deps.db, has_aliases), feed)
    pages = {"root_url": "https://example.com/", "not_found_url": "https://example.com/lost"}

    async def is_served() -> bool:
        feed.publish(env.published)
        env.published.clear()
        found = await HostSource(env.deps.db, has_aliases).find(NAME.encode())
        assert (await caddy.asks(f"domain={NAME}")) == (404 if found is None else 200)
        return found is not None

    first = await checking.live()
    await env.patch(first, pages)
    assert await is_served()
    await env.delete(first)
    assert not await is_served()
    claim = await env.make(NAME, env.bob)
    await env.patch(claim, pages, env.bob)
    await verified(checking, claim, env.bob)
    assert not await is_served()
    checking.names.has(TXT, [f'"{claim["dns_records"][0]["value"]}"'], kind="TXT")
    assert (await verified(checking, claim, env.bob))["tls"]["status"] == "none"
    assert await is_served()
    checking.names.forgets(TXT)
    for _ in range(3):
        assert await is_served()
        await checking.a_day_later(claim)
    assert not await is_served()
    feed.close()


@pytest.mark.parametrize("needs_txt", [False, True])
async def test_the_mail_names_what_was_looked_for(checking: Checking, needs_txt: bool) -> None:
    domain = await checking.live()
    await checking.env.set(domain, needs_txt=needs_txt)
    checking.names.forgets(NAME)
    for _ in range(3):
        await checking.a_day_later(domain)
    [mail] = await checking.mails()
    assert TXT in mail["text"]
    assert (TARGET in mail["text"]) != needs_txt
    assert "{" not in mail["text"]
