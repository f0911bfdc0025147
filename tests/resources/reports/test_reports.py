"""Reports of abuse: what is stored, what is dropped, and the emails to operators."""

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from contexts import new_context
from people import START, FakeClock, Person, new_person
from resources.operator.test_suspension import add_link
from sqlalchemy import func, select, update

from waypost import mail
from waypost.accounts import open_limiters
from waypost.accounts.data.deletion import delete_in_steps
from waypost.database import Database
from waypost.kit.ids import new_id
from waypost.redirect.report_pages import LinkReport
from waypost.resources.links.model import links
from waypost.resources.reports import intake, store
from waypost.resources.reports.emails import Emails, defanged
from waypost.resources.reports.intake import ReportIntake
from waypost.resources.reports.model import link_reports, reported_links
from waypost.worker.jobs import jobs

PHISHING = LinkReport("phishing", "It looks like my bank", "ann@example.com")
BARE = LinkReport("spam", "", "")
HOUR = timedelta(hours=1)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
async def reports(db: Database, tmp_path: Path, clock: FakeClock) -> AsyncIterator[ReportIntake]:
    limiters = open_limiters(db, tmp_path)
    yield ReportIntake(db, limiters, clock)
    await limiters.close()


@pytest.fixture
async def alice(db: Database) -> Person:
    return await new_person(db, "alice")


def addresses(count: int) -> list[str]:
    return [f"93.184.{number}.1" for number in range(count)]


async def add(db: Database, link: UUID, report: LinkReport = PHISHING, *, at: Any = START, count: int = 1) -> None:
    """Without limits."""
    async with db.write() as tx:
        [(account,)] = await tx.execute(select(links.c.account_id).where(links.c.id == link))
        for _ in range(count):
            await store.add(tx, link, account, report, at)


async def open_links(db: Database) -> dict[UUID, int]:
    async with db.read() as tx:
        return {each.link_id: each.reports for each in await store.list_open(tx, None, 100)}


async def stored(db: Database) -> int:
    async with db.read() as tx:
        return await tx.scalar(select(func.count()).select_from(link_reports)) or 0


async def test_stores_reports(db: Database, reports: ReportIntake, alice: Person, clock: FakeClock) -> None:
    link, other = await add_link(db, alice, "a"), await add_link(db, alice, "b")
    await reports.store(link.hex.encode(), PHISHING, "93.184.1.1")
    clock.move(HOUR)
    await reports.store(other.hex.encode(), BARE, "93.184.1.1")
    clock.move(HOUR)
    await reports.store(link.hex.encode(), BARE, "2001:db8::1")
    async with db.read() as tx:
        first, second = await store.list_open(tx, None, 10)
        assert (first.link_id, first.account_id, first.reports) == (link, alice.account_id, 2)
        assert (first.first_at, first.last_at) == (START, START + 2 * HOUR)
        assert second.link_id == other
        assert await store.list_open(tx, first.link_id, 10) == [second]
        assert await store.list_open(tx, second.link_id, 10) == []
        newest, oldest = await store.list_reports(tx, link)
        assert (newest.reason, newest.text, newest.email) == ("spam", "", None)
        assert (oldest.reason, oldest.text, oldest.email) == ("phishing", "It looks like my bank", "ann@example.com")
        assert await store.count_reasons(tx, [link, other]) == {link: {"phishing": 1, "spam": 1}, other: {"spam": 1}}


async def test_drops_reports_beyond_the_limits(
    db: Database, reports: ReportIntake, alice: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    link, other = await add_link(db, alice, "a"), await add_link(db, alice, "b")
    for address in ("93.184.1.1", "2001:db8:1::1", "2001:db8:1:2::1"):  # the last two are one network
        for _ in range(intake.PER_NETWORK):
            await reports.store(link.hex.encode(), PHISHING, address)
    assert await open_links(db) == {link: 2 * intake.PER_NETWORK}
    for address in addresses(20):
        await reports.store(link.hex.encode(), PHISHING, address)
    assert await open_links(db) == {link: intake.PER_LINK}
    await reports.store(other.hex.encode(), PHISHING, "93.185.1.1")
    assert await open_links(db) == {link: intake.PER_LINK, other: 1}, "others can still be reported"


async def test_drops_reports_beyond_the_limit_of_all(db: Database, reports: ReportIntake, alice: Person) -> None:
    made = [await add_link(db, alice, f"link{number}") for number in range(intake.IN_ALL // intake.PER_LINK + 2)]
    for index, link in enumerate(made):
        for address in addresses(intake.PER_LINK):
            await reports.store(link.hex.encode(), PHISHING, f"{index + 1}{address.removeprefix('93')}")
    assert sum((await open_links(db)).values()) == intake.IN_ALL


async def test_stores_some_texts_and_counts_the_rest(db: Database, alice: Person) -> None:
    link = await add_link(db, alice, "a")
    await add(db, link, count=store.MAX_STORED + 5)
    assert (await open_links(db), await stored(db)) == ({link: store.MAX_STORED + 5}, store.MAX_STORED)


async def test_stores_no_more_texts_in_all(db: Database, alice: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "MAX_STORED_IN_ALL", 3)
    flooded, other = [await add_link(db, alice, slug) for slug in ("a", "b")]
    await add(db, flooded, count=3)
    await add(db, other)
    assert (await open_links(db), await stored(db)) == ({flooded: 3, other: 1}, 3)
    async with db.read() as tx:
        assert [len(await store.list_reports(tx, link)) for link in (flooded, other)] == [2, 1]


async def test_an_unknown_link_cannot_be_reported(db: Database, reports: ReportIntake) -> None:
    await reports.store(new_id().hex.encode(), PHISHING, "93.184.1.1")
    assert (await open_links(db), await stored(db)) == ({}, 0)


async def test_an_outcome_closes_a_link_until_the_next_report(db: Database, alice: Person) -> None:
    link = await add_link(db, alice, "a")
    await add(db, link, count=3)
    async with db.write() as tx:
        assert await store.close(tx, link, "dismissed", START)
        assert not await store.close(tx, link, "dismissed", START)
    assert (await open_links(db), await stored(db)) == ({}, 0), "what reporters wrote is deleted"
    later = START + HOUR
    await add(db, link, at=later)
    async with db.read() as tx:
        [again] = await store.list_open(tx, None, 10)
    assert (again.reports, again.first_at, again.last_at) == (1, later, later)


# ── emails ──────────────────────────────────────────────────────────────────────────────────────────────────────────


async def emails(db: Database) -> list[dict[str, str]]:
    async with db.read() as tx:
        return list(await tx.scalars(select(jobs.c.payload).where(jobs.c.name == mail.JOB.name).order_by(jobs.c.id)))


def new_emails(db: Database, clock: FakeClock) -> Emails:
    return Emails(db, "abuse@example.com", "go.test", "https://app.test", clock)


async def test_one_email_names_all_links_with_new_reports(db: Database, alice: Person, clock: FakeClock) -> None:
    sending = new_emails(db, clock)
    assert not await sending.send_due()
    assert await emails(db) == []
    link, other = await add_link(db, alice, "a"), await add_link(db, alice, "b")
    await add(db, link, count=2)
    await add(db, other, BARE, at=START + timedelta(seconds=1))
    await sending.send_due()
    await sending.send_due()
    [sent] = await emails(db)
    assert (sent["to"], sent["subject"]) == ("abuse@example.com", "2 reported links")
    assert "- go[.]test/a to https[://]example[.]com/page: 2 new reports\n" in sent["text"]
    assert "- go[.]test/b to https[://]example[.]com/page: 1 new report\n" in sent["text"]
    assert sent["text"].count("://") == 3
    assert "https://app.test/operator/reports" in sent["text"]
    assert PHISHING.text not in sent["text"]
    assert PHISHING.email not in sent["text"]


async def test_a_link_is_named_once_an_hour(db: Database, alice: Person, clock: FakeClock) -> None:
    sending, link = new_emails(db, clock), await add_link(db, alice, "a")
    await add(db, link)
    await sending.send_due()
    await add(db, link, count=4)
    clock.move(HOUR - timedelta(seconds=1))
    await sending.send_due()
    assert len(await emails(db)) == 1
    clock.move(timedelta(seconds=1))
    await sending.send_due()
    assert ["4 new reports" in sent["text"] for sent in await emails(db)] == [False, True]
    clock.move(HOUR)
    await sending.send_due()
    assert len(await emails(db)) == 2, "nothing is new"


async def test_a_flood_of_reported_links_sends_few_emails(db: Database, alice: Person, clock: FakeClock) -> None:
    sending = new_emails(db, clock)
    for number in range(60):
        await add(db, await add_link(db, alice, f"link{number}"), at=START + timedelta(seconds=number))
    for _ in range(40):
        await sending.send_due()
        clock.move(timedelta(minutes=5))
    sent = await emails(db)
    assert len(sent) == 3  # each names 20 links
    named = {line for each in sent for line in each["text"].splitlines() if line.startswith("- go")}
    assert len(named) == 60


async def test_names_a_link_that_was_deleted(db: Database, alice: Person, clock: FakeClock) -> None:
    link = await add_link(db, alice, "a")
    await add(db, link)
    async with db.write() as tx:
        await tx.execute(update(links).values(deleted_at=START))
    await new_emails(db, clock).send_due()
    assert "- A deleted link: 1 new report\n" in (await emails(db))[0]["text"]


async def test_without_a_recipient_reports_wait(db: Database, alice: Person, clock: FakeClock) -> None:
    await add(db, await add_link(db, alice, "a"))
    await Emails(db, "", "go.test", "https://app.test", clock).send_due()
    assert await emails(db) == []
    await new_emails(db, clock).send_due()
    assert len(await emails(db)) == 1


def test_urls_in_emails_cannot_be_clicked() -> None:
    assert defanged("https://a.example/b.html?c=d") == "https[://]a[.]example/b[.]html?c=d"
    assert len(defanged("https://a.example/" + "x" * 5_000)) == 201


async def test_reports_are_deleted_with_their_account(db: Database, alice: Person) -> None:
    bob = await new_person(db, "bob")
    gone, kept = await add_link(db, alice, "a"), await add_link(db, bob, "b")
    for link in (gone, kept):
        await add(db, link)
    async for _ in delete_in_steps(new_context(db), alice.account_id, store.delete_some):
        pass
    assert (await open_links(db), await stored(db)) == ({kept: 1}, 1)
    async with db.read() as tx:
        assert list(await tx.scalars(select(reported_links.c.link_id))) == [kept]
