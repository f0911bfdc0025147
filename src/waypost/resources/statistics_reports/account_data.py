"""Exports and deletes the subscriptions to reports of one account."""

from collections.abc import AsyncGenerator, AsyncIterator
from datetime import datetime
from typing import Any
from uuid import UUID

from waypost.accounts import Account
from waypost.accounts.data.archive.parts import Files, ndjson_file
from waypost.accounts.members import store as memberships
from waypost.context import Context
from waypost.database import Database
from waypost.kit.clock import timestamp
from waypost.resource import DELETED_AT_ONCE
from waypost.resources.statistics_reports import store
from waypost.resources.statistics_reports.model import SEND_JOB
from waypost.worker import jobs


async def delete_account_data(context: Context, account_id: UUID) -> AsyncGenerator[None, None]:
    """Delete in short transactions. Yields after each that deleted something."""
    deleted = DELETED_AT_ONCE
    while deleted == DELETED_AT_ONCE:
        async with context.db.write() as tx:
            await jobs.delete_jobs(tx, SEND_JOB, account_id)
            deleted = await store.remove_of_account(tx, account_id, DELETED_AT_ONCE)
        if deleted:
            yield


def export(context: Context, account: Account, _: datetime) -> Files:
    return {"report_subscriptions.ndjson": ndjson_file(_subscriptions(context.db, account.id))}


async def _subscriptions(db: Database, account_id: UUID) -> AsyncIterator[list[dict[str, Any]]]:
    after, has_more = UUID(int=0), True
    async with db.read() as tx:
        emails = {each.person.id: each.person.email for each in await memberships.list_of_account(tx, account_id)}
    while has_more:
        async with db.read() as tx:
            found = await store.list_of_account(tx, account_id, after, DELETED_AT_ONCE)
        has_more = len(found) == DELETED_AT_ONCE
        if found:
            after = found[-1].id
            yield [
                {
                    "id": str(each.id),
                    "email": emails.get(each.person_id),
                    "period": each.period,
                    "tag": each.subject.tag,
                    "link_id": str(each.subject.link_id) if each.subject.link_id else None,
                    "attaches_links": each.attaches_links,
                    "sent_at": timestamp(each.sent_at) if each.sent_at else None,
                    "created_at": timestamp(each.created_at),
                }
                for each in found
            ]
