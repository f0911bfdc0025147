"""SQL of subscriptions and of the delivery log. The queue's is in `queue`. What does not exist raises NotFound.

To write deliveries of a subscription, hold its row first: then a deletion finds all of them.
"""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, CursorResult, case, delete, func, insert, select, update

from waypost.database import Ciphertext, Tx
from waypost.kit.errors import NotFound
from waypost.kit.pagination import PageRequest
from waypost.resources.webhooks.model import Delivery, DeliveryFilter, Exchange, Webhook, webhook_deliveries, webhooks

CANCELLED_AT_ONCE = 1_000
_D = webhook_deliveries.c
_WEBHOOK = select(*(webhooks.c[name] for name in Webhook.__dataclass_fields__))
_NEXT = case((_D.leased_until.is_(None), _D.next_attempt_at)).label("next_attempt_at")
"""During an attempt the column holds the end of its lease, which is no next attempt."""
_DELIVERY = select(*(_NEXT if name == "next_attempt_at" else _D[name] for name in Delivery.__dataclass_fields__))


async def count(tx: Tx, account_id: UUID) -> int:
    counted = select(func.count()).select_from(webhooks).where(webhooks.c.account_id == account_id)
    return (await tx.execute(counted)).scalar_one()


async def add(tx: Tx, webhook: Webhook, secret: Ciphertext) -> None:
    await tx.execute(insert(webhooks), asdict(webhook) | {"secret": secret})


async def find(tx: Tx, account_id: UUID, webhook_id: UUID) -> Webhook:
    return Webhook(*_one(await tx.execute(_WEBHOOK.where(*_is(account_id, webhook_id)))))


async def hold(tx: Tx, account_id: UUID, webhook_id: UUID) -> Webhook:
    """It cannot be deleted until the transaction ends."""
    held = _WEBHOOK.where(*_is(account_id, webhook_id)).with_for_update(read=True, key_share=True)
    return Webhook(*_one(await tx.execute(held)))


async def page(tx: Tx, account_id: UUID, request: PageRequest) -> tuple[list[Webhook], int]:
    """(subscriptions of the page, total), newest first."""
    newest = _WEBHOOK.where(webhooks.c.account_id == account_id).order_by(
        webhooks.c.created_at.desc(), webhooks.c.id.desc()
    )
    rows = await tx.execute(newest.limit(request.per_page).offset(request.offset))
    return [Webhook(*row) for row in rows], await count(tx, account_id)


async def remove(tx: Tx, account_id: UUID, webhook_id: UUID) -> None:
    """Waits for transactions that hold it, so that `cancel` sees what they recorded."""
    if not (await tx.execute(delete(webhooks).where(*_is(account_id, webhook_id)))).rowcount:
        raise NotFound


async def cancel(tx: Tx, webhook_id: UUID) -> None:
    """Cancel attempts in progress, so that their outcomes are not saved, and pending deliveries.

    Of these at most CANCELLED_AT_ONCE: a million would block all other writers for a minute.
    """
    pending = (_D.webhook_id == webhook_id) & (_D.status == "pending")
    some = select(_D.id).where(pending).limit(CANCELLED_AT_ONCE)
    cancelled = update(webhook_deliveries).values(status="cancelled", next_attempt_at=None, leased_until=None)
    await tx.execute(cancelled.where(pending, _D.leased_until.is_not(None)))
    await tx.execute(cancelled.where(_D.id.in_(some)))


async def page_of_deliveries(
    tx: Tx, webhook_id: UUID, filters: DeliveryFilter, request: PageRequest
) -> tuple[list[Delivery], int]:
    """(deliveries of the page, total), newest first: an id begins with the event's time."""
    conditions = [_D.webhook_id == webhook_id]
    conditions += [_D[name] == value for name, value in asdict(filters).items() if value is not None]
    newest = _DELIVERY.where(*conditions).order_by(_D.id.desc()).limit(request.per_page).offset(request.offset)
    total = select(func.count()).select_from(webhook_deliveries).where(*conditions)
    return [Delivery(*row) for row in await tx.execute(newest)], (await tx.execute(total)).scalar_one()


async def log_before(
    tx: Tx, webhook_id: UUID, filters: DeliveryFilter, before: UUID | None, *, at_most: int, scan_at_most: int
) -> tuple[list[Delivery], UUID | None]:
    """(deliveries before `before`, newest first; the `before` of the next page, if there is one).

    Reads at most `scan_at_most` rows, so that a page with filters can have few or no deliveries and still a next page.
    """
    ids = select(_D.id, _D.status, _D.event).where(_D.webhook_id == webhook_id).order_by(_D.id.desc())
    ids = ids.where(_D.id < before) if before else ids
    chosen = {name: value for name, value in asdict(filters).items() if value is not None}
    window = (ids.limit(scan_at_most) if chosen else ids.limit(at_most + 1)).subquery()
    fitting = select(window.c.id).where(*(window.c[name] == value for name, value in chosen.items()))
    ids_of_page = list((await tx.execute(fitting.order_by(window.c.id.desc()).limit(at_most + 1))).scalars())
    # by their ids: in one statement SQLite would read all rows
    found = [Delivery(*row) for row in await tx.execute(_DELIVERY.where(_D.id.in_(ids_of_page)).order_by(_D.id.desc()))]
    if len(found) > at_most:
        return found[:at_most], found[at_most - 1].id
    last = ids.with_only_columns(_D.id).offset(scan_at_most - 1).limit(1)
    return found, (await tx.execute(last)).scalar_one_or_none() if chosen else None


async def latest(tx: Tx, webhook_ids: Sequence[UUID]) -> dict[UUID, Delivery]:
    """The newest delivery of each subscription that has any."""
    newest = select(_D.id).where(_D.webhook_id == webhooks.c.id).order_by(_D.id.desc()).limit(1).scalar_subquery()
    ids = await tx.execute(select(newest, webhooks.c.id).where(webhooks.c.id.in_(webhook_ids)))
    of = {delivery_id: webhook_id for delivery_id, webhook_id in ids if delivery_id}
    return {of[row[0]]: Delivery(*row) for row in await tx.execute(_DELIVERY.where(_D.id.in_(of)))}


async def exchange_of(tx: Tx, webhook_id: UUID, delivery_id: UUID) -> Exchange:
    return Exchange(*_one(await tx.execute(select(_D.body, _D.answer).where(*_is_delivery(webhook_id, delivery_id)))))


async def find_delivery(tx: Tx, webhook_id: UUID, delivery_id: UUID) -> Delivery:
    return Delivery(*_one(await tx.execute(_DELIVERY.where(*_is_delivery(webhook_id, delivery_id)))))


async def make_due(tx: Tx, webhook_id: UUID, delivery_id: UUID, now: datetime) -> None:
    """Restart a finished delivery, and make a waiting one due. One in progress, or due already, does not change."""
    one = update(webhook_deliveries).where(*_is_delivery(webhook_id, delivery_id))
    waits = (_D.status == "pending") & _D.leased_until.is_(None) & (_D.next_attempt_at > now)
    await tx.execute(one.where(waits).values(next_attempt_at=now))
    restarted = {"status": "pending", "attempts": 0, "next_attempt_at": now}
    restarted |= dict.fromkeys(("response_status", "error", "answer"))
    await tx.execute(one.where(_D.status != "pending").values(restarted))


def _is(account_id: UUID, webhook_id: UUID) -> Sequence[ColumnElement[bool]]:
    return webhooks.c.id == webhook_id, webhooks.c.account_id == account_id


def _is_delivery(webhook_id: UUID, delivery_id: UUID) -> Sequence[ColumnElement[bool]]:
    return _D.id == delivery_id, _D.webhook_id == webhook_id


def _one(found: CursorResult[Any]) -> Sequence[Any]:
    row = found.one_or_none()
    if row is None:
        raise NotFound
    return row
