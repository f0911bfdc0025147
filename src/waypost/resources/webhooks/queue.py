"""SQL of the queue: claim deliveries under a lease, count the attempt before anything is sent, settle afterwards.

Each webhook is a queue of its own. A claim steps from one to the next by index, so that neither a million deliveries of
one webhook nor a receiver that hangs slows the others down.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

from sqlalchemy import Integer, bindparam, select, text, update

from waypost.accounts.suspension import NOT_SUSPENDED
from waypost.database import Ciphertext, Id, Instant, Tx, take_advisory_lock
from waypost.kit.clock import Clock
from waypost.resources.webhooks.delivery_limiter import (
    MAX_IN_FLIGHT,
    DeliveryLimiter,
    DueDeliveries,
    WebhookReceiver,
    choose_deliveries,
)
from waypost.resources.webhooks.model import MAX_ATTEMPTS, DeliveryStatus, webhook_deliveries, webhooks

_ENDED = "the process ended during the last attempt"
_deliveries = webhook_deliveries.c
# Not `status = 'pending'`: for rows known by their ids PostgreSQL might then read the index of all pending rows, as
# long as it has no statistics on how many there are.
_IS_UNFINISHED = text("status NOT IN ('delivered', 'failed', 'cancelled')")

# ruff: noqa: S608  # built only from the constants below


def _webhooks_with_deliveries(name: str, condition: str, index: str) -> str:
    """Return a CTE of webhook ids: one index lookup for each, in the order of `index` so that it is used."""
    order = ", ".join(f"d.{column}" for column in index.split())
    first = f"SELECT d.webhook_id FROM webhook_deliveries AS d WHERE d.{condition}"
    return (
        f"WITH RECURSIVE {name} (webhook_id) AS (SELECT ({first} ORDER BY {order} LIMIT 1) UNION ALL"
        f" SELECT ({first} AND d.webhook_id > {name}.webhook_id ORDER BY {order} LIMIT 1)"
        f" FROM {name} WHERE webhook_id IS NOT NULL)"
    )


_PENDING = _webhooks_with_deliveries("queue", "status = 'pending'", "webhook_id next_attempt_at")
_LEASED = _webhooks_with_deliveries("leased", "leased_until IS NOT NULL", "webhook_id")
_FROM_DUE = (
    "FROM webhook_deliveries AS d WHERE d.status = 'pending' AND d.webhook_id = queue.webhook_id"
    " AND d.next_attempt_at <= :now"
)
_DUE_QUERY = f"SELECT d.id {_FROM_DUE} ORDER BY d.next_attempt_at LIMIT :limit"
_DUE_IDS = {
    "sqlite": f"SELECT group_concat(hex(id), ' ') FROM ({_DUE_QUERY})",
    "postgresql": f"array_to_string(ARRAY({_DUE_QUERY}), ' ')",
}
_RECEIVER_COLUMNS = (
    "(SELECT w.account_id FROM webhooks AS w WHERE w.id = {0}.webhook_id) AS account_id,"
    " (SELECT w.url FROM webhooks AS w WHERE w.id = {0}.webhook_id) AS url"
)
_MAY_SEND = f"(SELECT {NOT_SUSPENDED.format('webhooks.account_id')} FROM webhooks WHERE webhooks.id = queue.webhook_id)"
"""SQL condition: the webhook is not deleted, and its account is not suspended."""
_QUEUES_QUERY = {
    dialect: text(
        f"{_PENDING} SELECT webhook_id, {_RECEIVER_COLUMNS.format('queue')}, ({due}) AS due"
        # not EXISTS, and with ORDER BY: otherwise PostgreSQL may read the table
        f" FROM queue WHERE (SELECT TRUE {_FROM_DUE} ORDER BY d.next_attempt_at LIMIT 1)"
        f" AND {_MAY_SEND}"
    )
    .bindparams(bindparam("now", type_=Instant), bindparam("limit", type_=Integer))
    .columns(webhook_id=Id, account_id=Id)
    for dialect, due in _DUE_IDS.items()
}
_OLDEST_DUE_QUERY = (
    text(
        f"{_PENDING} SELECT min((SELECT d.next_attempt_at {_FROM_DUE} ORDER BY d.next_attempt_at LIMIT 1)) AS oldest"
        f" FROM queue WHERE {_MAY_SEND}"
    )
    .bindparams(bindparam("now", type_=Instant))
    .columns(oldest=Instant)
)
_IN_FLIGHT_QUERY = (
    text(
        f"{_LEASED} SELECT webhook_id, {_RECEIVER_COLUMNS.format('leased')},"
        " (SELECT count(*) FROM webhook_deliveries AS d WHERE d.webhook_id = leased.webhook_id"
        " AND d.leased_until > :now) AS attempts"
        " FROM leased WHERE webhook_id IS NOT NULL"
    )
    .bindparams(bindparam("now", type_=Instant))
    .columns(webhook_id=Id, account_id=Id)
)
_ORPHANED_QUERY = text(
    f"{_PENDING} SELECT webhook_id FROM queue WHERE webhook_id IS NOT NULL"
    " AND NOT EXISTS (SELECT 1 FROM webhooks WHERE webhooks.id = queue.webhook_id) LIMIT 1"
).columns(webhook_id=Id)


@dataclass(frozen=True, slots=True)
class ClaimedDelivery:
    """A delivery with an attempt in progress."""

    id: UUID
    receiver: WebhookReceiver
    url: str
    secret: Ciphertext
    event: str
    body: str
    attempt: int
    """Starts at 1."""
    created_at: datetime
    leased_until: datetime
    """To settle it, the delivery must still have this lease."""


@dataclass(frozen=True, slots=True)
class DeliveryOutcome:
    """The outcome of an attempt."""

    claimed: ClaimedDelivery
    status: DeliveryStatus
    next_attempt_at: datetime | None = None
    response_status: int | None = None
    error: str | None = None
    response_body: str | None = None
    """The start of it."""
    counts_as_attempt: bool = True
    """False if nothing was sent."""


async def is_due(tx: Tx, now: datetime, limiter: DeliveryLimiter) -> bool | None:
    """See `QueueWorker.is_due`."""
    queues = await _find_due_deliveries(tx, now, 1)
    if not queues:
        return False
    return bool(choose_deliveries(queues, await _count_in_flight(tx, now), 1, limiter)) or None


async def find_oldest_due(tx: Tx, now: datetime) -> datetime | None:
    since: datetime | None = (await tx.execute(_OLDEST_DUE_QUERY, {"now": now})).scalar_one()
    return since


async def find_orphaned_webhook(tx: Tx) -> UUID | None:
    """Return the id of a deleted webhook that still has pending deliveries."""
    return (await tx.execute(_ORPHANED_QUERY)).scalar_one_or_none()


async def lock_deliveries(tx: Tx) -> None:
    """Lock all deliveries for changes until the transaction ends.

    Prevents deadlocks of transactions that change several, and two claims of the same slot.
    """
    await take_advisory_lock(tx, "webhook")


async def claim(
    tx: Tx, *, clock: Clock, lease: timedelta, limit: int, limiter: DeliveryLimiter
) -> list[ClaimedDelivery]:
    """Lease up to `limit` due deliveries, as many of each receiver as `limiter` allows.

    Deliveries whose last attempt was never settled become `failed`.
    """
    await lock_deliveries(tx)
    now = clock()
    queues = await _find_due_deliveries(tx, now, min(limit, MAX_IN_FLIGHT))
    ids = choose_deliveries(queues, await _count_in_flight(tx, now), limit, limiter)
    if not ids:
        return []
    ended = {"status": "failed", "next_attempt_at": None, "leased_until": None, "error": _ENDED}
    await tx.execute(
        update(webhook_deliveries)
        .where(_deliveries.id.in_(ids), _deliveries.attempts >= MAX_ATTEMPTS, _IS_UNFINISHED)
        .values(ended)
    )
    until = now + lease
    statement = (
        update(webhook_deliveries)
        .where(_deliveries.id.in_(ids), _IS_UNFINISHED)  # a concurrent deletion may have cancelled it
        .values(attempts=_deliveries.attempts + 1, leased_until=until, next_attempt_at=until)
        .returning(
            _deliveries.id,
            _deliveries.webhook_id,
            _deliveries.event,
            _deliveries.body,
            _deliveries.attempts,
            _deliveries.created_at,
        )
    )
    rows = (await tx.execute(statement)).all()
    return await _with_receivers(tx, rows, until)


async def settle(tx: Tx, outcomes: Sequence[DeliveryOutcome]) -> None:
    """Save the outcomes. That of an attempt that lost its lease, or whose delivery was cancelled, changes nothing."""
    await lock_deliveries(tx)
    rows = [
        {
            "delivery_id": outcome.claimed.id,
            "lease": outcome.claimed.leased_until,
            "status": outcome.status,
            "attempts": outcome.claimed.attempt - (not outcome.counts_as_attempt),
            "next_attempt_at": outcome.next_attempt_at,
            "leased_until": None,
            "response_status": outcome.response_status,
            "error": outcome.error,
            "response_body": outcome.response_body,
        }
        for outcome in outcomes
    ]
    has_lease = _deliveries.id == bindparam("delivery_id"), _deliveries.leased_until == bindparam("lease")
    await tx.execute(update(webhook_deliveries).where(*has_lease, _IS_UNFINISHED), rows)


async def _find_due_deliveries(tx: Tx, now: datetime, limit: int) -> list[DueDeliveries]:
    """Return the first `limit` due deliveries of each webhook."""
    rows = await tx.execute(_QUEUES_QUERY[tx.dialect.name], {"now": now, "limit": limit})
    return [DueDeliveries(_receiver(row), (row.due or "").split()) for row in rows]


async def _count_in_flight(tx: Tx, now: datetime) -> Mapping[WebhookReceiver, int]:
    """Count attempts in progress in all workers, without those of deleted webhooks."""
    rows = await tx.execute(_IN_FLIGHT_QUERY, {"now": now})
    return {_receiver(row): row.attempts for row in rows if row.url}


def _receiver(row: Any) -> WebhookReceiver:
    return WebhookReceiver(row.webhook_id, row.account_id, _host(row.url))


@lru_cache(4_096)
def _host(url: str) -> str:
    return urlsplit(url).hostname or ""


async def _with_receivers(tx: Tx, rows: Sequence[Any], until: datetime) -> list[ClaimedDelivery]:
    columns, ids = webhooks.c, {row.webhook_id for row in rows}
    query = select(columns.id.label("webhook_id"), columns.account_id, columns.url, columns.secret)
    by_id = {webhook.webhook_id: webhook for webhook in await tx.execute(query.where(columns.id.in_(ids)))}
    return [
        ClaimedDelivery(
            row.id,
            _receiver(webhook),
            webhook.url,
            webhook.secret,
            row.event,
            row.body,
            row.attempts,
            row.created_at,
            until,
        )
        for row in rows
        if (webhook := by_id.get(row.webhook_id))
    ]
