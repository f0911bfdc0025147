"""Records deliveries in the transaction of their event: they exist if and only if it commits.

A delivery's id is derived from event and webhook, so that an event recorded twice has one delivery.
"""

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any
from uuid import UUID

from sqlalchemy import select

from waypost.database import Tx, bulk
from waypost.kit.clock import microseconds
from waypost.resources.webhooks.model import webhook_deliveries, webhooks

API_VERSION = "v1"
_BATCH_SIZE = 500

WebhookIdsByAccount = Mapping[UUID, Sequence[UUID]]
"""Accounts without webhooks for an event type are missing."""


@dataclass(frozen=True, slots=True)
class WebhookEvent:
    type: str
    account_id: UUID
    source: UUID
    """Unique among events of its type: the id of the link that was created, or of the click."""
    at: datetime
    data: Mapping[str, Any]


async def record(tx: Tx, event: WebhookEvent) -> None:
    """Record one event for all webhooks that subscribe to its type."""
    await record_all(tx, [event], await find_subscribed_webhooks(tx, event.type, {event.account_id}))


async def find_subscribed_webhooks(
    tx: Tx, event_type: str, accounts: Collection[UUID], *, lock: bool = True
) -> WebhookIdsByAccount:
    """`lock`: keep the webhooks from being deleted until the transaction ends, so that a deletion finds the events."""
    query = select(webhooks.c.id, webhooks.c.account_id, webhooks.c.event_types)
    query = query.where(webhooks.c.account_id.in_(accounts))
    ids: dict[UUID, list[UUID]] = {}
    for row in await tx.execute(query.with_for_update(read=True, key_share=True) if lock else query):
        if event_type in row.event_types:
            ids.setdefault(row.account_id, []).append(row.id)
    return ids


async def record_all(tx: Tx, events: Iterable[WebhookEvent], webhook_ids: WebhookIdsByAccount) -> None:
    """Insert in batches, so that memory and pauses of the event loop do not grow with the number of events."""
    rows = (_row(event, webhook) for event in events for webhook in webhook_ids.get(event.account_id, ()))
    while batch := list(islice(rows, _BATCH_SIZE)):
        await bulk.insert(tx, webhook_deliveries, batch, on_conflict="ON CONFLICT (id) DO NOTHING")


async def record_for(tx: Tx, event: WebhookEvent, webhook: UUID) -> UUID:
    """Record for one webhook, whatever it subscribes to. Return the delivery's id."""
    await record_all(tx, [event], {event.account_id: [webhook]})
    return delivery_id(event.type, event.source, webhook)


def _row(event: WebhookEvent, webhook: UUID) -> bulk.BulkRow:
    id_, at = delivery_id(event.type, event.source, webhook), microseconds(event.at)
    first = (id_.bytes, event.account_id.bytes, webhook.bytes, event.type, build_payload(id_, event))
    return (*first, "pending", 0, at, None, None, None, at, None)  # the other columns, due now, without a result


def build_payload(id_: UUID, event: WebhookEvent) -> str:
    """Return the body of every attempt; keys in the documented order."""
    body = {
        "id": str(id_),
        "api_version": API_VERSION,
        "event": event.type,
        "created_at": event.at.strftime("%Y-%m-%dT%H:%M:%S+00:00"),
        "data": event.data,
    }
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    return text.encode(errors="backslashreplace").decode()  # a lone surrogate has no UTF-8 form, but JSON can escape it


def delivery_id(event_type: str, source: UUID, webhook: UUID) -> UUID:
    """Return a UUIDv7: the source's first 48 bits, which are its time, and a hash in place of the random bits."""
    digest = hashlib.sha256(event_type.encode() + source.bytes + webhook.bytes).digest()
    number = int.from_bytes(source.bytes[:6] + digest[:10])
    return UUID(int=number & ~(0xF << 76) & ~(0x3 << 62) | 0x7 << 76 | 0x2 << 62)
