"""Delivers events: claims deliveries, signs and sends each, and decides what follows from the answer."""

from collections.abc import Sequence
from datetime import timedelta
from functools import lru_cache

import structlog

from waypost.database import DecryptionFailed, KeyRing, Tx
from waypost.kit.clock import Clock
from waypost.kit.signing import signature
from waypost.kit.urls import BadUrl, canonical
from waypost.outbound import NotPublic, OutboundResponse, Post, Unreachable
from waypost.resources.webhooks import metrics, queue
from waypost.resources.webhooks.delivery_limiter import DeliveryLimiter
from waypost.resources.webhooks.model import MAX_ATTEMPTS, webhooks
from waypost.resources.webhooks.queue import ClaimedDelivery, DeliveryOutcome
from waypost.worker.loop import SHUTDOWN_TIMEOUT, QueueWorker

MAX_ANSWER = 65_536
"""Bytes; an answer must end within them."""
_KEPT = 1_000
"""Characters of an answer that the log keeps."""
_MARGIN = 20.0  # seconds by which a lease outlasts an attempt: to settle it, even after a short outage
_POSTPONED = timedelta(minutes=1)

_read = lru_cache(4_096)(canonical)
"""A tenth of an attempt's time went into reading the same few URLs."""

log = structlog.get_logger(__name__)


class Deliverer(QueueWorker[ClaimedDelivery, DeliveryOutcome]):
    name = "webhook deliveries"
    max_concurrent = 256

    def __init__(
        self,
        post: Post,
        keys: KeyRing,
        *,
        clock: Clock,
        timeout: float,
        backoff: Sequence[float],
        limiter: DeliveryLimiter | None = None,
    ) -> None:
        """`timeout`: seconds for one attempt; `backoff`: seconds after the first attempts but the last."""
        self._post = post
        self._keys = keys
        self._clock = clock
        self._timeout = timeout
        self.shutdown_timeout = min(timeout + 1, SHUTDOWN_TIMEOUT)
        self._lease = timedelta(seconds=timeout + _MARGIN)
        self._backoff = backoff
        self._limiter = limiter or DeliveryLimiter()
        self._has_logged_keys = False

    async def is_due(self, tx: Tx) -> bool:
        return await queue.is_due(tx, self._clock(), self._limiter)

    async def claim(self, tx: Tx, free_slots: int) -> list[ClaimedDelivery]:
        return await queue.claim(tx, clock=self._clock, lease=self._lease, limit=free_slots, limiter=self._limiter)

    async def settle(self, tx: Tx, outcomes: Sequence[DeliveryOutcome]) -> None:
        await queue.settle(tx, outcomes)

    def on_commit(self, outcomes: Sequence[DeliveryOutcome], claimed: Sequence[ClaimedDelivery]) -> None:
        for each in claimed:
            self._limiter.record_start(each.endpoint)
        if outcomes:
            metrics.settled(outcomes)
        if claimed:
            metrics.claimed(claimed, self._clock())

    async def run(self, claimed: ClaimedDelivery) -> DeliveryOutcome:
        outcome = await self._attempt(claimed)
        self._limiter.record_result(claimed.endpoint, succeeded=outcome.status == "delivered")
        return outcome

    async def on_crash(self, claimed: ClaimedDelivery, error: Exception) -> DeliveryOutcome:
        self._limiter.record_result(claimed.endpoint, succeeded=False)
        return self._failed(claimed, f"internal error: {type(error).__name__}")

    async def _attempt(self, claimed: ClaimedDelivery) -> DeliveryOutcome:
        try:
            answer = await self._send(claimed)
        except NotPublic:  # without the IP address: it would reveal names of the operator's network
            return DeliveryOutcome(claimed, "failed", error="the host has an address that is not public", counts=False)
        except Unreachable as error:
            return self._failed(claimed, error.reason)
        except DecryptionFailed:
            return self._postponed(claimed)
        text = _printable_start(answer)
        if 200 <= answer.status < 300:
            return DeliveryOutcome(claimed, "delivered", response_status=answer.status, answer=text or None)
        return self._failed(claimed, _error(answer.status, text), answer.status, text or None)

    async def _send(self, claimed: ClaimedDelivery) -> OutboundResponse:
        try:
            url = _read(claimed.url)
        except BadUrl as error:
            raise Unreachable(str(error)) from error
        secret = self._keys.decrypt(webhooks.c.secret, claimed.endpoint.webhook_id, claimed.secret)
        body, now = claimed.body.encode(), int(self._clock().timestamp())
        headers = {
            "Content-Type": "application/json",
            "User-Agent": "Waypost-Webhooks",
            "X-Delivery-Id": str(claimed.id),
            "X-Event-Type": claimed.event,
            "X-Signature": signature(secret, now, body),
            "X-Webhook-Timestamp": str(now),
        }
        return await self._post(url, headers=headers, body=body, deadline=self._timeout, max_body=MAX_ANSWER)

    def _postponed(self, claimed: ClaimedDelivery) -> DeliveryOutcome:
        """The receiver is not at fault when a key is missing here, so no attempt is counted."""
        if not self._has_logged_keys:
            log.error("secrets of webhooks cannot be read: is a key missing in WAYPOST_SECRET_KEY?")
        self._has_logged_keys = True
        next_at = self._clock() + _POSTPONED
        return DeliveryOutcome(claimed, "pending", next_at, error="not sent: a fault on our side", counts=False)

    def _failed(
        self, claimed: ClaimedDelivery, error: str, response_status: int | None = None, answer: str | None = None
    ) -> DeliveryOutcome:
        if claimed.attempt >= MAX_ATTEMPTS:
            return DeliveryOutcome(claimed, "failed", None, response_status, error, answer)
        next_at = self._clock() + timedelta(seconds=self._backoff[claimed.attempt - 1])
        return DeliveryOutcome(claimed, "pending", next_at, response_status, error, answer)


def _printable_start(answer: OutboundResponse) -> str:
    """The start of the answer's body in one printable line."""
    text = answer.body[: 4 * _KEPT].decode(errors="replace")[:_KEPT]
    if not text.isprintable():
        text = "".join(each if each.isprintable() else " " for each in text)
    return " ".join(text.split())


def _error(status: int, text: str) -> str:
    what = f"redirects are not followed ({status})" if 300 <= status < 400 else f"answered {status}"
    return f"{what}: {text}" if text else what
