"""Webhooks and their deliveries. The table of deliveries is the outbox, the queue and the log."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal
from urllib.parse import urlsplit
from uuid import UUID

from sqlalchemy import Column, Index, Integer, SmallInteger, Table, Text

from waypost.database import Encrypted, Id, Instant, Json, metadata, only_where

EventType = Literal["link.created", "link.clicked", "pixel.fired"]
TEST: Final = "webhook.test"
"""The event of a test delivery. A webhook cannot subscribe to it."""
DeliveryEventType = Literal[EventType, "webhook.test"]

DeliveryStatus = Literal["pending", "delivered", "failed", "cancelled"]
MAX_ATTEMPTS = 5

webhooks = Table(
    "webhooks",
    metadata,
    Column("id", Id, primary_key=True),
    Column("account_id", Id, nullable=False),
    Column("url", Text, nullable=False),
    Column("event_types", Json, nullable=False),
    Column("secret", Encrypted, nullable=False),
    Column("created_at", Instant, nullable=False),
    Column("updated_at", Instant, nullable=False),
)
Index("ix_webhooks_account", webhooks.c.account_id, webhooks.c.id)

webhook_deliveries = Table(
    "webhook_deliveries",
    metadata,
    Column("id", Id, primary_key=True),  # begins with the event's time, so that rows are appended to every index
    Column("account_id", Id, nullable=False),
    Column("webhook_id", Id, nullable=False),  # no foreign key: deliveries remain for a while after a deletion
    Column("event", Text, nullable=False),
    Column("body", Text, nullable=False),  # every attempt sends exactly these characters, in UTF-8
    Column("status", Text, nullable=False),
    Column("attempts", SmallInteger, nullable=False),  # started
    Column("next_attempt_at", Instant),  # while it is pending; during an attempt, when its lease expires
    Column("leased_until", Instant),  # during an attempt
    Column("response_status", Integer),
    Column("error", Text),
    Column("created_at", Instant, nullable=False),  # of the event
    Column("response_body", Text),  # the printable start of the latest one; null if there was none
)
_PENDING = webhook_deliveries.c.status == "pending"
_LEASED = webhook_deliveries.c.leased_until.is_not(None)
Index(
    "ix_webhook_deliveries_pending",
    *webhook_deliveries.c["webhook_id", "next_attempt_at", "id"],
    **only_where(_PENDING),
)
Index("ix_webhook_deliveries_leased", webhook_deliveries.c.webhook_id, **only_where(_LEASED))
# with the columns that the list filters by, so that it is counted without reading bodies
Index("ix_webhook_deliveries_log", *(webhook_deliveries.c[name] for name in ("webhook_id", "id", "status", "event")))


@dataclass(frozen=True, slots=True)
class Webhook:
    """An account's URL that receives events. Its secret is shown once, and otherwise decrypted only to sign."""

    id: UUID
    account_id: UUID
    url: str
    event_types: list[EventType]
    created_at: datetime
    updated_at: datetime

    @property
    def host(self) -> str:
        """For members who cannot change webhooks: the rest of a URL can contain a token."""
        return urlsplit(self.url).hostname or ""


@dataclass(frozen=True, slots=True)
class Delivery:
    """A row of the delivery log."""

    id: UUID
    event: str
    status: DeliveryStatus
    attempts: int
    next_attempt_at: datetime | None
    response_status: int | None
    error: str | None
    created_at: datetime


@dataclass(frozen=True, slots=True)
class DeliveryFilter:
    status: DeliveryStatus | None = None
    event: str | None = None
    """None: all statuses, or all events."""


@dataclass(frozen=True, slots=True)
class DeliveryBodies:
    """Request and response body of a delivery. They are too long for lists."""

    request_body: str
    """Sent unchanged by every attempt."""
    response_body: str | None
    """The start of the latest response body; None if there was none."""
