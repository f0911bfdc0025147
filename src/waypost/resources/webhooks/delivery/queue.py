"""The queue's statements. Claim under a lease, counting the attempt before anything is sent; settle afterwards.

Refuses to lose a delivery: of a process that dies the lease runs out, and the next claim takes it again. Each
subscription is a queue of its own: a claim steps from one to the next by index, so that neither a million deliveries to
one of them nor a receiver that hangs costs the others anything.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice, zip_longest
from typing import Any
from uuid import UUID

from sqlalchemy import Integer, bindparam, select, text, update

from waypost.database import Id, Instant, Tx, take
from waypost.database.secrets import Sealed
from waypost.kit.clock import Clock
from waypost.resources.webhooks.delivery.pace import MOST, Pace
from waypost.resources.webhooks.model import Status, webhook_deliveries, webhooks

MAX_ATTEMPTS = 5
UNPROVED_AT_MOST = 128
"""Half of the places there are: see `pace`."""
_D = webhook_deliveries.c
# Not `status = 'pending'`: for rows that are known by their ids PostgreSQL might then rather walk the index of all that
# is pending, as long as it does not know how much that is.
_IS_OPEN = text("status NOT IN ('delivered', 'failed', 'cancelled')")
_LOCK = 0x776562686F6F6B  # "webhook"

# ruff: noqa: S608  # put together from the texts below alone
# in the order of the index of what is pending: SQLite would else take that of the log, which has the column, too
_SUBSCRIPTIONS = (
    "WITH RECURSIVE queue (webhook_id) AS (SELECT (SELECT webhook_id FROM webhook_deliveries"
    " WHERE status = 'pending' ORDER BY webhook_id, next_attempt_at LIMIT 1) UNION ALL"
    " SELECT (SELECT d.webhook_id FROM webhook_deliveries AS d WHERE d.status = 'pending'"
    " AND d.webhook_id > queue.webhook_id ORDER BY d.webhook_id, d.next_attempt_at LIMIT 1)"
    " FROM queue WHERE webhook_id IS NOT NULL)"
)
_DUE_OF_QUEUE = (
    "FROM webhook_deliveries AS d WHERE d.status = 'pending' AND d.webhook_id = queue.webhook_id"
    " AND d.next_attempt_at <= :now"
)
_DUE = f"SELECT d.id {_DUE_OF_QUEUE} ORDER BY d.next_attempt_at LIMIT :at_most"
_UNDER_WAY = (
    "SELECT count(*) FROM webhook_deliveries AS d WHERE d.webhook_id = queue.webhook_id AND d.leased_until > :now"
)
_AS_LIST = {
    "sqlite": f"SELECT group_concat(hex(id), ' ') FROM ({_DUE})",
    "postgresql": f"array_to_string(ARRAY({_DUE}), ' ')",
}
_QUEUES = {
    dialect: text(
        f"{_SUBSCRIPTIONS} SELECT webhook_id, ({_UNDER_WAY}) AS under_way, ({due}) AS due"
        # not EXISTS, and in order: otherwise PostgreSQL may walk through the table
        f" FROM queue WHERE (SELECT TRUE {_DUE_OF_QUEUE} ORDER BY d.next_attempt_at LIMIT 1)"
        " AND (SELECT TRUE FROM webhooks WHERE webhooks.id = queue.webhook_id)"
    )
    .bindparams(bindparam("now", type_=Instant), bindparam("at_most", type_=Integer))
    .columns(webhook_id=Id)
    for dialect, due in _AS_LIST.items()
}
_ORPHANED = text(
    f"{_SUBSCRIPTIONS} SELECT webhook_id FROM queue WHERE webhook_id IS NOT NULL"
    " AND NOT EXISTS (SELECT 1 FROM webhooks WHERE webhooks.id = queue.webhook_id) LIMIT 1"
).columns(webhook_id=Id)


@dataclass(frozen=True, slots=True)
class Claimed:
    """A delivery with an attempt under way."""

    id: UUID
    webhook_id: UUID
    url: str
    secret: Sealed
    event: str
    body: str
    attempt: int
    """1 for the first."""
    created_at: datetime
    leased_until: datetime
    """Whoever settles must still have this lease."""


@dataclass(frozen=True, slots=True)
class Settled:
    """What came of an attempt."""

    claimed: Claimed
    status: Status
    next_attempt_at: datetime | None = None
    response_status: int | None = None
    error: str | None = None
    answer: str | None = None
    """The start of what the receiver said."""
    counts: bool = True
    """False when nothing was sent: then it was no attempt."""


@dataclass(frozen=True, slots=True)
class _Queue:
    webhook_id: UUID
    under_way: int
    due: Sequence[str]
    """Ids, of which only those that are claimed are worth reading."""


async def is_due(tx: Tx, now: datetime, pace: Pace) -> bool:
    """Whether a claim would get anything. Takes no write lock, and mostly there is nothing to do."""
    return bool(_shared(await _queues(tx, now, 1), 1, pace))


async def orphaned(tx: Tx) -> UUID | None:
    """A subscription that is gone and has deliveries pending."""
    return (await tx.execute(_ORPHANED)).scalar_one_or_none()


async def lock(tx: Tx) -> None:
    """For whoever changes several deliveries at once, before the first: until the transaction ends, nobody else does.

    Otherwise two claims could fill the same place, and two that change the same rows could wait for each other.
    """
    await take(tx, _LOCK)


async def claim(tx: Tx, *, clock: Clock, lease: timedelta, room: int, pace: Pace) -> list[Claimed]:
    """Leases up to `room` deliveries that are due, and of each subscription as many as its pace allows.

    Deliveries of which the last attempt was never settled become `failed`. The caller holds `lock`.
    """
    now = clock()
    ids = _shared(await _queues(tx, now, min(room, MOST)), room, pace)
    if not ids:
        return []
    await tx.execute(_given_up(ids))
    until = now + lease
    leased = (
        update(webhook_deliveries)
        .where(_D.id.in_(ids), _IS_OPEN)  # not one that a deletion has cancelled meanwhile
        .values(attempts=_D.attempts + 1, leased_until=until, next_attempt_at=until)
        .returning(_D.id, _D.webhook_id, _D.event, _D.body, _D.attempts, _D.created_at)
    )
    rows = (await tx.execute(leased)).all()
    return await _with_receivers(tx, rows, until)


async def settle(tx: Tx, outcomes: Sequence[Settled]) -> None:
    """Whoever lost the lease, or was cancelled meanwhile, changes nothing."""
    statement = (
        update(webhook_deliveries)
        .where(_D.id == bindparam("of"), _D.leased_until == bindparam("lease"), _IS_OPEN)
        .values(
            status=bindparam("new_status"),
            attempts=bindparam("counted"),
            next_attempt_at=bindparam("next"),
            leased_until=None,
            response_status=bindparam("response"),
            error=bindparam("reason"),
            answer=bindparam("said"),
        )
    )
    await tx.execute(
        statement,
        [
            {
                "of": each.claimed.id,
                "lease": each.claimed.leased_until,
                "new_status": each.status,
                "counted": each.claimed.attempt - (not each.counts),
                "next": each.next_attempt_at,
                "response": each.response_status,
                "reason": each.error,
                "said": each.answer,
            }
            for each in outcomes
        ],
    )


async def _queues(tx: Tx, now: datetime, at_most: int) -> list[_Queue]:
    """Those with anything due, and the first deliveries of each."""
    rows = await tx.execute(_QUEUES[tx.dialect.name], {"now": now, "at_most": at_most})
    return [_Queue(row.webhook_id, row.under_way, (row.due or "").split()) for row in rows]


def _shared(queues: Iterable[_Queue], room: int, pace: Pace) -> list[UUID]:
    """First those that succeed, then the others in what is left of their half."""
    proved, unproved = list[_Queue](), list[_Queue]()
    for queue in queues:
        (proved if pace.is_proved(queue.webhook_id) else unproved).append(queue)
    half = UNPROVED_AT_MOST - sum(queue.under_way for queue in unproved)
    ids = list(islice(_turns(proved, pace), room))
    return ids + list(islice(_turns(unproved, pace), max(0, min(half, room - len(ids)))))


def _turns(queues: Sequence[_Queue], pace: Pace) -> Iterator[UUID]:
    """One of each in turn, beginning with those that have the fewest under way; of these, with who waits longest."""
    ordered = sorted(queues, key=lambda queue: (queue.under_way, pace.last_turn(queue.webhook_id)))
    wanted = [queue.due[: max(0, pace.allows(queue.webhook_id) - queue.under_way)] for queue in ordered]
    return (UUID(each) for turn in zip_longest(*wanted) for each in turn if each)


def _given_up(ids: Sequence[UUID]) -> Any:
    return (
        update(webhook_deliveries)
        .where(_D.id.in_(ids), _D.attempts >= MAX_ATTEMPTS, _IS_OPEN)
        .values(
            status="failed", next_attempt_at=None, leased_until=None, error="the process ended during the last attempt"
        )
    )


async def _with_receivers(tx: Tx, rows: Sequence[Any], until: datetime) -> list[Claimed]:
    ids = {row.webhook_id for row in rows}
    found = await tx.execute(select(webhooks.c.id, webhooks.c.url, webhooks.c.secret).where(webhooks.c.id.in_(ids)))
    receivers = {row.id: row for row in found}
    return [
        Claimed(row.id, row.webhook_id, to.url, to.secret, row.event, row.body, row.attempts, row.created_at, until)
        for row in rows
        if (to := receivers.get(row.webhook_id))
    ]
