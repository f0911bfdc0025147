"""Health of links: what visits of a destination say, when they happen, and how people find dead links."""

import re
import socket
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from browsing import WebApp
from people import Person
from resources.links.env import HOST, PAGE, Env, Website, faults
from resources.links.test_pages import make
from servers import Receiver, redirect
from sqlalchemy import func, update

from waypost.accounts import suspension
from waypost.kit.ids import new_id
from waypost.outbound import BadCertificate, HostPace, NoSuchHost, NotPublic, OutboundError, Unreachable
from waypost.resources.links import add_clicks
from waypost.resources.links.health import rules, runs, store
from waypost.resources.links.health.model import LinkHealth
from waypost.resources.links.health.rules import DestinationVisit
from waypost.resources.links.health.schedule import CHECK_JOB, JOB_ID, HealthSchedule, next_regular_visit
from waypost.resources.links.health.visits import LinkVisits
from waypost.resources.links.lists.query import LinkFilter
from waypost.resources.links.model import links
from waypost.worker import jobs
from waypost.worker.jobs import JobRunner

DAYS = 7
AT = datetime(2026, 11, 2, 12, tzinfo=UTC)
NEXT = AT + timedelta(days=30)
OK, GONE, BUSY = rules.visit_with_status(200), rules.visit_with_status(404), rules.visit_with_status(503)
UNCHECKED = LinkHealth(new_id(), new_id(), AT)


def after(*visits: DestinationVisit, hours: int = 24) -> LinkHealth:
    """The health after visits that follow each other."""
    health = UNCHECKED
    for number, visit in enumerate(visits):
        health = rules.after_visit(health, visit, AT + timedelta(hours=hours * number), NEXT)
    return health


@pytest.mark.parametrize(
    ("visits", "status", "is_soon"),
    [
        ([OK], "ok", False),
        ([GONE], "uncertain", True),
        ([GONE, GONE], "uncertain", True),
        ([GONE, GONE, GONE], "broken", False),
        ([GONE, GONE, OK], "ok", False),
        ([GONE, GONE, OK, GONE], "uncertain", True),
        ([BUSY], "uncertain", True),
        ([BUSY] * 5, "uncertain", False),
        ([BUSY, BUSY, BUSY, GONE, GONE, GONE], "broken", False),
        ([GONE, BUSY, GONE, GONE], "broken", False),
        ([GONE, GONE, GONE, BUSY], "broken", False),
        ([GONE, GONE, GONE, OK], "ok", False),
    ],
)
def test_a_destination_is_broken_when_it_is_gone_on_three_days(
    visits: Sequence[DestinationVisit], status: str, is_soon: bool
) -> None:
    found = after(*visits)
    last = AT + timedelta(days=len(visits) - 1)
    assert (found.status, found.checked_at) == (status, last)
    assert found.due_at == (last + timedelta(days=1) if is_soon else NEXT)


def test_visits_of_one_day_count_once() -> None:
    assert after(GONE, GONE, GONE, hours=1).status == "uncertain"
    assert after(BUSY, GONE, hours=1).gone_days == 1


def test_what_is_known_of_a_broken_destination_stays_until_it_is_there() -> None:
    found = after(GONE, GONE, GONE, BUSY)
    assert (found.http_status, found.reason, found.since) == (404, "the server responded 404", AT)
    back = rules.after_visit(found, OK, NEXT, NEXT)
    assert (back.status, back.reason, back.since, back.failures) == ("ok", None, NEXT, 0)


@pytest.mark.parametrize(
    ("error", "result", "reason", "is_of_network"),
    [
        (NoSuchHost("dns: there is no such host"), "gone", "there is no such host", False),
        (BadCertificate("tls: certificate has expired"), "gone", "HTTPS failed: certificate has expired", False),
        (Unreachable("timed out"), "uncertain", "timed out", True),
        (NotPublic("host has the address 10.0.0.1"), "uncertain", rules.rules.NOT_PUBLIC, False),
    ],
)
def test_an_error_says_what_is_wrong(error: OutboundError, result: str, reason: str, is_of_network: bool) -> None:
    visit = rules.visit_with_error(error)
    assert (visit.result, visit.reason, visit.failed_at_network) == (result, reason, is_of_network)


@pytest.mark.parametrize(
    ("status", "result"),
    [
        (200, "ok"),
        (304, "ok"),
        (401, "uncertain"),
        (403, "uncertain"),
        (404, "gone"),
        (410, "gone"),
        (429, "uncertain"),
    ],
)
def test_a_status_is_plainly_gone_or_uncertain(status: int, result: str) -> None:
    assert rules.visit_with_status(status).result == result


def test_visits_spread_over_the_days_and_links_share_those_of_a_url() -> None:
    urls = [f"https://example.com/{number}" for number in range(700)]
    first = {url: next_regular_visit(url, AT, DAYS) for url in urls}
    per_day = [sum((at - AT).days == day for at in first.values()) for day in range(DAYS)]
    assert sum(per_day) == 700
    assert min(per_day) > 50
    for url, at in first.items():
        assert next_regular_visit(url, at - timedelta(seconds=1), DAYS) == at
        assert next_regular_visit(url, at, DAYS) == at + timedelta(days=DAYS)


class Checked:
    """The worker, with the environment's clock."""

    def __init__(self, env: Env, turn_seconds: float = 20.0, pace: float = 0) -> None:
        self.env = env
        self.visits = LinkVisits(
            env.deps, env.deps.destination_checker, DAYS, pace=HostPace(pace), turn_seconds=turn_seconds
        )
        self.schedule = HealthSchedule(env.deps.db, DAYS, env.clock)
        self.runner = JobRunner(CHECK_JOB.queue, {CHECK_JOB: self.visits.run}, clock=env.clock)

    async def work(self, **time: int) -> None:
        """Let time pass and do what is due."""
        self.env.clock.move(timedelta(**time))
        await self.schedule.step()
        while True:
            async with self.env.deps.db.write() as tx:
                claimed = await self.runner.claim(tx, 1)
            if not claimed:
                return
            outcome = await self.runner.run(claimed[0])
            assert outcome.error is None, outcome.error
            async with self.env.deps.db.write() as tx:
                await self.runner.settle(tx, [outcome])

    async def health(self, link: dict[str, Any], who: Person | None = None) -> dict[str, Any]:
        headers = (who or self.env.alice).headers
        answer = await self.env.client.get(f"/api/v1/links/{link['id']}/health", headers=headers)
        assert answer.status_code == 200, answer.text
        return answer.json()["data"]

    async def status(self, link: dict[str, Any]) -> str:
        return (await self.health(link))["status"]


@pytest.fixture
def checked(env: Env) -> Checked:
    return Checked(env)


async def slugs(env: Env, query: str) -> list[str]:
    answer = await env.browse(query)
    assert answer.status_code == 200, answer.text
    return [link["slug"] for link in answer.json()["data"]]


async def test_a_dead_destination_is_found_within_days(env: Env, checked: Checked) -> None:
    dead, alive = await env.make(slug="dead", destination_url=env.site.url("/page?dead")), await env.make(slug="alive")
    assert await checked.health(dead) == {
        "link_id": dead["id"],
        "status": "unchecked",
        "checked_at": None,
        "http_status": None,
        "reason": None,
        "since": None,
    }
    await checked.work()
    assert await slugs(env, "?health=unchecked") == ["alive", "dead"]
    await checked.work(days=DAYS)
    assert [await checked.status(link) for link in (dead, alive)] == ["ok", "ok"]
    del env.site.pages["/page"]
    env.site.pages["/page"] = (404, "")
    await checked.work(days=DAYS)
    assert await checked.status(dead) == "uncertain"
    assert await slugs(env, "?health=uncertain") == ["alive", "dead"]
    first = (await checked.health(dead))["since"]
    env.site.pages["/page"] = (410, "")
    await checked.work(days=1, minutes=1)
    assert await checked.status(dead) == "uncertain"
    await checked.work(days=1, minutes=1)
    found = await checked.health(dead)
    assert (found["status"], found["http_status"], found["reason"]) == ("broken", 410, "the server responded 410")
    assert found["since"] == first
    assert await slugs(env, "?health=broken") == ["alive", "dead"]
    assert (await env.find(dead)).json()["data"]["status"] == "active", "nothing is disabled"
    env.site.pages["/new"] = (200, PAGE)
    await env.changed(dead, destination_url=env.site.url("/new"))
    assert await checked.status(dead) == "unchecked"
    assert await slugs(env, "?health=broken") == ["alive"]
    await checked.work(minutes=1)
    assert await checked.status(dead) == "ok"
    answer = await env.client.get(f"/api/v1/links/{dead['id']}/health", headers=env.bob.headers)
    assert answer.status_code == 404


async def test_a_destination_of_many_links_is_asked_once(env: Env, checked: Checked) -> None:
    made = [await env.make(), await env.make(), await env.make(env.bob)]
    off = await env.make()
    await env.changed(off, status="inactive")
    await checked.work()
    env.site.seen.clear()
    await checked.work(days=DAYS)
    assert env.site.seen == ["/page"]
    assert [await checked.status(link) for link in made[:2]] == ["ok", "ok"]
    assert await checked.status(off) == "unchecked"


async def test_all_destinations_of_a_link_are_visited(env: Env, checked: Checked) -> None:
    link = await env.make()
    env.site.pages["/b"] = (200, PAGE)
    await route(env, link, {"fallback_url": env.site.url("/b")})
    await checked.work()
    env.site.pages["/b"] = (404, "")
    await checked.work(days=DAYS)
    found = await checked.health(link)
    assert (found["status"], found["http_status"]) == ("uncertain", 404)
    assert found["reason"] == f"{env.site.url('/b')}: the server responded 404"


async def route(env: Env, link: dict[str, Any], routing: dict[str, Any]) -> None:
    url = f"/api/v1/links/{link['id']}/routing"
    answer = await env.client.put(url, json=routing, headers=env.alice.headers)
    assert answer.status_code == 200, answer.text


async def test_destinations_that_take_several_turns_are_asked_once_each(env: Env) -> None:
    checked = Checked(env, turn_seconds=0.005, pace=0.01)
    link = await env.make()
    paths = [f"/page?{number}" for number in range(10)]
    variants = [{"name": path, "destination_url": env.site.url(path), "weight": 10} for path in paths]
    await route(env, link, {"variants": variants})
    await checked.work()
    env.site.seen.clear()
    await checked.work(days=DAYS)
    assert sorted(env.site.seen) == sorted(["/page", *paths])
    assert await checked.status(link) == "ok"


async def test_a_broken_destination_that_routing_loses_is_forgotten(env: Env, checked: Checked) -> None:
    link = await env.make()
    for remove in ("put", "delete"):
        env.site.pages["/b"] = (200, PAGE)
        await route(env, link, {"fallback_url": env.site.url("/b")})
        await checked.work()
        env.site.pages["/b"] = (404, "")
        await checked.work(days=DAYS)
        assert await checked.status(link) == "uncertain"
        if remove == "put":
            await route(env, link, {})
        else:
            url = f"/api/v1/links/{link['id']}/routing"
            assert (await env.client.delete(url, headers=env.alice.headers)).status_code == 204
        assert await checked.status(link) == "unchecked"
        await checked.work()
        assert await checked.status(link) == "ok"


async def test_links_of_suspended_accounts_are_not_visited(env: Env, checked: Checked) -> None:
    link = await env.make()
    await checked.work()
    async with env.deps.db.write() as tx:
        await suspension.suspend(tx, env.alice.account_id, "abuse", env.clock())
    env.site.seen.clear()
    await checked.work(days=DAYS)
    assert env.site.seen == []
    async with env.deps.db.read() as tx:
        found = await store.find(tx, UUID(link["id"]))
    assert found
    assert (found.status, found.due_at) == ("unchecked", env.clock() + timedelta(days=1))


async def test_failures_at_the_network_count_after_their_hour_unless_most_visits_fail(
    env: Env, checked: Checked
) -> None:
    with socket.socket() as bound:
        bound.bind((HOST, 0))
        closed = bound.getsockname()[1]

    async def lead(before: int, after: int, slug: str = "") -> None:
        """Let destinations lead to another port, and be due."""
        moved = func.replace(links.c.destination_url, f":{before}/", f":{after}/")
        async with env.deps.db.write() as tx:
            await tx.execute(update(links).where(links.c.slug.startswith(slug)).values(destination_url=moved))
            await store.make_due(tx, env.clock())
        await checked.work()

    made = [await env.make(slug=f"s{number}", destination_url=env.site.url(f"/page?{number}")) for number in range(6)]
    await checked.work()
    await lead(env.site.port, closed)
    assert {await checked.status(link) for link in made} == {"unchecked"}
    await lead(closed, env.site.port)
    await checked.work(hours=1)
    assert {await checked.status(link) for link in made} == {"ok"}
    await lead(env.site.port, closed, "s1")
    assert await checked.status(made[1]) == "ok"
    await checked.work(hours=1)
    found = await checked.health(made[1])
    assert (found["status"], found["http_status"], found["reason"]) == ("uncertain", None, "connection refused")
    await lead(env.site.port, closed)
    await checked.work(hours=1)
    assert {await checked.status(link) for link in made if link is not made[1]} == {"ok"}, "most failed"


async def test_a_destination_that_redirects_for_ever_is_uncertain(env: Env, checked: Checked) -> None:
    async with Receiver(redirect("/again"), HOST) as again:
        link = await env.make()
        async with env.deps.db.write() as tx:
            url = f"http://{HOST}:{again.port}/again"
            await tx.execute(update(links).where(links.c.id == UUID(link["id"])).values(destination_url=url))
        await checked.work()
        await checked.work(days=DAYS)
    found = await checked.health(link)
    assert (found["status"], found["http_status"], found["reason"]) == ("uncertain", None, "too many redirects")


async def test_accounts_take_turns(env: Env, checked: Checked) -> None:
    for number in range(5):
        await env.make(destination_url=env.site.url(f"/page?{number}"))
    own = await env.make(env.bob)
    await checked.work()
    async with env.deps.db.read() as tx:
        due = await store.find_due(tx, env.clock() + timedelta(days=30), 2)
    assert {each.account_id for each in due} == {env.alice.account_id, env.bob.account_id}
    assert UUID(own["id"]) in {each.link_id for each in due}


async def test_the_command_visits_all_links_at_once(env: Env, checked: Checked) -> None:
    link = await env.make()
    env.site.pages["/page"] = (404, "")

    async def check(*, all_links: bool) -> dict[str, int]:
        checker = env.deps.destination_checker
        return await runs.check(env.deps, checker, DAYS, all_links=all_links, pace=HostPace(0))

    assert await check(all_links=False) == {"unchecked": 1}
    for status in ("uncertain", "uncertain", "broken"):
        assert await check(all_links=True) == {status: 1}
        assert await check(all_links=True) == {status: 1}, "once a day"
        env.clock.move(timedelta(days=1))
    await env.delete(link)
    assert await check(all_links=True) == {}


async def test_the_worker_waits_for_the_command(env: Env, checked: Checked) -> None:
    link = await env.make()
    await checked.work()
    async with env.deps.db.write() as tx:
        payload = await jobs.hold(
            tx, CHECK_JOB, JOB_ID, now=env.clock(), until=env.clock() + timedelta(days=DAYS, hours=1)
        )
    await checked.work(days=DAYS)
    assert await checked.status(link) == "unchecked"
    async with env.deps.db.write() as tx:
        await jobs.release(tx, JOB_ID, payload, now=env.clock())
    await checked.work()
    assert await checked.status(link) == "ok"


async def test_unused_and_expired_links_are_found(env: Env) -> None:
    start = env.clock()
    await env.make(slug="old")
    clicked = await env.make(slug="clicked")
    await env.make(slug="expired", expires_at=(start + timedelta(days=2)).isoformat())
    env.clock.move(timedelta(days=10))
    last = int((start + timedelta(days=5)).timestamp()) * 1_000_000
    async with env.deps.db.write() as tx:
        await add_clicks(tx, [(UUID(clicked["id"]).bytes, env.alice.account_id.bytes, 1)], last_at=last)
        await add_clicks(tx, [(UUID(clicked["id"]).bytes, env.alice.account_id.bytes, 1)], last_at=1)
    await env.make(slug="young")
    for days, names in ((6, ["expired", "old"]), (4, ["expired", "old"]), (5, ["expired", "old"])):
        since = (start + timedelta(days=days)).strftime("%Y-%m-%dT%H:%M:%SZ")
        expected = ["expired", "clicked", "old"] if days == 6 else names
        assert await slugs(env, f"?unused_since={since}") == expected, days
    assert await slugs(env, "?expired_before=2999-01-01") == ["expired"]
    assert await slugs(env, f"?expired_before={start.date()}") == []
    assert await slugs(env, "?unused_since=2999-01-01&status=active&search=old") == ["old"]
    wrong = await env.browse("?health=dead&unused_since=soon&expired_before=1")
    assert set(faults(wrong)) == {"health", "unused_since", "expired_before"}
    chosen = LinkFilter(health="broken", unused_since=start)
    assert LinkFilter.from_json(chosen.to_json()) == chosen


async def test_pages_show_broken_links_and_lead_to_their_repair(place: WebApp, site: Website) -> None:
    ada = await place.browser("ada@example.com")
    assert ada.account
    assert "Needs attention" not in (await ada.get("/")).text
    link_id = UUID(await make(ada, site, slug="dead"))
    await make(ada, site, slug="alive")
    since = place.clock() - timedelta(days=3)
    broken = LinkHealth(link_id, ada.account.id, since, "broken", since, 404, "the server responded 404", since)
    async with place.db.write() as tx:
        await store.add(tx, [broken])
    overview = (await ada.get("/")).text
    assert "Needs attention" in overview
    assert "the server responded 404, since" in overview
    assert f'href="/links/{link_id}/edit"' in overview
    assert 'href="/links?health=broken"' in overview
    listed = (await ada.get("/links?health=broken")).text
    assert "Broken: the server responded 404" in listed
    assert "/alive" not in listed
    page = (await ada.get(f"/links/{link_id}")).text
    assert "The destination is broken: the server responded 404" in page
    form = await ada.get(f"/links/{link_id}/edit")
    site.pages["/new"] = (200, PAGE)
    changed = await ada.post(f"/links/{link_id}/edit", {"destination_url": site.url("/new"), "slug": "dead"})
    assert (form.status_code, changed.status_code) == (200, 303)
    assert "Needs attention" not in (await ada.get("/")).text


async def test_unused_links_are_deleted_by_the_filter(place: WebApp, site: Website) -> None:
    ada = await place.browser("ada@example.com")
    old = await make(ada, site, slug="old")
    async with place.db.write() as tx:
        past = place.clock() - timedelta(days=100)
        await tx.execute(update(links).where(links.c.id == UUID(old)).values(created_at=past))
    await make(ada, site, slug="young")
    listed = (await ada.get("/links")).text
    since = re.findall(r'value="([\d-]+)">Unused for 90 days', listed)[0]
    found = (await ada.get(f"/links?unused_since={since}")).text
    assert ("/old" in found, "/young" in found) == (True, False)
    assert f'<input type="hidden" name="unused_since" value="{since}">' in found
    preview = await ada.get(f"/links/bulk?unused_since={since}&all=1&action=delete")
    assert ("/old" in preview.text, "/young" in preview.text) == (True, False)
    refused = await ada.get("/links?unused_since=soon")
    assert refused.status_code == 422
