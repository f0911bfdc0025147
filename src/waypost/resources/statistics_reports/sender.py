"""Sends reports: those that are due, by the job of each subscription, and one that a command asks for.

A report is sent again only if the mail server refused it or did not answer in time, or if the process died between the
answer and the commit that records it. Then it has the same Message-ID, by which mail programs drop the second one.
"""

import asyncio
from base64 import b64encode
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from waypost import accounts, audit, mail
from waypost.accounts import Account, Person
from waypost.accounts.members import store as memberships
from waypost.accounts.people import store as people
from waypost.audit import Actor, Item
from waypost.context import Context
from waypost.database import Tx
from waypost.kit.errors import Invalid, WaypostError
from waypost.kit.ids import new_id
from waypost.outbound import Unreachable
from waypost.resources.clicks.dashboard.statistics import read_comparable
from waypost.resources.clicks.model import Subject
from waypost.resources.clicks.stats.query import StatsQuery, new_stats_query
from waypost.resources.clicks.stats.read import Statistics
from waypost.resources.links.lists import csv_file
from waypost.resources.links.lists.query import LinkFilter
from waypost.resources.statistics_reports import content, periods, service, store
from waypost.resources.statistics_reports.content import ReportEmail, ReportScope, ReportUrls
from waypost.resources.statistics_reports.model import ReportSubject, ReportSubscription, address_digest, digest_of
from waypost.resources.statistics_reports.periods import ReportDays, ReportPeriod
from waypost.resources.statistics_reports.unsubscribing import UnsubscribeUrls
from waypost.worker import jobs
from waypost.worker.jobs import Again, Job

_MAX_SHIFT = timedelta(days=2)
"""Of the end of a period: the person may have another time zone since the latest report."""
MAX_ATTEMPTS = 9
"""Of one report, in about three hours."""
NO_TAG = "No link has this tag."
UNCONFIRMED = "Your email address is not confirmed."
TOO_MANY = f"This address has received {mail.MAX_STATISTICS} reports within a day."
UNSUBSCRIBED = "This address has unsubscribed from reports. Its owner can subscribe again in the dashboard."
TOO_SLOW = "It took too long. The administrator finds the attempts in the log."
UNEXPECTED = "Waypost could not send it. The administrator finds the reason in the log."
MAX_CSV = 2_000_000
"""Bytes of attached links, which become 2.7 MB of an email."""
ATTEMPTS_WITH_LINKS = MAX_ATTEMPTS * 2 // 3
"""In 11 minutes, since many servers refuse the first ones (greylisting). Later ones try without the file."""
FACTOR_REQUIRED = "the account requires two factors or a passkey"
TOO_LARGE = f"they have more than {MAX_CSV // 1_000_000} MB"
NOT_ACCEPTED = "sending them failed several times"
MANAGE_PATH = "/stats/reports"


class _Skipped(WaypostError):
    """The report is not sent."""


class _Due(NamedTuple):
    account: Account
    person: Person
    subject: ReportSubject
    name: str


@dataclass(frozen=True, slots=True)
class ReportSender:
    context: Context
    send: mail.SendMail
    urls: UnsubscribeUrls

    async def send_due(self, job: Job) -> Again | None:
        """Handle the job of a subscription. None: it has ended."""
        now = self.context.clock()
        async with self.context.db.read() as tx:
            subscription = await store.find(tx, job.id)
        if subscription is None:
            return None
        again = Again(periods.next_time(subscription.period, subscription.preferences.zone, now))
        try:
            is_kept = await self._send_due(job, subscription, now)
        except _Skipped as error:
            await self._record_problem(job.id, str(error))
        except Exception as error:
            if job.attempt < MAX_ATTEMPTS:
                raise
            await self._record_problem(job.id, _problem(error))
        else:
            return again if is_kept else None
        return again

    async def send_now(self, account: Account, to: str, period: ReportPeriod, actor: Actor) -> str:
        """Send a report of the account to any address. Return its days as a text.

        Raises Invalid, and Unreachable if the server refuses it.
        """
        now, recipient = self.context.clock(), address_digest(to)
        async with self.context.db.write() as tx:
            preferences = await people.find_preferences(tx, to)
            if await store.is_unsubscribed(tx, recipient):
                raise Invalid({"--to": [UNSUBSCRIBED]})
            if not await mail.count(tx, to, "statistics", now):
                raise Invalid({"--to": [TOO_MANY]})
        days = periods.last_days(period, preferences.zone, now)
        urls = ReportUrls(self.context.base_url, self.urls.url(to), "")
        of_account = ReportScope(account.id, ReportSubject(), account.name, period, preferences)
        report = await self._write(of_account, days, urls, now)
        await self._send(report, to, f"{new_id()}", urls)
        async with self.context.db.write() as tx:
            details = {"to": to, "period": period}
            await audit.record(
                tx, actor, "statistics_report.sent", now, Item(account.id, account.name), details=details
            )
        return preferences.days(*days)

    async def _send_due(self, job: Job, subscription: ReportSubscription, now: datetime) -> bool:
        """Return whether the subscription is kept. Raises _Skipped."""
        zone = subscription.preferences.zone
        days = periods.last_days(subscription.period, zone, now)
        until = days.range(zone).end
        if subscription.sent_until and subscription.sent_until > until - _MAX_SHIFT:
            return True
        if job.attempt > MAX_ATTEMPTS:  # the last one was cancelled, after the time that a job may take
            raise _Skipped(TOO_SLOW)
        async with self.context.db.write() as tx:
            if not await jobs.lock(tx, job):
                return True
            due = await self._find_due(tx, subscription)
            if due is None:
                await store.remove(tx, subscription.id)
                return False
            if due.account.suspended_at:
                return True
            if job.attempt == 1 and not await mail.count(tx, due.person.email, "statistics", now):
                raise _Skipped(TOO_MANY)
        to, base_url = due.person.email, self.context.base_url
        urls = ReportUrls(base_url, self.urls.url(to), f"{base_url}{MANAGE_PATH}")
        scope = ReportScope(due.account.id, due.subject, due.name, subscription.period, subscription.preferences)
        csv, why_no_links = await self._read_links(due, job.attempt, now) if subscription.attaches_links else ("", "")
        report = await self._write(scope, days, urls, now, why_no_links)
        await self._send(report, to, f"{subscription.id}.{days.first}", urls, csv)
        async with self.context.db.write() as tx:
            await store.record_sent(tx, subscription, address_digest(to), until, now)
        return True

    async def _find_due(self, tx: Tx, subscription: ReportSubscription) -> _Due | None:
        """Return None if its link or the account was deleted. Raises _Skipped."""
        account = await accounts.find_account(tx, subscription.account_id)
        member = await memberships.find_member(tx, subscription.account_id, subscription.person_id)
        if account is None or member is None:
            return None
        subject = await service.current_subject(tx, account.id, subscription.subject)
        name = await service.name_subject(tx, account, subject, shared_domain=self.context.shared_domain)
        if name is None:
            return None
        if subject.tag and not await service.has_links(tx, account.id, subject.tag):
            raise _Skipped(NO_TAG)
        if member.person.confirmed_at is None:
            raise _Skipped(UNCONFIRMED)
        if await store.is_unsubscribed(tx, digest_of(member.person)):  # an address that the person has now
            raise _Skipped(UNSUBSCRIBED)
        return _Due(account, member.person, subject, name)

    async def _read_links(self, due: _Due, attempt: int, now: datetime) -> tuple[str, str]:
        """Return the CSV file, or an empty text and why it is not attached."""
        async with self.context.db.read() as tx:
            if await accounts.find_required_factor(tx, due.account.id) != "none":  # an inbox asks for no factor
                return "", FACTOR_REQUIRED
        if attempt > ATTEMPTS_WITH_LINKS:
            return "", NOT_ACCEPTED
        found = due.account.id, LinkFilter(tag=due.subject.tag), now, self.context.shared_domain
        parts, size = [], 0
        async for part in csv_file.read_lines(self.context.db, *found, shows_protected=False, batch=50):  # at most 6 MB
            parts.append(part)
            size += len(part.encode())
            if size > MAX_CSV:
                return "", TOO_LARGE
        return "".join(parts), ""

    async def _write(
        self, scope: ReportScope, days: ReportDays, urls: ReportUrls, now: datetime, why_no_links: str = ""
    ) -> ReportEmail:
        preferences, filters = scope.preferences, content.filters_of(scope.subject)
        before = periods.days_before(scope.period, days.first)
        query, earlier = (
            replace(new_stats_query(each.range(preferences.zone), "day", preferences.timezone), filters=filters)
            for each in (days, before)
        )
        query = replace(query, comparison=earlier)
        found = await self._read(Subject(scope.account_id, scope.subject.link_id), query, now)
        return content.write(scope, days, before, query, found, urls, why_no_links)

    async def _read(self, subject: Subject, query: StatsQuery, now: datetime) -> Statistics:
        lists = [name for name in content.LISTS if name != "link" or subject.link_id is None]
        shared_domain = self.context.shared_domain
        async with self.context.click_store.reader(self.context.db, subject.account_id) as reader:
            try:
                return await read_comparable(reader, subject, query, now, shared_domain=shared_domain, lists=lists)
            except Invalid as error:
                raise _Skipped(" ".join(text for texts in error.errors.values() for text in texts)) from None

    async def _send(self, report: ReportEmail, to: str, unique: str, urls: ReportUrls, csv: str = "") -> None:
        message = {"to": to, "subject": report.subject, "text": report.text, "html": report.html}
        if csv:
            message |= {"csv": csv, "csv_name": f"links-{self.context.clock():%Y-%m-%d}.csv"}
        message["unsubscribe_url"] = urls.unsubscribe
        if report.days:
            message["image"] = b64encode(await asyncio.to_thread(report.draw)).decode()
        await self.send(message, unique=unique)

    async def _record_problem(self, subscription_id: UUID, problem: str) -> None:
        async with self.context.db.write() as tx:
            await store.record_problem(tx, subscription_id, problem)


def _problem(error: Exception) -> str:
    """Return why no attempt succeeded, for the page. The log has all errors."""
    if isinstance(error, Unreachable):
        return error.reason.removeprefix("mail: ")
    return error.message if isinstance(error, WaypostError) else UNEXPECTED
