"""SQL of webhooks and of the delivery log. The SQL of the queue is in `queue`.

Before you write deliveries of a webhook, lock its row: then a deletion finds all of them.
"""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, case, delete, func, insert, select, union_all, update

from waypost.database import Ciphertext, Tx
from waypost.kit.errors import NotFound, or_not_found
from waypost.kit.pagination import PageRequest
from waypost.resources.webhooks.model import (
    Delivery,
    DeliveryBodies,
    DeliveryFilter,
    Webhook,
    webhook_deliveries,
    webhooks,
)

CANCEL_BATCH_SIZE = 1_000
_deliveries = webhook_deliveries.c
_WEBHOOK_QUERY = select(*(webhooks.c[name] for name in Webhook.__dataclass_fields__))
_NEXT_ATTEMPT_AT = case((_deliveries.leased_until.is_(None), _deliveries.next_attempt_at)).label("next_attempt_at")
"""During an attempt the column holds the end of its lease, which is not the next attempt."""
_DELIVERY_QUERY = select(
    *(_NEXT_ATTEMPT_AT if name == "next_attempt_at" else _deliveries[name] for name in Delivery.__dataclass_fields__)
)


async def count(tx: Tx, account_id: UUID) -> int:
    query = select(func.count()).select_from(webhooks).where(webhooks.c.account_id == account_id)
    return (await tx.execute(query)).scalar_one()


async def add(tx: Tx, webhook: Webhook, secret: Ciphertext) -> None:
    await tx.execute(insert(webhooks), asdict(webhook) | {"secret": secret})


async def get(tx: Tx, account_id: UUID, webhook_id: UUID) -> Webhook:
    """Raises NotFound."""
    rows = await tx.execute(_WEBHOOK_QUERY.where(*_match(account_id, webhook_id)))
    return Webhook(*or_not_found(rows.one_or_none()))


async def lock(tx: Tx, account_id: UUID, webhook_id: UUID) -> Webhook:
    """Return the webhook, which cannot be deleted until the transaction ends. Raises NotFound."""
    query = _WEBHOOK_QUERY.where(*_match(account_id, webhook_id)).with_for_update(read=True, key_share=True)
    return or_not_found(await tx.find(Webhook, query))


async def list_page(tx: Tx, account_id: UUID, request: PageRequest) -> tuple[list[Webhook], int]:
    """Return the webhooks of the page, newest first, and their total."""
    query = _WEBHOOK_QUERY.where(webhooks.c.account_id == account_id)
    query = query.order_by(webhooks.c.created_at.desc(), webhooks.c.id.desc())
    rows = await tx.execute(query.limit(request.per_page).offset(request.offset))
    return [Webhook(*row) for row in rows], await count(tx, account_id)


async def delete_webhook(tx: Tx, account_id: UUID, webhook_id: UUID) -> None:
    """Wait for transactions that lock it, so that `cancel_deliveries` sees what they recorded. Raises NotFound."""
    if not (await tx.execute(delete(webhooks).where(*_match(account_id, webhook_id)))).rowcount:
        raise NotFound


async def cancel_deliveries(tx: Tx, webhook_id: UUID) -> None:
    """Cancel attempts in progress, so that their outcomes are not saved, and pending deliveries.

    Cancels at most CANCEL_BATCH_SIZE of the pending ones: a million would block all other writers for a minute.
    """
    pending = (_deliveries.webhook_id == webhook_id) & (_deliveries.status == "pending")
    batch = select(_deliveries.id).where(pending).limit(CANCEL_BATCH_SIZE)
    statement = update(webhook_deliveries).values(status="cancelled", next_attempt_at=None, leased_until=None)
    await tx.execute(statement.where(pending, _deliveries.leased_until.is_not(None)))
    await tx.execute(statement.where(_deliveries.id.in_(batch)))


async def list_deliveries_page(
    tx: Tx, webhook_id: UUID, filters: DeliveryFilter, request: PageRequest
) -> tuple[list[Delivery], int]:
    """Return the deliveries of the page, newest first, and their total. An id begins with the event's time."""
    conditions = [_deliveries.webhook_id == webhook_id]
    conditions += [_deliveries[name] == value for name, value in asdict(filters).items() if value is not None]
    query = _DELIVERY_QUERY.where(*conditions).order_by(_deliveries.id.desc())
    rows = await tx.execute(query.limit(request.per_page).offset(request.offset))
    total = select(func.count()).select_from(webhook_deliveries).where(*conditions)
    return [Delivery(*row) for row in rows], (await tx.execute(total)).scalar_one()


async def list_deliveries_before(
    tx: Tx, webhook_id: UUID, filters: DeliveryFilter, before: UUID | None, *, limit: int, max_scanned: int
) -> tuple[list[Delivery], UUID | None]:
    """Return deliveries before `before`, newest first, and the `before` of the next page if there is one.

    Reads at most `max_scanned` rows, so that a page with filters can have few or no deliveries and still a next page.
    """
    query = select(_deliveries.id, _deliveries.status, _deliveries.event).where(_deliveries.webhook_id == webhook_id)
    query = query.where(_deliveries.id < before) if before else query
    query = query.order_by(_deliveries.id.desc())
    values = {name: value for name, value in asdict(filters).items() if value is not None}
    window = query.limit(max_scanned if values else limit + 1).subquery()
    matching = select(window.c.id).where(*(window.c[name] == value for name, value in values.items()))
    page_ids = list((await tx.execute(matching.order_by(window.c.id.desc()).limit(limit + 1))).scalars())
    # by their ids: in one statement SQLite would read all rows
    rows = await tx.execute(_DELIVERY_QUERY.where(_deliveries.id.in_(page_ids)).order_by(_deliveries.id.desc()))
    deliveries = [Delivery(*row) for row in rows]
    if len(deliveries) > limit:
        return deliveries[:limit], deliveries[limit - 1].id
    last_scanned = query.with_only_columns(_deliveries.id).offset(max_scanned - 1).limit(1)
    return deliveries, (await tx.execute(last_scanned)).scalar_one_or_none() if values else None


async def find_newest_deliveries(tx: Tx, webhook_ids: Sequence[UUID], count: int) -> dict[UUID, list[Delivery]]:
    """Return up to `count` deliveries of each webhook, newest first."""
    newest: dict[UUID, list[Delivery]] = {id_: [] for id_ in webhook_ids}
    ids = select(_deliveries.id).order_by(_deliveries.id.desc()).limit(count)
    each = [select(ids.where(_deliveries.webhook_id == id_).subquery()) for id_ in webhook_ids]
    if each:
        query = _DELIVERY_QUERY.add_columns(_deliveries.webhook_id).where(_deliveries.id.in_(union_all(*each)))
        for *row, webhook_id in await tx.execute(query.order_by(_deliveries.id.desc())):
            newest[webhook_id].append(Delivery(*row))
    return newest


async def get_bodies(tx: Tx, webhook_id: UUID, delivery_id: UUID) -> DeliveryBodies:
    """Raises NotFound."""
    query = select(_deliveries.body, _deliveries.response_body).where(*_match_delivery(webhook_id, delivery_id))
    return or_not_found(await tx.find(DeliveryBodies, query))


async def get_delivery(tx: Tx, webhook_id: UUID, delivery_id: UUID) -> Delivery:
    """Raises NotFound."""
    query = _DELIVERY_QUERY.where(*_match_delivery(webhook_id, delivery_id))
    return or_not_found(await tx.find(Delivery, query))


async def make_due(tx: Tx, webhook_id: UUID, delivery_id: UUID, now: datetime) -> None:
    """Restart a finished delivery, or make a pending one due. One in progress, or due already, does not change."""
    statement = update(webhook_deliveries).where(*_match_delivery(webhook_id, delivery_id))
    is_waiting = _deliveries.leased_until.is_(None) & (_deliveries.next_attempt_at > now)
    await tx.execute(statement.where(_deliveries.status == "pending", is_waiting).values(next_attempt_at=now))
    restarted = {"status": "pending", "attempts": 0, "next_attempt_at": now}
    restarted |= dict.fromkeys(("response_status", "error", "response_body"))
    await tx.execute(statement.where(_deliveries.status != "pending").values(restarted))


async def end_deliveries(tx: Tx, webhook_id: UUID, **result: Any) -> None:
    """Give deliveries a result in the transaction that records them: those of `waypost demo` are never sent."""
    of_webhook = update(webhook_deliveries).where(_deliveries.webhook_id == webhook_id)
    await tx.execute(of_webhook.values(**result, next_attempt_at=None))


def _match(account_id: UUID, webhook_id: UUID) -> Sequence[ColumnElement[bool]]:
    return webhooks.c.id == webhook_id, webhooks.c.account_id == account_id


def _match_delivery(webhook_id: UUID, delivery_id: UUID) -> Sequence[ColumnElement[bool]]:
    return _deliveries.id == delivery_id, _deliveries.webhook_id == webhook_id
