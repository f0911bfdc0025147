"""Subscriptions of members to reports of statistics by email."""

import contextlib
from dataclasses import replace
from uuid import UUID

from waypost import accounts, audit
from waypost.accounts.sessions.store import Session
from waypost.audit import Actor, AuditAction, Item
from waypost.context import Context
from waypost.database import Tx
from waypost.kit.errors import NotFound, Problems
from waypost.kit.ids import new_id
from waypost.resources import links
from waypost.resources.links import labels
from waypost.resources.links.tags import store as tag_store
from waypost.resources.statistics_reports import periods, store
from waypost.resources.statistics_reports.model import (
    SEND_JOB,
    ListedSubscription,
    ReportSubject,
    ReportSubscription,
    digest_of,
)
from waypost.resources.statistics_reports.periods import PERIODS
from waypost.worker import jobs

MAX_SUBSCRIPTIONS = 20
"""Of a person, in all accounts. Reports to an address have the same limit a day."""
TOO_MANY = f"You can subscribe to at most {MAX_SUBSCRIPTIONS} reports. End one that you do not need any more."
UNCONFIRMED = "Confirm your email address first: reports are sent to it."
DUPLICATE = "You are already subscribed to this report."
UNKNOWN_TAG = "There is no such tag. Choose a tag of the list."


async def subscribe(
    context: Context, session: Session, *, period: str, tag: str, link_id: UUID | None, attaches_links: bool = False
) -> ReportSubscription:
    """Raises Invalid, and NotFound for a link that the account does not have."""
    account_id, person, now, problems = session.account.id, session.person, context.clock(), Problems()
    chosen = next((each for each in PERIODS if each == period), None)
    if chosen is None:
        problems.add("period", f"This must be one of: {', '.join(PERIODS)}.")
    if person.confirmed_at is None:
        problems.add("body", UNCONFIRMED)
    async with context.db.write() as tx:
        await accounts.lock_account(tx, account_id)
        subject = ReportSubject(link_id=link_id)
        if tag and not link_id:
            found = await tag_store.find(tx, account_id, tag)
            if found is None:
                problems.add("tag", UNKNOWN_TAG)
            else:
                subject = ReportSubject(found.name, tag_id=found.id)
        name = await name_subject(tx, session.account, subject, shared_domain=context.shared_domain)
        own = await store.list_of_person(tx, person.id)
        if len(own) >= MAX_SUBSCRIPTIONS:
            problems.add("body", TOO_MANY)
        if any((each.account_id, each.subject, each.period) == (account_id, subject, period) for each in own):
            problems.add("body", DUPLICATE)
        problems.raise_if_any()
        if chosen is None or name is None:
            raise NotFound
        preferences, attaches_links = person.preferences, attaches_links and link_id is None
        new = ReportSubscription(
            new_id(), account_id, person.id, chosen, subject, attaches_links, None, None, None, now, preferences
        )
        await store.add(tx, new, digest_of(person))
        await store.remove_unsubscribed(tx, digest_of(person))
        run_at = periods.next_time(chosen, preferences.zone, now)
        await jobs.enqueue(tx, SEND_JOB, {}, now=now, run_at=run_at, account_id=account_id, id_=new.id)
        await _record(tx, session.actor, "statistics_report.subscribed", new, name, context)
    return new


async def end(context: Context, session: Session, subscription_id: UUID) -> None:
    """End a subscription of the person, in any account. Raises NotFound."""
    async with context.db.write() as tx:
        found = await store.find(tx, subscription_id)
        if found is None or found.person_id != session.person.id:
            raise NotFound
        actor = Actor(found.account_id, "person", session.person.id, session.person.email, session.request_ip)
        await _end(tx, context, actor, found)


async def unsubscribe(context: Context, recipient: str) -> None:
    """End all reports to an address. `recipient`: its digest."""
    async with context.db.write() as tx:
        await store.add_unsubscribed(tx, recipient, context.clock())
        for each in await store.list_of_recipient(tx, recipient):
            await _end(tx, context, Actor.system(each.account_id, "unsubscribe link"), each)


async def list_of_person(context: Context, session: Session) -> list[ListedSubscription]:
    """List the subscriptions in all accounts of the person."""
    now = context.clock()
    async with context.db.read() as tx:
        listed = []
        for each in await store.list_of_person(tx, session.person.id):
            account = await accounts.find_account(tx, each.account_id)
            if account is None:
                continue
            name = await name_subject(tx, account, each.subject, shared_domain=context.shared_domain)
            next_at = periods.next_time(each.period, each.preferences.zone, now)
            listed.append(ListedSubscription(each, account.name, name or "", next_at))
    return listed


async def name_subject(tx: Tx, account: accounts.Account, subject: ReportSubject, *, shared_domain: str) -> str | None:
    """Return the short URL of the link, the tag, or the name of the account. None: the link does not exist."""
    if subject.link_id is None:
        return (await current_subject(tx, account.id, subject)).tag or account.name
    try:
        link = await links.get(tx, account.id, subject.link_id)
    except NotFound:
        return None
    return link.short_url(shared_domain)


async def current_subject(tx: Tx, account_id: UUID, subject: ReportSubject) -> ReportSubject:
    """Return the subject with the name that its tag has now."""
    if subject.tag_id:
        with contextlib.suppress(NotFound):
            return replace(subject, tag=(await tag_store.get(tx, account_id, subject.tag_id)).name)
    return subject


async def has_links(tx: Tx, account_id: UUID, tag: str) -> bool:
    """Return whether a link of the account has the tag."""
    return await tx.scalar(labels.with_tags(account_id, [tag]).limit(1)) is not None


async def _end(tx: Tx, context: Context, actor: Actor, ended: ReportSubscription) -> None:
    account = await accounts.find_account(tx, ended.account_id)
    name = account and await name_subject(tx, account, ended.subject, shared_domain=context.shared_domain)
    await store.remove(tx, ended.id)
    await jobs.delete_job(tx, ended.id)
    await _record(tx, actor, "statistics_report.ended", ended, name or "", context)


async def _record(
    tx: Tx, actor: Actor, action: AuditAction, subscription: ReportSubscription, name: str, context: Context
) -> None:
    details = {"period": subscription.period} | ({"attaches_links": True} if subscription.attaches_links else {})
    await audit.record(tx, actor, action, context.clock(), Item(subscription.id, name), details=details)
