"""Destinations of imported links are checked later. Nothing is switched off; what is unreachable is listed."""

from ipaddress import ip_network
from itertools import count

import pytest
from claimed import claimed_row
from people import FakeClock, Person, new_person
from resources.imports.importing import Pages, link, new_deps, run
from resources.links.env import HOST, Website
from sqlalchemy import func, select

from waypost.database import Database
from waypost.outbound import DestinationChecker, Outbound, UrlSafety
from waypost.resources.imports import store
from waypost.resources.imports.destination_checks import TURN, DestinationChecks
from waypost.resources.imports.model import CHECK_JOB
from waypost.resources.links.model import links
from waypost.worker.jobs import LONG, JobRunner, jobs


@pytest.fixture
async def alice(db: Database) -> Person:
    return await new_person(db, "alice")


async def check(db: Database, outbound: Outbound) -> bool:
    """Run the job that is waiting. Return False if there is none."""
    async with db.write() as tx:
        row = (await tx.execute(select(jobs).where(jobs.c.name == CHECK_JOB.name).limit(1))).one_or_none()
        if row is None:
            return False
        await tx.execute(jobs.delete().where(jobs.c.id == row.id))
    handler = DestinationChecks(db, DestinationChecker(outbound, UrlSafety()), FakeClock(), lambda: 0.0)
    await handler(claimed_row(row))
    return True


async def test_lists_unreachable_destinations_and_switches_nothing_off(db: Database, alice: Person) -> None:
    async with Website().open() as site:
        site.pages["/broken"] = (500, "")
        outbound = Outbound(allow=[ip_network(HOST)])
        deps = new_deps(db, destination_checker=DestinationChecker(outbound, UrlSafety()))
        urls = {name: site.url(f"/{name}") for name in ("page", "broken", "missing")}
        routed = link("routed", destination_url=urls["page"], routing={"fallback_url": site.url("/broken?routed")})
        source = Pages([[*(link(name, destination_url=url) for name, url in urls.items()), routed]])
        await run(deps, alice, source)
        assert await check(db, outbound)
        async with db.read() as tx:
            assert set(await tx.scalars(select(links.c.is_enabled))) == {True}
            assert await store.find_unchecked(tx, alice.account_id, limit=1) == []
        other = await run(deps, alice, Pages([[link("other", destination_url=urls["page"])]]))
        assert [text for text in other.warnings if "reached" in text] == []
        assert await check(db, outbound)
        again = await run(deps, alice, source)
        reason = "The destination URL could not be reached: the server responded 500"
        assert sorted(again.warnings[1:]) == [f"{urls['broken']}: {reason}", f"{urls['broken']}?routed: {reason}"]
        assert not await check(db, outbound)


async def test_an_account_has_one_job_however_many_imports_end(db: Database, alice: Person) -> None:
    deps, bob = new_deps(db), await new_person(db, "bob")
    for person, name in ((alice, "a"), (alice, "b"), (bob, "a")):
        await run(deps, person, Pages([[link(name)]]))
    async with db.read() as tx:
        assert sorted(await tx.scalars(select(jobs.c.account_id))) == sorted([alice.account_id, bob.account_id])


async def test_a_worker_that_is_killed_after_a_turn_doubles_no_job(db: Database, alice: Person) -> None:
    deps = new_deps(db)
    await run(deps, alice, Pages([[link("a")]]))
    checker = DestinationChecker(Outbound(), UrlSafety())
    handler = DestinationChecks(db, checker, FakeClock(), count(step=TURN).__next__)
    runner = JobRunner(LONG, {CHECK_JOB: handler}, clock=deps.clock)
    async with db.write() as tx:
        [job] = await runner.claim(tx, LONG.slots)
    assert (await runner.run(job)).again
    async with db.read() as tx:
        assert await tx.scalar(select(func.count()).select_from(jobs)) == 1
