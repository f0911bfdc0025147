"""The statements on subscriptions and on the log of their deliveries. The queue's own are in `delivery.queue`.

Whoever writes deliveries of a subscription holds its row before: then a deletion finds all of them.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, case, delete, func, insert, select, update

from waypost.database import Sealed, Tx
from waypost.kit.pagination import PageRequest
from waypost.resources.webhooks.model import Delivery, Exchange, Status, Webhook, webhook_deliveries, webhooks

CANCELLED_AT_ONCE = 1_000
_D = webhook_deliveries.c
_WEBHOOK = select(*(webhooks.c[name] for name in Webhook.__dataclass_fields__))
_NEXT = case((_D.leased_until.is_(None), _D.next_attempt_at)).label("next_attempt_at")
"""Of an attempt under way the table knows when it counts as given up, which is no next attempt."""
_DELIVERY = select(*(_NEXT if name == "next_attempt_at" else _D[name] for name in Delivery.__dataclass_fields__))


@dataclass(frozen=True, slots=True)
class DeliveryFilter:
    """Which of a subscription's deliveries a list is to hold; None leaves a question open."""

    status: Status | None = None
    event: str | None = None


async def count(tx: Tx, account_id: UUID) -> int:
    counted = select(func.count()).select_from(webhooks).where(webhooks.c.account_id == account_id)
    return (await tx.execute(counted)).scalar_one()


async def add(tx: Tx, webhook: Webhook, secret: Sealed) -> None:
    await tx.execute(insert(webhooks), asdict(webhook) | {"secret": secret})


async def find(tx: Tx, account_id: UUID, webhook_id: UUID) -> Webhook | None:
    return _webhook((await tx.execute(_WEBHOOK.where(*_is(account_id, webhook_id)))).one_or_none())


async def hold(tx: Tx, account_id: UUID, webhook_id: UUID) -> Webhook | None:
    """It cannot be deleted until the transaction ends."""
    held = _WEBHOOK.where(*_is(account_id, webhook_id)).with_for_update(read=True, key_share=True)
    return _webhook((await tx.execute(held)).one_or_none())


async def page(tx: Tx, account_id: UUID, request: PageRequest) -> tuple[list[Webhook], int]:
    """(subscriptions of the page, number of subscriptions on all pages), newest first."""
    newest = _WEBHOOK.where(webhooks.c.account_id == account_id).order_by(
        webhooks.c.created_at.desc(), webhooks.c.id.desc()
    )
    rows = await tx.execute(newest.limit(request.per_page).offset(request.offset))
    return [Webhook(*row) for row in rows], await count(tx, account_id)


async def remove(tx: Tx, account_id: UUID, webhook_id: UUID) -> bool:
    """False when it is not there. Waits for those who hold it, so that `cancel` sees what they recorded."""
    return (await tx.execute(delete(webhooks).where(*_is(account_id, webhook_id)))).rowcount > 0


async def cancel(tx: Tx, webhook_id: UUID) -> None:
    """Attempts under way, so that what comes of them is not noted any more, and what waits.

    Of these at most CANCELLED_AT_ONCE: a million would keep all others from writing for a minute.
    """
    pending = (_D.webhook_id == webhook_id) & (_D.status == "pending")
    some = select(_D.id).where(pending).limit(CANCELLED_AT_ONCE)
    cancelled = update(webhook_deliveries).values(status="cancelled", next_attempt_at=None, leased_until=None)
    await tx.execute(cancelled.where(pending, _D.leased_until.is_not(None)))
    await tx.execute(cancelled.where(_D.id.in_(some)))


async def page_of_deliveries(
    tx: Tx, webhook_id: UUID, wanted: DeliveryFilter, request: PageRequest
) -> tuple[list[Delivery], int]:
    """(deliveries of the page, number of deliveries on all pages), newest first: an id begins with the event's time."""
    conditions = [_D.webhook_id == webhook_id]
    conditions += [_D[name] == value for name, value in asdict(wanted).items() if value is not None]
    newest = _DELIVERY.where(*conditions).order_by(_D.id.desc()).limit(request.per_page).offset(request.offset)
    total = select(func.count()).select_from(webhook_deliveries).where(*conditions)
    return [Delivery(*row) for row in await tx.execute(newest)], (await tx.execute(total)).scalar_one()


async def log_before(
    tx: Tx, webhook_id: UUID, wanted: DeliveryFilter, before: UUID | None, *, at_most: int, among: int
) -> tuple[list[Delivery], UUID | None]:
    """(deliveries before `before`, newest first; before which one the next page begins, if there is more).

    Counts nothing and looks through `among` rows at most, so a page with filters can have few, or none, and a next.
    """
    ids = select(_D.id, _D.status, _D.event).where(_D.webhook_id == webhook_id).order_by(_D.id.desc())
    ids = ids.where(_D.id < before) if before else ids
    filters = {name: value for name, value in asdict(wanted).items() if value is not None}
    window = (ids.limit(among) if filters else ids.limit(at_most + 1)).subquery()
    fitting = select(window.c.id).where(*(window.c[name] == value for name, value in filters.items()))
    shown = list((await tx.execute(fitting.order_by(window.c.id.desc()).limit(at_most + 1))).scalars())
    # by their ids: in one statement SQLite would walk through all there are
    found = [Delivery(*row) for row in await tx.execute(_DELIVERY.where(_D.id.in_(shown)).order_by(_D.id.desc()))]
    if len(found) > at_most:
        return found[:at_most], found[at_most - 1].id
    last = ids.with_only_columns(_D.id).offset(among - 1).limit(1)
    return found, (await tx.execute(last)).scalar_one_or_none() if filters else None


async def latest(tx: Tx, webhook_ids: Sequence[UUID]) -> dict[UUID, Delivery]:
    """Of each subscription the newest delivery, if it has any."""
    newest = select(_D.id).where(_D.webhook_id == webhooks.c.id).order_by(_D.id.desc()).limit(1).scalar_subquery()
    ids = await tx.execute(select(newest, webhooks.c.id).where(webhooks.c.id.in_(webhook_ids)))
    of = {delivery_id: webhook_id for delivery_id, webhook_id in ids if delivery_id}
    return {of[row[0]]: Delivery(*row) for row in await tx.execute(_DELIVERY.where(_D.id.in_(of)))}


async def exchange_of(tx: Tx, webhook_id: UUID, delivery_id: UUID) -> Exchange | None:
    row = (await tx.execute(select(_D.body, _D.answer).where(*_is_delivery(webhook_id, delivery_id)))).one_or_none()
    return None if row is None else Exchange(*row)


async def find_delivery(tx: Tx, webhook_id: UUID, delivery_id: UUID) -> Delivery | None:
    row = (await tx.execute(_DELIVERY.where(*_is_delivery(webhook_id, delivery_id)))).one_or_none()
    return None if row is None else Delivery(*row)


async def make_due(tx: Tx, webhook_id: UUID, delivery_id: UUID, now: datetime) -> None:
    """A finished one begins anew, one that waits does so no longer; one under way, or due already, stays as it is."""
    one = update(webhook_deliveries).where(*_is_delivery(webhook_id, delivery_id))
    waits = (_D.status == "pending") & _D.leased_until.is_(None) & (_D.next_attempt_at > now)
    await tx.execute(one.where(waits).values(next_attempt_at=now))
    anew = {"status": "pending", "attempts": 0, "next_attempt_at": now}
    anew |= dict.fromkeys(("response_status", "error", "answer"))
    await tx.execute(one.where(_D.status != "pending").values(anew))


def _is(account_id: UUID, webhook_id: UUID) -> Sequence[ColumnElement[bool]]:
    return webhooks.c.id == webhook_id, webhooks.c.account_id == account_id


def _is_delivery(webhook_id: UUID, delivery_id: UUID) -> Sequence[ColumnElement[bool]]:
    return _D.id == delivery_id, _D.webhook_id == webhook_id


def _webhook(row: Sequence[Any] | None) -> Webhook | None:
    return None if row is None else Webhook(*row)
