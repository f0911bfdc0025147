"""Reports that are due: what is in them, that each is sent once, and when none is sent."""

import asyncio
import contextlib
import csv
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from email.message import EmailMessage
from io import BytesIO, StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import forked
import pytest
from contexts import new_context
from people import BASE_URL, FakeClock
from PIL import Image
from resources.clicks.visited import fill, new_click, new_link
from resources.links.added import add_links
from smtp import MailServer
from sqlalchemy import select, update

from waypost import mail
from waypost.accounts import Account, create_account, get_person, suspension
from waypost.accounts import store as account_store
from waypost.accounts.members import store as memberships
from waypost.accounts.model import RequiredFactor, people
from waypost.accounts.people import store as people_store
from waypost.audit import Actor
from waypost.audit.model import audit_entries
from waypost.composition import mail_sender
from waypost.database import Database
from waypost.kit.errors import Invalid
from waypost.resources import links
from waypost.resources.links import routing
from waypost.resources.links import store as link_store
from waypost.resources.links.routing import LinkRouting
from waypost.resources.links.tags import store as tag_store
from waypost.resources.statistics_reports import account_data, sender, service, store
from waypost.resources.statistics_reports.model import QUEUE, SEND_JOB, digest_of, report_subscriptions
from waypost.resources.statistics_reports.sender import ReportSender
from waypost.resources.statistics_reports.unsubscribing import UnsubscribeUrls
from waypost.settings import Settings
from waypost.worker.jobs import JobQueue, JobRunner
from waypost.worker.jobs import jobs as job_table
from waypost.worker.loop import WorkerLoop

SATURDAY = datetime(2030, 1, 5, 12, tzinfo=UTC)
MONDAY = datetime(2030, 1, 7, 7, tzinfo=UTC)
"""8:00 in Berlin."""
WEEK = timedelta(days=7)
MORTAL = Path(__file__).parents[2] / "worker" / "apps" / "mortal_reporter.py"
DESTINATION = "https://secret.example/offer"


@dataclass
class Place:
    db: Database
    clock: FakeClock
    server: MailServer
    account: Account
    session: Any

    def __post_init__(self) -> None:
        settings = Settings(smtp_url=f"smtp://127.0.0.1:{self.server.port}", mail_from="w@example.com")
        self.context = new_context(self.db, self.clock)
        self.sender = ReportSender(self.context, mail_sender(settings), UnsubscribeUrls(BASE_URL, [b"key"]))

    def worker(self, queue: JobQueue = QUEUE) -> WorkerLoop[Any, Any]:
        return WorkerLoop(self.db, JobRunner(queue, {SEND_JOB: self.sender.send_due}, clock=self.clock))

    async def work(self, at: datetime | None = None, queue: JobQueue = QUEUE) -> None:
        self.clock.at = at or self.clock.at
        loop = self.worker(queue)
        while await loop.step():
            pass
        await loop.close()

    async def subscribe(self, **chosen: Any) -> UUID:
        zone = chosen.pop("timezone", "Europe/Berlin")
        asked = {"period": "week", "tag": "", "link_id": None} | chosen
        async with self.db.write() as tx:
            self.session.person = await people_store.change(tx, self.session.person.id, self.clock(), timezone=zone)
        return (await service.subscribe(self.context, self.session, **asked)).id

    async def subscriptions(self) -> list[Any]:
        async with self.db.read() as tx:
            return list(await tx.execute(select(report_subscriptions).order_by(report_subscriptions.c.id)))

    async def link(self, **fields: Any) -> links.Link:
        made = new_link(self.account.id, **fields)
        async with self.db.write() as tx:
            await add_links(tx, [made])
        return made

    async def new_member(self, email: str) -> Any:
        """The session of a new person, who is an owner of this account."""
        await create_account(self.db, email=email, name=email, plan="lifetime", now=self.clock(), trial_days=14)
        person = await get_person(self.db, email)
        async with self.db.write() as tx:
            await memberships.add(tx, self.account.id, person.id, "owner", self.clock())
        return self._session(self.account, person)

    @staticmethod
    def _session(account: Account, person: Any) -> Any:
        actor = Actor(account.id, "person", person.id, person.email)
        return SimpleNamespace(account=account, person=person, actor=actor, request_ip="")


@pytest.fixture
async def place(db: Database) -> AsyncIterator[Place]:
    clock = FakeClock(SATURDAY)
    account = await create_account(
        db, email="ada@example.com", name="Ada & Co", plan="lifetime", now=SATURDAY, trial_days=14
    )
    async with MailServer() as server:
        yield Place(db, clock, server, account, Place._session(account, await get_person(db, "ada@example.com")))


def parts(message: EmailMessage) -> tuple[str, str, EmailMessage | None]:
    """(text, HTML, picture)"""
    text, html = message.get_body(["plain"]), message.get_body(["html"])
    assert text
    assert html
    pictures = [part for part in message.walk() if part.get_content_type() == "image/png"]
    return text.get_content(), html.get_content(), next(iter(pictures), None)


async def test_a_report_compares_a_week_with_the_one_before(place: Place) -> None:
    spring = await place.link(slug="spring", tags=["sale"], destination_url=DESTINATION, title=DESTINATION)
    other = await place.link(slug="other")
    monday, tuesday = datetime(2029, 12, 31, 1, tzinfo=UTC), datetime(2030, 1, 1, 12, tzinfo=UTC)
    made = [new_click(spring, monday - timedelta(hours=3), visitor_id=9), new_click(spring, MONDAY, visitor_id=9)]
    made += [new_click(spring, tuesday, visitor_id=n, referrer="https://news.example/<b>") for n in range(1200)]
    made += [new_click(spring, monday, visitor_id=5000, is_scan=True), new_click(other, tuesday, country="")]
    await fill(place.db, made)
    await place.subscribe()
    await place.work()
    assert place.server.mails == [], "not before Monday"
    await place.work(MONDAY)
    [message] = place.server.mails
    text, html, picture = parts(message)
    assert message["Subject"] == "Weekly report: Ada & Co, 1,202 clicks"
    assert (message["To"], message["Auto-Submitted"]) == ("ada@example.com", "auto-generated")
    for shown in (
        "31 Dec 2029 – 6 Jan 2030, times in Europe/Berlin",  # noqa: RUF001
        "Clicks        1,202   1,201 more than 24–30 Dec 2029",  # noqa: RUF001
        "QR scans          1",
        "  Mon 31 Dec          1",
        "  Tue 1 Jan       1,201",
        "Most clicks came on Tuesday, 1 Jan: 1,201. The average is 172 a day.",
        "      1,201  100%  go.test/spring",
        "      1,200  100%  news.example",
        "      1,201  100%  Germany",
    ):
        assert shown in text, text
    assert DESTINATION.partition("//")[2] not in message.as_string()
    assert "Ada &amp; Co" in html
    assert len(message.as_bytes()) < 100_000
    assert "http" not in "".join(part for part in html.split('"') if part.startswith(("src", "background")))
    assert 'src="cid:picture"' in html
    assert picture
    assert picture["Content-ID"] == "<picture>"
    with Image.open(BytesIO(picture.get_content())) as image:
        assert image.size == (1104, 420)
    assert "Clicks by day: Mon 31 Dec 1, Tue 1 Jan 1,201, Wed 2 Jan 0" in html
    url = message["List-Unsubscribe"].strip("<>")
    assert url.startswith(f"{BASE_URL}/stats/reports/unsubscribe/")
    assert message["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    assert url in text
    [row] = await place.subscriptions()
    assert (row.sent_at, row.problem) == (MONDAY, None)


async def test_reports_of_a_tag_a_link_and_a_month(place: Place) -> None:
    tagged, plain = await place.link(slug="tagged", tags=["-50 %"]), await place.link(slug="plain")
    at = datetime(2029, 12, 31, 12, tzinfo=UTC)
    await fill(place.db, [new_click(tagged, at), new_click(plain, at), new_click(plain, at)])
    await place.subscribe(tag="-50 %", period="month", timezone="UTC")
    await place.subscribe(link_id=plain.id, timezone="UTC")
    await place.subscribe(link_id=tagged.id, period="month", timezone="UTC")
    with pytest.raises(Invalid) as refused:
        await place.subscribe(link_id=plain.id)
    assert refused.value.errors == {"body": [service.DUPLICATE]}
    with pytest.raises(Invalid) as refused:
        await place.subscribe(tag="no", period="day")
    assert refused.value.errors.keys() == {"tag", "period"}
    await place.work(datetime(2030, 1, 7, 8, tzinfo=UTC))
    [message] = place.server.mails
    assert message["Subject"] == "Weekly report: go.test/plain, 2 clicks"
    assert "Top links" not in parts(message)[0]
    place.clock.at = at
    async with place.db.write() as tx:
        await tx.execute(update(job_table).values(run_at=at))
    await place.work(datetime(2030, 1, 1, 8, tzinfo=UTC))
    subjects = [each["Subject"] for each in place.server.mails[1:]]
    assert sorted(subjects) == [
        "Monthly report: go.test/tagged, 1 click",
        "Monthly report: links tagged -50 %, 1 click",
    ]
    text, _, _ = parts(next(each for each in place.server.mails if "links tagged" in each["Subject"]))
    assert "1–31 Dec 2029" in text  # noqa: RUF001
    assert "  31 Dec              1" in text
    assert f"{BASE_URL}/stats?period=custom&from=2029-12-01&to=2029-12-31&tag=%5C-50+%25" in text


async def test_links_are_attached_without_what_a_password_protects(place: Place) -> None:
    open_link = await place.link(
        slug="open", tags=["sale"], destination_url="https://shop.example/ä", title="One, zwei", external_id="4711"
    )
    secret = {"destination_url": DESTINATION, "title": "Offer", "note": "Secret", "external_id": DESTINATION}
    hidden = await place.link(slug="hidden", tags=["sale"], **secret)
    await place.link(slug="other")
    async with place.db.write() as tx:
        await routing.save(tx, LinkRouting(hidden.id, place.account.id, SATURDAY, SATURDAY, password_hash="x"))
    await place.subscribe(tag="sale", attaches_links=True)
    await place.subscribe(link_id=open_link.id, attaches_links=True)
    await place.work(MONDAY)
    [message] = [each for each in place.server.mails if "sale" in each["Subject"]]
    [file] = message.iter_attachments()
    assert (file.get_filename(), file.get_content_type()) == ("links-2030-01-07.csv", "text/csv")
    rows = list(csv.DictReader(StringIO(file.get_payload(decode=True).decode(), newline="")))
    titles = ("Destination URL", "Title", "Note", "External ID")
    shown = {row["Short link"]: tuple(row[name] for name in titles) for row in rows}
    assert shown == {
        "go.test/open": ("https://shop.example/ä", "One, zwei", "", "4711"),
        "go.test/hidden": ("", "", "", ""),
    }
    assert parts(message)[1:] != ("", None)
    [of_link] = [each for each in place.server.mails if each is not message]
    assert list(of_link.iter_attachments()) == []
    assert [row.attaches_links for row in await place.subscriptions()] == [True, False]


async def test_links_that_are_too_large_for_an_email_can_be_downloaded(place: Place) -> None:
    long = "https://shop.example/" + "x" * 2_000
    made = [new_link(place.account.id, slug=f"s{n}", tags=["a&b"], destination_url=long) for n in range(1_000)]
    async with place.db.write() as tx:
        await add_links(tx, made)
    await place.subscribe(tag="a&b", attaches_links=True)
    await place.work(MONDAY)
    [message] = place.server.mails
    assert list(message.iter_attachments()) == []
    text, html, _ = parts(message)
    assert f"not attached: they have more than 2 MB. Download them: {BASE_URL}/links/csv?tag=a%26b\r\n" in text
    assert "not attached: they have more than 2 MB. " in html
    assert f'href="{BASE_URL}/links/csv?tag=a%26b"' in html


async def test_links_of_an_account_that_requires_a_factor_are_not_attached(place: Place) -> None:
    made = [await place.link() for _ in range(60)]
    await place.subscribe(attaches_links=True)
    factors: tuple[RequiredFactor, ...] = ("none", "second_factor", "passkey")
    for week, factor in enumerate(factors):
        async with place.db.write() as tx:
            await account_store.change(tx, place.account.id, SATURDAY, required_factor=factor)
        await place.work(MONDAY + week * WEEK)
    [[file], *others] = [list(message.iter_attachments()) for message in place.server.mails]
    assert len(file.get_content().splitlines()) == 1 + len(made)
    assert others == [[], []]
    for message in place.server.mails[1:]:
        text = parts(message)[0]
        assert f"not attached: {sender.FACTOR_REQUIRED}. Download them: {BASE_URL}/links/csv\r\n" in text


async def test_a_report_comes_without_links_if_the_server_refuses_them(place: Place) -> None:
    await place.link()
    await place.subscribe(attaches_links=True)
    for week, is_refused in enumerate((False, True, False)):
        place.server.answers = {"MAIL": "552 too large"} if is_refused else {}
        async with place.db.write() as tx:
            await tx.execute(update(job_table).values(attempts=sender.ATTEMPTS_WITH_LINKS - 1))
        await place.work(MONDAY + week * WEEK)
        place.server.answers = {}
        await place.work(MONDAY + week * WEEK + timedelta(hours=1))
    attached = [len(list(message.iter_attachments())) for message in place.server.mails]
    assert attached == [1, 0, 1], "the last attempt with them, the next one, and another week"
    assert f"not attached: {sender.NOT_ACCEPTED}. Download them: " in parts(place.server.mails[1])[0]


async def test_a_report_follows_a_tag_that_is_renamed(place: Place) -> None:
    await place.link(tags=["sale"])
    await place.subscribe(tag="sale")
    async with place.db.write() as tx:
        tag = await tag_store.find(tx, place.account.id, "sale")
        assert tag
        await tag_store.save(tx, replace(tag, name="summer"))
    await place.link(tags=["summer"])
    await place.work(MONDAY)
    assert [each["Subject"] for each in place.server.mails] == ["Weekly report: links tagged summer, 0 clicks"]
    [listed] = await service.list_of_person(place.context, place.session)
    assert listed.subject == "summer"


async def test_reports_follow_their_reader_to_another_time_zone_once(place: Place) -> None:
    await place.subscribe(timezone="Asia/Tokyo")
    await place.work(datetime(2030, 1, 6, 23, tzinfo=UTC))
    async with place.db.write() as tx:
        chosen = {"timezone": "America/Los_Angeles", "date_format": "month_day", "number_format": "point"}
        await people_store.change(tx, place.session.person.id, place.clock(), **chosen)
    await place.work(datetime(2030, 1, 13, 23, tzinfo=UTC))  # Monday in Tokyo, Sunday in Los Angeles
    assert len(place.server.mails) == 1
    await place.work(datetime(2030, 1, 14, 16, tzinfo=UTC))
    text, _, _ = parts(place.server.mails[1])
    assert "Jan 7, 2030 – Jan 13, 2030, times in America/Los Angeles" in text  # noqa: RUF001


async def test_two_workers_send_each_report_once(place: Place) -> None:
    for number in range(4):
        place.session = await place.new_member(f"member{number}@example.com")
        await place.subscribe()
    place.clock.at = MONDAY
    loops = [place.worker() for _ in range(2)]
    for _ in range(8):
        await asyncio.gather(*(loop.step() for loop in loops))
    await asyncio.gather(*(loop.close() for loop in loops))
    assert sorted(each["To"] for each in place.server.mails) == [f"member{number}@example.com" for number in range(4)]
    async with place.db.write() as tx:  # the lease of an attempt that has sent its report ran out
        await tx.execute(update(job_table).values(run_at=MONDAY, attempts=1))
    await place.work()
    assert len(place.server.mails) == 4
    await place.work(MONDAY + WEEK)
    assert len(place.server.mails) == 8
    assert len({each["Message-ID"] for each in place.server.mails}) == 8


async def test_a_killed_process_loses_no_report(place: Place, database_url: str) -> None:
    """Before it is sent, and after: then it is sent again with the same Message-ID."""
    await place.subscribe(timezone="UTC")
    arguments = [database_url, f"smtp://127.0.0.1:{place.server.port}"]
    for point, count in (("before", 0), ("after", 1), ("never", 2), ("never", 2)):
        async with place.db.write() as tx:
            await tx.execute(update(job_table).values(run_at=SATURDAY - WEEK * 300, lease_until=None))
        done = await asyncio.to_thread(forked.run, [*arguments, point], program=MORTAL)
        assert done.returncode == (0 if point == "never" else -9), done.stderr
        assert len(place.server.mails) == count, point
    assert len({each["Message-ID"] for each in place.server.mails}) == 1


async def test_a_refused_report_is_retried_then_named_on_the_page(place: Place) -> None:
    await place.subscribe()
    place.server.answers = {"RCPT": "550 no such user"}
    await place.work(MONDAY)
    assert (await place.subscriptions())[0].problem is None, "it is retried"
    place.server.answers = {"RCPT": "451 later"}
    await place.work(MONDAY + timedelta(minutes=1))
    place.server.answers = {}
    await place.work(MONDAY + timedelta(hours=2))
    assert len(place.server.mails) == 1
    place.server.answers = {"RCPT": "550 no such user"}
    place.clock.at = MONDAY + WEEK
    for _ in range(sender.MAX_ATTEMPTS):
        await place.work()
        place.clock.move(timedelta(hours=1))
    [row] = await place.subscriptions()
    assert row.problem == "the server rejected the recipient (550)"
    place.server.answers = {}
    await place.work()
    assert len(place.server.mails) == 1, "the next one comes in a week"
    await place.work(MONDAY + 2 * WEEK)
    assert (len(place.server.mails), (await place.subscriptions())[0].problem) == (2, None)


async def test_a_report_that_always_takes_too_long_is_named_on_the_page(place: Place) -> None:
    await place.subscribe()
    place.clock.at = MONDAY
    for _ in range(sender.MAX_ATTEMPTS):
        await place.work(queue=replace(QUEUE, timeout=timedelta(0)))
        place.clock.move(timedelta(hours=1))
    async with place.db.read() as tx:
        assert await tx.scalar(select(job_table.c.attempts)) == sender.MAX_ATTEMPTS
    await place.work()
    assert ((await place.subscriptions())[0].problem, place.server.mails) == (sender.TOO_SLOW, [])
    await place.work(MONDAY + WEEK)
    assert (len(place.server.mails), (await place.subscriptions())[0].problem) == (1, None)


async def test_what_is_gone_ends_or_pauses_reports(place: Place) -> None:
    link, tagged = await place.link(slug="gone"), await place.link(slug="tagged", tags=["sale"])
    await place.subscribe(link_id=link.id)
    await place.subscribe(tag="sale")
    async with place.db.write() as tx:
        await link_store.hide(tx, [link, tagged], SATURDAY)
    await place.work(MONDAY)
    [of_tag] = await place.subscriptions()
    assert (of_tag.tag, of_tag.problem, place.server.mails) == ("sale", sender.NO_TAG, [])
    async with place.db.write() as tx:
        await suspension.suspend(tx, place.account.id, "Phishing", MONDAY)
    await place.link(slug="again", tags=["sale"])
    await place.work(MONDAY + WEEK)
    assert place.server.mails == []
    async with place.db.write() as tx:
        await suspension.resume(tx, place.account.id)
        await tx.execute(update(people).values(confirmed_at=None))
    await place.work(MONDAY + 2 * WEEK)
    assert ((await place.subscriptions())[0].problem, place.server.mails) == (sender.UNCONFIRMED, [])
    async with place.db.write() as tx:
        await tx.execute(update(people).values(confirmed_at=MONDAY))
        await store.add_unsubscribed(tx, digest_of(place.session.person), MONDAY)
    await place.work(MONDAY + 3 * WEEK)
    assert ((await place.subscriptions())[0].problem, place.server.mails) == (sender.UNSUBSCRIBED, [])
    async with place.db.write() as tx:
        await store.remove_unsubscribed(tx, digest_of(place.session.person))
    await place.work(MONDAY + 4 * WEEK)
    assert len(place.server.mails) == 1
    async with place.db.write() as tx:
        await memberships.remove(tx, place.account.id, place.session.person.id)
    await place.work(MONDAY + 5 * WEEK)
    assert (await place.subscriptions(), len(place.server.mails)) == ([], 1)
    async with place.db.read() as tx:
        assert (await tx.execute(select(job_table))).all() == []


async def test_reports_have_a_budget_of_their_own(place: Place) -> None:
    async with place.db.write() as tx:
        for _ in range(mail.MAX_PER_HOUR + 1):
            last = await mail.count(tx, "ada@example.com", "requested", MONDAY)
    assert not last
    for number in range(mail.MAX_STATISTICS - 1):
        await place.sender.send_now(place.account, "ADA@example.com" if number else "ada@example.com", "week", ACTOR)
    await place.subscribe()
    await place.subscribe(period="month")
    await place.work(MONDAY)
    assert len(place.server.mails) == mail.MAX_STATISTICS - 1 + 1
    await place.sender.send_now(place.account, "bob@example.com", "month", ACTOR)
    with contextlib.suppress(Invalid):
        for _ in range(mail.MAX_STATISTICS + 1):
            await place.sender.send_now(place.account, "carol@example.com", "week", ACTOR)
    assert sum(each["To"] == "carol@example.com" for each in place.server.mails) == mail.MAX_STATISTICS


ACTOR = Actor.command(UUID(int=0), "waypost report send")


async def test_sends_a_report_now_to_any_address(place: Place) -> None:
    actor = Actor.command(place.account.id, "waypost report send")
    assert str(await place.sender.send_now(place.account, "bob@example.com", "week", actor)) == "24–30 Dec 2029"  # noqa: RUF001
    await place.subscribe(timezone="Pacific/Auckland")
    place.clock.at = datetime(2030, 1, 6, 12, tzinfo=UTC)  # Monday there
    await place.sender.send_now(place.account, "ada@example.com", "week", actor)
    first, second = (parts(each)[0] for each in place.server.mails)
    assert "times in UTC" in first
    assert "There were no clicks." in first
    assert "Change your subscriptions" not in first
    assert "31 Dec 2029 – 6 Jan 2030, times in Pacific/Auckland" in second  # noqa: RUF001
    urls = place.sender.urls
    token = place.server.mails[0]["List-Unsubscribe"].strip("<>").rpartition("/")[2]
    await service.unsubscribe(place.context, urls.read(token))
    with pytest.raises(Invalid) as refused:
        await place.sender.send_now(place.account, "bob@example.com", "week", actor)
    assert refused.value.errors == {"--to": [sender.UNSUBSCRIBED]}
    async with place.db.read() as tx:
        entries = (await tx.execute(select(audit_entries.c.action, audit_entries.c.details))).all()
    assert ("statistics_report.sent", {"to": "bob@example.com", "period": "week"}) in [tuple(each) for each in entries]


async def test_an_account_that_is_deleted_takes_its_subscriptions_with_it(place: Place) -> None:
    await place.subscribe()
    exported = [
        part async for part in account_data.export(place.context, place.account, MONDAY)["report_subscriptions.ndjson"]
    ]
    assert b'"email": "ada@example.com"' in exported[0].content
    steps = [step async for step in account_data.delete_account_data(place.context, place.account.id)]
    assert (len(steps), await place.subscriptions()) == (1, [])
    async with place.db.read() as tx:
        assert (await tx.execute(select(job_table))).all() == []
