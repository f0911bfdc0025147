"""SQL of the queue: claim deliveries under a lease, count the attempt before anything is sent, settle afterwards.

Each subscription is a queue of its own. A claim steps from one to the next by index, so that neither a million
deliveries of one subscription nor a receiver that hangs slows the others down.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

from sqlalchemy import Integer, bindparam, select, text, update

from waypost.database import Ciphertext, Id, Instant, Tx, take_advisory_lock
from waypost.kit.clock import Clock
from waypost.resources.webhooks.delivery_limiter import (
    MAX_IN_FLIGHT,
    DeliveryLimiter,
    DueDeliveries,
    WebhookEndpoint,
    choose_deliveries,
)
from waypost.resources.webhooks.model import MAX_ATTEMPTS, DeliveryStatus, webhook_deliveries, webhooks

_ENDED = "the process ended during the last attempt"
_D = webhook_deliveries.c
# Not `status = 'pending'`: for rows known by their ids PostgreSQL might then read the index of all pending rows, as
# long as it has no statistics on how many there are.
_IS_OPEN = text("status NOT IN ('delivered', 'failed', 'cancelled')")
_LOCK = 0x776562686F6F6B  # "webhook"

# ruff: noqa: S608  # built only from the constants below


def _subscriptions(name: str, condition: str, index: str) -> str:
    """Subscriptions with such a delivery: one index lookup for each, in the order of `index` so that it is used."""
    order = ", ".join(f"d.{column}" for column in index.split())
    first = f"SELECT d.webhook_id FROM webhook_deliveries AS d WHERE d.{condition}"
    return (
        f"WITH RECURSIVE {name} (webhook_id) AS (SELECT ({first} ORDER BY {order} LIMIT 1) UNION ALL"
        f" SELECT ({first} AND d.webhook_id > {name}.webhook_id ORDER BY {order} LIMIT 1)"
        f" FROM {name} WHERE webhook_id IS NOT NULL)"
    )


_PENDING = _subscriptions("queue", "status = 'pending'", "webhook_id next_attempt_at")
_LEASED = _subscriptions("leased", "leased_until IS NOT NULL", "webhook_id")
_DUE_OF_QUEUE = (
    "FROM webhook_deliveries AS d WHERE d.status = 'pending' AND d.webhook_id = queue.webhook_id"
    " AND d.next_attempt_at <= :now"
)
_DUE = f"SELECT d.id {_DUE_OF_QUEUE} ORDER BY d.next_attempt_at LIMIT :at_most"
_AS_LIST = {
    "sqlite": f"SELECT group_concat(hex(id), ' ') FROM ({_DUE})",
    "postgresql": f"array_to_string(ARRAY({_DUE}), ' ')",
}
_RECEIVER = (
    "(SELECT w.account_id FROM webhooks AS w WHERE w.id = {0}.webhook_id) AS account_id,"
    " (SELECT w.url FROM webhooks AS w WHERE w.id = {0}.webhook_id) AS url"
)
_QUEUES = {
    dialect: text(
        f"{_PENDING} SELECT webhook_id, {_RECEIVER.format('queue')}, ({due}) AS due"
        # not EXISTS, and with ORDER BY: otherwise PostgreSQL may read the table
        f" FROM queue WHERE (SELECT TRUE {_DUE_OF_QUEUE} ORDER BY d.next_attempt_at LIMIT 1)"
        " AND (SELECT TRUE FROM webhooks WHERE webhooks.id = queue.webhook_id)"
    )
    .bindparams(bindparam("now", type_=Instant), bindparam("at_most", type_=Integer))
    .columns(webhook_id=Id, account_id=Id)
    for dialect, due in _AS_LIST.items()
}
_IN_FLIGHT = (
    text(
        f"{_LEASED} SELECT webhook_id, {_RECEIVER.format('leased')}, (SELECT count(*) FROM webhook_deliveries AS d"
        " WHERE d.webhook_id = leased.webhook_id AND d.leased_until > :now) AS attempts"
        " FROM leased WHERE webhook_id IS NOT NULL"
    )
    .bindparams(bindparam("now", type_=Instant))
    .columns(webhook_id=Id, account_id=Id)
)
_ORPHANED = text(
    f"{_PENDING} SELECT webhook_id FROM queue WHERE webhook_id IS NOT NULL"
    " AND NOT EXISTS (SELECT 1 FROM webhooks WHERE webhooks.id = queue.webhook_id) LIMIT 1"
).columns(webhook_id=Id)


@dataclass(frozen=True, slots=True)
class ClaimedDelivery:
    """A delivery with an attempt in progress."""

    id: UUID
    endpoint: WebhookEndpoint
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
    answer: str | None = None
    """Its start."""
    counts: bool = True
    """False when nothing was sent: then it is not counted as an attempt."""


async def is_due(tx: Tx, now: datetime, limiter: DeliveryLimiter) -> bool:
    """Whether a claim would get anything. Takes no write lock, and mostly there is nothing to do."""
    queues = await _due_deliveries(tx, now, 1)
    return bool(queues and choose_deliveries(queues, await _in_flight(tx, now), 1, limiter))


async def orphaned(tx: Tx) -> UUID | None:
    """A deleted subscription that has pending deliveries."""
    return (await tx.execute(_ORPHANED)).scalar_one_or_none()


async def lock(tx: Tx) -> None:
    """Take it before several deliveries are changed: until the transaction ends, no other process changes any.

    Otherwise two claims could use the same slot, and two that change the same rows could wait for each other.
    """
    await take_advisory_lock(tx, _LOCK)


async def claim(
    tx: Tx, *, clock: Clock, lease: timedelta, limit: int, limiter: DeliveryLimiter
) -> list[ClaimedDelivery]:
    """Lease up to `limit` due deliveries, as many of each receiver as `limiter` allows.

    Deliveries whose last attempt was never settled become `failed`.
    """
    await lock(tx)
    now = clock()
    queues = await _due_deliveries(tx, now, min(limit, MAX_IN_FLIGHT))
    ids = choose_deliveries(queues, await _in_flight(tx, now), limit, limiter)
    if not ids:
        return []
    ended = {"status": "failed", "next_attempt_at": None, "leased_until": None, "error": _ENDED}
    await tx.execute(
        update(webhook_deliveries).where(_D.id.in_(ids), _D.attempts >= MAX_ATTEMPTS, _IS_OPEN).values(ended)
    )
    until = now + lease
    leased = (
        update(webhook_deliveries)
        .where(_D.id.in_(ids), _IS_OPEN)  # unless a deletion has cancelled it meanwhile
        .values(attempts=_D.attempts + 1, leased_until=until, next_attempt_at=until)
        .returning(_D.id, _D.webhook_id, _D.event, _D.body, _D.attempts, _D.created_at)
    )
    rows = (await tx.execute(leased)).all()
    return await _with_receivers(tx, rows, until)


async def settle(tx: Tx, outcomes: Sequence[DeliveryOutcome]) -> None:
    """An attempt that lost its lease, or was cancelled meanwhile, changes nothing."""
    await lock(tx)
    settled = [
        {
            "of": each.claimed.id,
            "lease": each.claimed.leased_until,
            "status": each.status,
            "attempts": each.claimed.attempt - (not each.counts),
            "next_attempt_at": each.next_attempt_at,
            "leased_until": None,
            "response_status": each.response_status,
            "error": each.error,
            "answer": each.answer,
        }
        for each in outcomes
    ]
    with_lease = (_D.id == bindparam("of"), _D.leased_until == bindparam("lease"), _IS_OPEN)
    await tx.execute(update(webhook_deliveries).where(*with_lease), settled)


async def _due_deliveries(tx: Tx, now: datetime, at_most: int) -> list[DueDeliveries]:
    """Subscriptions with due deliveries, and the first of these."""
    rows = await tx.execute(_QUEUES[tx.dialect.name], {"now": now, "at_most": at_most})
    return [DueDeliveries(_endpoint(row), (row.due or "").split()) for row in rows]


async def _in_flight(tx: Tx, now: datetime) -> Mapping[WebhookEndpoint, int]:
    """Attempts in progress in all workers, without those of deleted subscriptions."""
    rows = await tx.execute(_IN_FLIGHT, {"now": now})
    return {_endpoint(row): row.attempts for row in rows if row.url}


def _endpoint(row: Any) -> WebhookEndpoint:
    return WebhookEndpoint(row.webhook_id, row.account_id, _host(row.url))


@lru_cache(4_096)
def _host(url: str) -> str:
    return urlsplit(url).hostname or ""


async def _with_receivers(tx: Tx, rows: Sequence[Any], until: datetime) -> list[ClaimedDelivery]:
    c, ids = webhooks.c, {row.webhook_id for row in rows}
    found = await tx.execute(select(c.id.label("webhook_id"), c.account_id, c.url, c.secret).where(c.id.in_(ids)))
    receivers = {row.webhook_id: row for row in found}
    return [
        ClaimedDelivery(
            row.id, _endpoint(to), to.url, to.secret, row.event, row.body, row.attempts, row.created_at, until
        )
        for row in rows
        if (to := receivers.get(row.webhook_id))
    ]
