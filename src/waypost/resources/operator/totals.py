"""Counts what the service page shows of the database: once an hour, in a worker, so that the page never counts."""

import socket
from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

from waypost.accounts import account_list
from waypost.context import Context
from waypost.kit.clock import timestamp
from waypost.resources import links
from waypost.resources.clicks.days import day_of
from waypost.resources.clicks.store import ClicksUnavailable
from waypost.resources.domains import certificates
from waypost.resources.operator.model import ServiceReport, find_report, save_report

DAYS = 30
_INTERVAL = timedelta(hours=1)
_ACCOUNTS_AT_ONCE = 500


async def renew(context: Context) -> bool:
    """Count again if no worker did within the hour."""
    now = context.clock()
    async with context.db.read() as tx:
        last = await find_report(tx, "totals")
    if last is None or not last.at <= now < last.at + _INTERVAL:
        report = ServiceReport(socket.gethostname(), now, await _count(context))
        async with context.db.write() as tx:
            await save_report(tx, "totals", report)
    return False


async def _count(context: Context) -> dict[str, Any]:
    today = day_of(context.clock())
    days = range(today - DAYS + 1, today + 1)
    async with context.db.read_long() as tx:
        added = {"accounts": await account_list.count_added(tx, days), "links": await links.count_added(tx, days)}
        stored = await certificates.count(tx)
        ids = await account_list.list_ids(tx)
    next_expiry = timestamp(stored.next_expiry) if stored.next_expiry else None
    return {
        "last_day": today,
        **added,
        "clicks": await _count_clicks(context, ids, days),
        "certificates": {**stored._asdict(), "next_expiry": next_expiry},
    }


async def _count_clicks(context: Context, accounts: Sequence[UUID], days: Sequence[int]) -> list[int] | None:
    """Return None while clicks are unavailable."""
    clicks = Counter[int]()
    try:
        async with context.click_store.reader(context.db) as reader:
            for start in range(0, len(accounts), _ACCOUNTS_AT_ONCE):
                some = accounts[start : start + _ACCOUNTS_AT_ONCE]
                for of_account in (await reader.clicks_per_day(some, days)).values():
                    clicks.update(of_account)
    except ClicksUnavailable:
        return None
    return [clicks[day] for day in days]
