"""Checks of domains: requested and daily ones, three failures in a row, and changes meanwhile."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from uuid import UUID

import pytest
from resources.domains.checks.checking import A_DAY, Checking
from resources.domains.env import NAME, TARGET
from sqlalchemy import update

from waypost.audit import store as audit_store
from waypost.audit.store import AuditFilter
from waypost.outbound import DnsRecords
from waypost.redirect import ChangeFeed, HostTable, host_change
from waypost.redirect.route import NO_HOST
from waypost.resources import links
from waypost.resources.domains import HostSource
from waypost.resources.domains.checks import messages
from waypost.resources.domains.checks.outcome import RECHECK_AFTER_SERVED, RETRY_INTERVAL
from waypost.resources.domains.model import CHECK_JOB
from waypost.resources.links.aliases import has_aliases
from waypost.worker.jobs import jobs

TXT = f"_waypost.{NAME}"


async def test_verifies_a_domain_and_checks_it_daily(checking: Checking) -> None:
    env = checking.env
    domain = await env.make()
    assert not await checking.run()  # nobody has asked
    checking.names.has(TXT, [f'"{domain["dns_records"][0]["value"]}"'], kind="TXT")
    found, now = await checking.verify(domain), env.clock()
    assert (found.status, found.is_served, found.failures, found.error) == ("verified", True, 0, None)
    assert (found.verified_at, found.last_checked_at, found.unverified_since) == (now, now, None)
    assert await checking.check_at(domain) == now + RECHECK_AFTER_SERVED
    assert env.published == [host_change(NAME)]
    assert await HostSource(env.deps.db, has_aliases).find(NAME.encode()) is not None
    assert not await checking.run()
    assert (await checking.a_day_later(domain)).verified_at == env.clock()
    assert env.published == [host_change(NAME)]  # nothing new
    assert await checking.mails() == []


async def test_the_very_next_visit_sees_it(checking: Checking, tmp_path: Path) -> None:
    feed, deps = ChangeFeed(tmp_path / "changes"), checking.env.deps
    table = HostTable(HostSource(deps.db, has_aliases), feed, capacity=1000)
    checking.checker._deps = replace(deps, routes=links.Routes(feed.publish, deps.clock))
    domain = await checking.env.make()
    assert await table.load(NAME.encode()) is NO_HOST
    checking.names.has(NAME, [TARGET], kind="CNAME")
    await checking.verify(domain)
    assert table.find(NAME.encode()) is None  # it has forgotten what it knew
    assert await table.load(NAME.encode()) is not NO_HOST
    checking.names.forgets(NAME)
    for failures in (1, 2, 3):
        assert table.find(NAME.encode()) is not None
        assert (await checking.a_day_later(domain)).failures == failures
    assert table.find(NAME.encode()) is None
    assert await table.load(NAME.encode()) is NO_HOST
    feed.close()


async def test_a_domain_without_records_fails(checking: Checking) -> None:
    domain = await checking.env.make()
    found = await checking.verify(domain)
    assert (found.status, found.is_served) == ("failed", False)
    assert await checking.check_at(domain) == checking.env.clock() + timedelta(minutes=2)
    assert found.error.startswith(
        f"No record was found that verifies {NAME}. TXT record {TXT}: the name does not exist."
    )
    assert found.unverified_since == found.created_at
    assert (checking.env.published, await checking.mails()) == ([], [])
    checking.names.has(NAME, [TARGET], kind="CNAME")
    checking.env.clock.move(timedelta(minutes=2))
    assert await checking.run()  # nobody has asked again
    found = await checking.env.row(domain)
    assert (found.status, found.error, found.failures) == ("verified", None, 0)


async def test_three_failures_in_a_row_take_a_domain_down(checking: Checking) -> None:
    env, domain = checking.env, await checking.live()
    await env.links.make(slug="spring", hostname=NAME)
    env.published.clear()
    checking.names.forgets(NAME)
    for failures in (1, 2):
        found = await checking.a_day_later(domain)
        assert (found.status, found.is_served, found.failures, found.tls_status) == ("verified", True, failures, "none")
        assert found.error.startswith("No record was found")
        check_at = await checking.check_at(domain)
        assert check_at
        assert timedelta(hours=23) < check_at - env.clock() <= A_DAY
    assert (env.published, await checking.mails()) == ([], [])
    found = await checking.a_day_later(domain)
    assert (found.status, found.is_served, found.failures) == ("failed", False, 3)
    assert await checking.check_at(domain) == env.clock() + RETRY_INTERVAL
    assert found.unverified_since == env.clock()
    assert env.published == [host_change(NAME)]
    assert await HostSource(env.deps.db, has_aliases).find(NAME.encode()) is None
    [mail] = await checking.mails()
    assert (mail["to"], mail["subject"]) == ("alice@example.com", f"Short links on {NAME} no longer work")
    assert all(
        text in mail["text"] for text in (TXT, TARGET, "1 Jan 2030, 12:00 UTC", "4 Jan 2030, 12:00 UTC", domain["id"])
    )
    checking.names.has(NAME, [TARGET], kind="CNAME")
    assert (await checking.verify(domain)).is_served
    assert env.published == [host_change(NAME)] * 2


async def test_what_checks_decide_is_in_the_audit_log(checking: Checking) -> None:
    env, domain = checking.env, await checking.env.make()
    await checking.verify(domain)
    env.clock.move(timedelta(microseconds=1))
    checking.names.has(NAME, [TARGET], kind="CNAME")
    await checking.verify(domain)
    await checking.a_day_later(domain)
    checking.names.forgets(NAME)
    for _ in range(3):
        await checking.a_day_later(domain)
    env.clock.move(timedelta(days=60))
    assert await checking.expire()
    async with env.deps.db.read() as tx:
        entries, _ = await audit_store.list_before(tx, env.alice.account_id, AuditFilter(), None, limit=20)
    by_service = [entry for entry in entries if entry.actor.type == "system"]
    assert [entry.action for entry in reversed(by_service)] == [
        *("domain.verification_failed", "domain.verified", "domain.verification_failed", "domain.deleted"),
    ]
    assert {entry.item for entry in by_service} == {(UUID(domain["id"]), NAME)}


async def test_mail_comes_once_a_day_and_quotes_nobody(checking: Checking) -> None:
    """However often an account takes its own name up and down, and whatever stands in its records."""
    domain = await checking.live()
    for mails in (1, 1, 2):
        checking.names.forgets(NAME)
        checking.names.has(TXT, ["Sign in at https://evil.test/"], kind="TXT")
        for _ in range(3):
            found = await checking.verify(domain)
        assert "evil.test" in found.error
        assert len(await checking.mails()) == mails
        checking.names.has(NAME, [TARGET], kind="CNAME")
        assert (await checking.verify(domain)).is_served
        checking.env.clock.move(A_DAY / 2)
    assert "evil.test" not in str(await checking.mails())


async def test_a_success_resets_the_failures(checking: Checking) -> None:
    domain = await checking.live()
    for _ in range(2):
        checking.names.forgets(NAME)
        assert (await checking.a_day_later(domain)).failures == 1
        checking.names.has(NAME, [TARGET], kind="CNAME")
        found = await checking.a_day_later(domain)
        assert (found.failures, found.error) == (0, None)


async def test_no_answer_counts_as_no_failure(checking: Checking) -> None:
    domain = await checking.live()
    checking.names.fails(NAME)
    for _ in range(4):
        found = await checking.a_day_later(domain)
        assert (found.status, found.is_served, found.failures) == ("verified", True, 0)
        assert "could not be checked" in found.error
        assert await checking.check_at(domain) == checking.env.clock() + RETRY_INTERVAL
    other = await checking.env.make("other.brand.test")
    checking.names.fails("other.brand.test")
    found = await checking.verify(other)
    assert (found.status, found.failures) == ("failed", 1)
    assert "could not be checked" in found.error


async def test_a_crash_counts_as_no_failure(checking: Checking, monkeypatch: pytest.MonkeyPatch) -> None:
    domain = await checking.live()

    async def crash(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(DnsRecords, "find", crash)
    found = await checking.a_day_later(domain)
    assert (found.is_served, found.failures, found.error) == (True, 0, messages.CRASHED.format(hostname=NAME))


async def test_of_a_process_that_dies_the_lease_runs_out(checking: Checking) -> None:
    env = checking.env
    domain = await env.make()
    checking.names.has(NAME, [TARGET], kind="CNAME")
    await checking.ask(domain)
    [lost] = await checking.claim()
    assert not await checking.run()
    env.clock.move(CHECK_JOB.queue.lease)
    [again] = await checking.claim()
    checking.names.forgets(NAME)
    await checking.finish(lost)
    assert (await env.row(domain)).status == "verifying"
    checking.names.has(NAME, [TARGET], kind="CNAME")
    await checking.finish(again)
    assert (await env.row(domain)).is_served


async def test_one_that_is_deleted_meanwhile_stays_so(checking: Checking) -> None:
    env, domain = checking.env, await checking.live()
    await checking.ask(domain)
    [claimed] = await checking.claim()
    await env.delete(domain)
    published = list(env.published)
    await checking.finish(claimed)
    assert (await env.row(domain), env.published) == (None, published)


async def test_asked_for_during_a_check_that_fails(checking: Checking) -> None:
    """Perhaps the record was set in between: it is looked up again."""
    env, domain = checking.env, await checking.live()
    checking.names.forgets(NAME)
    env.clock.move(A_DAY)
    [claimed] = await checking.claim()
    env.clock.move(timedelta(seconds=1))
    await checking.ask(domain)
    await checking.finish(claimed)
    found = await env.row(domain)
    assert (found.status, found.failures) == ("verifying", 0)
    checking.names.has(NAME, [TARGET], kind="CNAME")
    assert await checking.run()
    assert (await env.row(domain)).status == "verified"


async def test_one_account_keeps_nobody_waiting(checking: Checking) -> None:
    """Dead names by the dozen, and one more of another account that is asked for after them all."""
    env, names = checking.env, checking.names
    dead = [await env.make(f"dead{n}.brand.test") for n in range(10)]
    for domain in dead:
        await checking.ask(domain)
        names.silent_about.update({domain["hostname"], f"_waypost.{domain['hostname']}"})
    for _ in range(2):
        assert await checking.loop.step()
        assert len(checking.loop._in_flight) == CHECK_JOB.queue.per_account
    env.clock.move(timedelta(seconds=1))
    bobs = await env.make("bob.test", env.bob)
    names.has("bob.test", [TARGET], kind="CNAME")
    assert (await env.ask("POST", f"/{bobs['id']}/verify", env.bob)).status_code == 202
    assert await checking.loop.step()
    while not (await env.row(bobs)).is_served:
        await asyncio.sleep(0)
    for task in checking.loop._in_flight:
        task.cancel()


async def test_those_asked_for_go_first(checking: Checking) -> None:
    env = checking.env
    daily, asked = await checking.live("daily.test"), await env.make("asked.test")
    env.clock.move(A_DAY * 2)
    await checking.ask(asked)
    [first], [second] = await checking.claim(1), await checking.claim()
    assert (first.id, second.id) == (UUID(asked["id"]), UUID(daily["id"]))


async def test_unverified_domains_expire(checking: Checking) -> None:
    env = checking.env
    first, second, live = await env.make("first.test"), await env.make("second.test"), await checking.live()
    env.clock.move(timedelta(days=7, seconds=-1))
    assert not await checking.expire()
    third = await env.make("third.test")
    env.clock.move(timedelta(seconds=1))
    await checking.ask(second)
    async with env.deps.db.write() as tx:  # somebody is checking it
        await tx.execute(update(jobs).values(lease_until=env.clock() + A_DAY))
    assert await checking.expire()
    assert not await checking.expire()
    assert await env.row(first) is None
    assert all([await env.row(domain) for domain in (second, live, third)])
    env.clock.move(A_DAY)
    assert await checking.expire()
    assert await env.row(second) is None
