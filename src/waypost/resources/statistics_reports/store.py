"""Every statement on subscriptions to reports."""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Select, delete, insert, select, update

from waypost.accounts.people import store as people
from waypost.database import Tx, upsert
from waypost.kit.preferences import DEFAULT, Preferences
from waypost.resources.statistics_reports.model import (
    ReportSubject,
    ReportSubscription,
    report_subscriptions,
    unsubscribed_addresses,
)

_c = report_subscriptions.c
_SUBSCRIPTION = select(
    *(_c[name] for name in ("id", "account_id", "person_id", "period", "tag", "link_id", "tag_id")),
    *(_c[name] for name in ("attaches_links", "sent_until", "sent_at", "problem", "created_at")),
)


async def add(tx: Tx, new: ReportSubscription, recipient: str) -> None:
    names = ("id", "account_id", "person_id", "period", "attaches_links", "created_at")
    row = {name: getattr(new, name) for name in names} | asdict(new.subject)
    row |= {"recipient": recipient, "timezone": new.preferences.timezone}
    await tx.execute(insert(report_subscriptions), row)


async def find(tx: Tx, id_: UUID) -> ReportSubscription | None:
    return next(iter(await _list(tx, _SUBSCRIPTION.where(_c.id == id_))), None)


async def list_of_person(tx: Tx, person_id: UUID) -> list[ReportSubscription]:
    """List the subscriptions in all accounts, the oldest first."""
    return await _list(tx, _SUBSCRIPTION.where(_c.person_id == person_id).order_by(_c.id))


async def list_of_account(tx: Tx, account_id: UUID, after: UUID, limit: int) -> list[ReportSubscription]:
    query = _SUBSCRIPTION.where(_c.account_id == account_id, _c.id > after).order_by(_c.id).limit(limit)
    return await _list(tx, query)


async def record_sent(tx: Tx, sent: ReportSubscription, recipient: str, until: datetime, now: datetime) -> None:
    """`recipient`: of all subscriptions of the person from now on, so that unsubscribing finds them."""
    await tx.execute(
        update(report_subscriptions).where(_c.id == sent.id).values(sent_until=until, sent_at=now, problem=None)
    )
    await tx.execute(
        update(report_subscriptions)
        .where(_c.person_id == sent.person_id, _c.recipient != recipient)
        .values(recipient=recipient)
    )


async def record_problem(tx: Tx, id_: UUID, problem: str) -> None:
    await tx.execute(update(report_subscriptions).where(_c.id == id_).values(problem=problem))


async def remove(tx: Tx, id_: UUID) -> None:
    await tx.execute(delete(report_subscriptions).where(_c.id == id_))


async def list_of_recipient(tx: Tx, recipient: str) -> list[ReportSubscription]:
    return await _list(tx, _SUBSCRIPTION.where(_c.recipient == recipient))


async def remove_of_account(tx: Tx, account_id: UUID, limit: int) -> int:
    ids = select(_c.id).where(_c.account_id == account_id).limit(limit)
    return (await tx.execute(delete(report_subscriptions).where(_c.id.in_(ids)))).rowcount


async def is_unsubscribed(tx: Tx, recipient: str) -> bool:
    query = select(unsubscribed_addresses.c.digest).where(unsubscribed_addresses.c.digest == recipient)
    return await tx.scalar(query) is not None


async def add_unsubscribed(tx: Tx, recipient: str, now: datetime) -> None:
    statement = upsert(tx, unsubscribed_addresses).values(digest=recipient, unsubscribed_at=now)
    await tx.execute(statement.on_conflict_do_nothing(index_elements=["digest"]))


async def remove_unsubscribed(tx: Tx, recipient: str) -> None:
    await tx.execute(delete(unsubscribed_addresses).where(unsubscribed_addresses.c.digest == recipient))


async def _list(tx: Tx, query: Select[Any]) -> list[ReportSubscription]:
    rows = (await tx.execute(query)).all()
    preferences = await people.list_preferences(tx, {row.person_id for row in rows})
    return [_subscription(row, preferences.get(row.person_id, DEFAULT)) for row in rows]


def _subscription(row: Sequence[Any], preferences: Preferences) -> ReportSubscription:
    id_, account_id, person_id, period, tag, link_id, tag_id, attaches_links, *rest = row
    until, sent_at, problem, created_at = rest
    subject = ReportSubject(tag, link_id, tag_id)
    return ReportSubscription(
        id_, account_id, person_id, period, subject, attaches_links, until, sent_at, problem, created_at, preferences
    )
