"""Subscriptions and deliveries inserted directly, and receivers with scripted responses."""

import asyncio
import itertools
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

from people import START, FakeClock
from sqlalchemy import insert, select

from waypost.database import Database, KeyRing
from waypost.kit.ids import new_id
from waypost.kit.urls import Url
from waypost.outbound import OutboundResponse
from waypost.resources.webhooks import WebhookEvent, queue, store
from waypost.resources.webhooks.deliverer import Deliverer
from waypost.resources.webhooks.delivery_limiter import DeliveryLimiter, WebhookReceiver
from waypost.resources.webhooks.model import webhook_deliveries, webhooks
from waypost.resources.webhooks.outbox import delivery_id, record_all
from waypost.worker.loop import WorkerLoop

KEYS = KeyRing(["the key of these tests"])
BACKOFF = (10, 30, 60, 300)
HANGS = "hangs"
"""A receiver's turn that does not end before `Receivers.let_go`."""
Turn = int | bytes | tuple[int, bytes] | str | Exception


@dataclass(frozen=True)
class Subscription:
    receiver: WebhookReceiver
    secret: str

    @property
    def id(self) -> UUID:
        return self.receiver.webhook_id

    @property
    def account_id(self) -> UUID:
        return self.receiver.account_id


async def subscribe(
    db: Database,
    host: str = "receiver.example",
    *,
    account_id: UUID | None = None,
    events: Sequence[str] = ("link.created", "link.clicked"),
    url: str = "",
    keys: KeyRing = KEYS,
) -> Subscription:
    url = url or f"https://{host}/hook"
    made = Subscription(
        WebhookReceiver(new_id(), account_id or new_id(), urlsplit(url).hostname or ""), f"whsec_{host}"
    )
    row = {
        "id": made.id,
        "account_id": made.account_id,
        "url": url,
        "event_types": list(events),
        "secret": keys.encrypt(webhooks.c.secret, made.id, made.secret),
        "created_at": START,
        "updated_at": START,
    }
    async with db.write() as tx:
        await tx.execute(insert(webhooks), row)
    return made


async def unsubscribe(db: Database, subscription: Subscription) -> None:
    async with db.write() as tx:
        await store.delete_webhook(tx, subscription.account_id, subscription.id)
        await queue.lock_deliveries(tx)
        await store.cancel_deliveries(tx, subscription.id)


async def queue_up(db: Database, to: Subscription, count: int = 1, *, at: datetime = START) -> list[UUID]:
    """Ids of that many deliveries, due at `at`."""
    events = [WebhookEvent("link.clicked", to.account_id, new_id(), at, {"number": number}) for number in range(count)]
    async with db.write() as tx:
        await record_all(tx, events, {to.account_id: [to.id]})
    return [delivery_id(event.type, event.source, to.id) for event in events]


async def deliveries(db: Database) -> list[Any]:
    async with db.read() as tx:
        return list(await tx.execute(select(webhook_deliveries).order_by(webhook_deliveries.c.id)))


async def delivery(db: Database) -> Any:
    """The only one."""
    (row,) = await deliveries(db)
    return row


@dataclass(frozen=True)
class Sent:
    host: str
    headers: Mapping[str, str]
    body: bytes
    deadline: float
    max_body: int

    @property
    def id(self) -> UUID:
        return UUID(json.loads(self.body)["id"])


class Receivers:
    """In place of the Poster. Each host takes its turns one after the other, and the last one stays."""

    def __init__(self) -> None:
        self.sent: list[Sent] = []
        self.hanging: set[UUID] = set()
        self._turns: dict[str, list[Turn]] = defaultdict(lambda: [200])
        self._let_go = asyncio.Event()

    def will(self, host: str, *turns: Turn) -> None:
        """OutboundResponse with a status, with 500 and a body, with both, hang, or raise."""
        self._turns[host] = list(turns)

    def let_go(self) -> None:
        self._let_go.set()

    def hosts(self) -> list[str]:
        """In the order of what was sent."""
        return [each.host for each in self.sent]

    async def __call__(
        self, url: Url, *, headers: Mapping[str, str], body: bytes, deadline: float, max_body: int
    ) -> OutboundResponse:
        sent = Sent(urlsplit(url.text).netloc, dict(headers), body, deadline, max_body)
        self.sent.append(sent)
        turns = self._turns[sent.host]
        turn = turns.pop(0) if len(turns) > 1 else turns[0]
        if turn == HANGS:
            self.hanging.add(sent.id)
            await self._let_go.wait()
            self.hanging.discard(sent.id)
        if isinstance(turn, Exception):
            raise turn
        status = turn if isinstance(turn, int) else 200 if turn == HANGS else 500
        status, said = turn if isinstance(turn, tuple) else (status, turn if isinstance(turn, bytes) else b"")
        return OutboundResponse(status, {}, said, url)


def new_deliverer(receivers: Receivers, clock: FakeClock, keys: KeyRing = KEYS, *, timeout: float = 10) -> Deliverer:
    """Without a rate: a second passes whenever it is looked at."""
    limiter = DeliveryLimiter(monotonic=itertools.count().__next__)
    return Deliverer(receivers, keys, clock=clock, timeout=timeout, backoff=BACKOFF, limiter=limiter)


def new_loop(
    db: Database, receivers: Receivers, clock: FakeClock, *, keys: KeyRing = KEYS, max_concurrent: int = 256
) -> WorkerLoop[Any, Any]:
    deliverer = new_deliverer(receivers, clock, keys)
    deliverer.max_concurrent = max_concurrent
    return WorkerLoop(db, deliverer)


async def deliver(loop: WorkerLoop[Any, Any]) -> None:
    """All that is due, and the outcomes are settled."""
    while await loop.step():
        pass
