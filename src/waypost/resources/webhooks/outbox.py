"""Records deliveries in the transaction of their event: they exist if and only if it commits.

A delivery's id is derived from event and subscription, so that an event recorded twice has one delivery.
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
_AT_ONCE = 500  # rows

Listeners = Mapping[UUID, Sequence[UUID]]
"""By account, the ids of its subscriptions to an event type. Accounts without any are missing."""


@dataclass(frozen=True, slots=True)
class WebhookEvent:
    type: str
    account_id: UUID
    source: UUID
    """Unique among events of its type: the id of the link that was created, or of the click."""
    at: datetime
    data: Mapping[str, Any]


async def record(tx: Tx, event: WebhookEvent) -> None:
    """Record one event for all subscriptions to its type."""
    await record_all(tx, [event], await listeners(tx, event.type, {event.account_id}))


async def listeners(tx: Tx, event_type: str, accounts: Collection[UUID], *, hold: bool = True) -> Listeners:
    """`hold`: none can be deleted until the caller's transaction ends, so that a deletion finds what was recorded."""
    subscriptions = select(webhooks.c.id, webhooks.c.account_id, webhooks.c.event_types)
    subscriptions = subscriptions.where(webhooks.c.account_id.in_(accounts))
    found: dict[UUID, list[UUID]] = {}
    for row in await tx.execute(subscriptions.with_for_update(read=True, key_share=True) if hold else subscriptions):
        if event_type in row.event_types:
            found.setdefault(row.account_id, []).append(row.id)
    return found


async def record_all(tx: Tx, events: Iterable[WebhookEvent], to: Listeners) -> None:
    """Insert in groups, so that memory and pauses of the event loop do not grow with the number of events."""
    rows = (_row(event, webhook) for event in events for webhook in to.get(event.account_id, ()))
    while group := list(islice(rows, _AT_ONCE)):
        await bulk.insert(tx, webhook_deliveries, group, on_conflict="ON CONFLICT (id) DO NOTHING")


async def record_for(tx: Tx, event: WebhookEvent, webhook: UUID) -> UUID:
    """Record for one subscription, whatever it subscribes to. Returns the delivery's id."""
    await record_all(tx, [event], {event.account_id: [webhook]})
    return delivery_id(event.type, event.source, webhook)


def _row(event: WebhookEvent, webhook: UUID) -> bulk.BulkRow:
    id_, at = delivery_id(event.type, event.source, webhook), microseconds(event.at)
    known = (id_.bytes, event.account_id.bytes, webhook.bytes, event.type, envelope(id_, event))
    return (*known, "pending", 0, at, None, None, None, at, None)


def envelope(id_: UUID, event: WebhookEvent) -> str:
    """The body of every attempt; keys in the specification's order."""
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
    """A UUIDv7: the source's first 48 bits, which are its time, and a hash in place of the random bits."""
    digest = hashlib.sha256(event_type.encode() + source.bytes + webhook.bytes).digest()
    number = int.from_bytes(source.bytes[:6] + digest[:10])
    return UUID(int=number & ~(0xF << 76) & ~(0x3 << 62) | 0x7 << 76 | 0x2 << 62)
