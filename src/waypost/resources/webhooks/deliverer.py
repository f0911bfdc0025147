"""Delivers events: claims deliveries, signs and sends each, and decides what follows from the response."""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import lru_cache

import structlog

from waypost import metrics
from waypost.database import DecryptionFailed, KeyRing, Tx
from waypost.kit.clock import Clock
from waypost.kit.signing import signature, standard_headers
from waypost.kit.urls import BadUrl, canonical
from waypost.outbound import NotPublic, OutboundResponse, Post, Unreachable
from waypost.resources.webhooks import queue
from waypost.resources.webhooks.delivery_limiter import DeliveryLimiter
from waypost.resources.webhooks.model import MAX_ATTEMPTS, webhooks
from waypost.resources.webhooks.queue import ClaimedDelivery, DeliveryOutcome
from waypost.worker.loop import SHUTDOWN_TIMEOUT, QueueWorker

MAX_RESPONSE_BODY = 65_536  # bytes
_STORED_CHARACTERS = 1_000  # of a response body
_LEASE_MARGIN = 20.0  # seconds by which a lease outlasts an attempt: to settle it, even after a short outage
_POSTPONE_DELAY = timedelta(minutes=1)

_parse_url = lru_cache(4_096)(canonical)
"""Cached: parsing the same few URLs took a tenth of an attempt's time."""

_ATTEMPTS = metrics.Counter("waypost_webhook_attempts_total", "Delivery attempts started.")
_RESULTS = metrics.Counter(
    "waypost_webhook_results_total",
    "Delivery attempts by result.",
    ("result",),
    starts=[(result,) for result in ("delivered", "retried", "failed", "refused")],
)
_DELAY = metrics.Histogram(
    "waypost_webhook_first_attempt_delay_seconds",
    "Time from an event to its first delivery attempt.",
    buckets=(0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800),  # seconds
)

log = structlog.get_logger(__name__)


class Deliverer(QueueWorker[ClaimedDelivery, DeliveryOutcome]):
    name = "webhook deliveries"
    max_concurrent = 256

    def __init__(
        self,
        post: Post,
        key_ring: KeyRing,
        *,
        clock: Clock,
        timeout: float,
        backoff: Sequence[float],
        limiter: DeliveryLimiter | None = None,
    ) -> None:
        """`timeout`: seconds for one attempt; `backoff`: seconds after the first attempts but the last."""
        self._post = post
        self._key_ring = key_ring
        self._clock = clock
        self._timeout = timeout
        self.shutdown_timeout = min(timeout + 1, SHUTDOWN_TIMEOUT)
        self._lease = timedelta(seconds=timeout + _LEASE_MARGIN)
        self._backoff = backoff
        self._limiter = limiter or DeliveryLimiter()
        self._has_logged_keys = False

    async def is_due(self, tx: Tx) -> bool | None:
        return await queue.is_due(tx, self._clock(), self._limiter)

    async def find_oldest_due(self, tx: Tx) -> datetime | None:
        return await queue.find_oldest_due(tx, self._clock())

    async def claim(self, tx: Tx, free_slots: int) -> list[ClaimedDelivery]:
        return await queue.claim(tx, clock=self._clock, lease=self._lease, limit=free_slots, limiter=self._limiter)

    async def settle(self, tx: Tx, outcomes: Sequence[DeliveryOutcome]) -> None:
        await queue.settle(tx, outcomes)

    def on_commit(self, outcomes: Sequence[DeliveryOutcome], claimed: Sequence[ClaimedDelivery]) -> None:
        for delivery in claimed:
            self._limiter.record_start(delivery.receiver)
            if delivery.attempt == 1:
                _DELAY.observe(max(0.0, (self._clock() - delivery.created_at).total_seconds()))
        _ATTEMPTS.add(len(claimed))
        for result, count in Counter(map(_result_of, outcomes)).items():
            _RESULTS.add(count, result)

    async def run(self, claimed: ClaimedDelivery) -> DeliveryOutcome:
        outcome = await self._attempt(claimed)
        self._limiter.record_result(claimed.receiver, succeeded=outcome.status == "delivered")
        return outcome

    async def on_crash(self, claimed: ClaimedDelivery, error: Exception) -> DeliveryOutcome:  # noqa: ARG002  # logged
        self._limiter.record_result(claimed.receiver, succeeded=False)
        return self._failed(claimed, "internal error")

    async def _attempt(self, claimed: ClaimedDelivery) -> DeliveryOutcome:
        try:
            response = await self._send(claimed)
        except NotPublic:  # without the IP address: it would reveal names of the operator's network
            error = "the host has an address that is not public"
            return DeliveryOutcome(claimed, "failed", error=error, counts_as_attempt=False)
        except Unreachable as unreachable:
            return self._failed(claimed, unreachable.reason)
        except DecryptionFailed:
            return self._postponed(claimed)
        text = _printable_start(response)
        if 200 <= response.status < 300:
            return DeliveryOutcome(claimed, "delivered", response_status=response.status, response_body=text or None)
        return self._failed(claimed, _error(response.status, text), response.status, text or None)

    async def _send(self, claimed: ClaimedDelivery) -> OutboundResponse:
        try:
            url = _parse_url(claimed.url)
        except BadUrl as error:
            raise Unreachable(str(error)) from error
        secret = self._key_ring.decrypt(webhooks.c.secret, claimed.receiver.webhook_id, claimed.secret)
        body, now = claimed.body.encode(), int(self._clock().timestamp())
        headers = {
            "Content-Type": "application/json",
            "User-Agent": "Waypost-Webhooks",
            "X-Delivery-Id": str(claimed.id),
            "X-Event-Type": claimed.event,
            "X-Signature": signature(secret, now, body),
            "X-Webhook-Timestamp": str(now),
            **standard_headers(secret, str(claimed.id), now, body),
        }
        return await self._post(url, headers=headers, body=body, deadline=self._timeout, max_body=MAX_RESPONSE_BODY)

    def _postponed(self, claimed: ClaimedDelivery) -> DeliveryOutcome:
        """Count no attempt: a missing key is not a failure of the receiver."""
        if not self._has_logged_keys:
            log.error("webhook secrets cannot be decrypted; a key is missing from WAYPOST_SECRET_KEY")
        self._has_logged_keys = True
        next_at = self._clock() + _POSTPONE_DELAY
        error = "not sent: internal error"
        return DeliveryOutcome(claimed, "pending", next_at, error=error, counts_as_attempt=False)

    def _failed(
        self, claimed: ClaimedDelivery, error: str, response_status: int | None = None, response_body: str | None = None
    ) -> DeliveryOutcome:
        if claimed.attempt >= MAX_ATTEMPTS:
            return DeliveryOutcome(claimed, "failed", None, response_status, error, response_body)
        next_at = self._clock() + timedelta(seconds=self._backoff[claimed.attempt - 1])
        return DeliveryOutcome(claimed, "pending", next_at, response_status, error, response_body)


def _result_of(outcome: DeliveryOutcome) -> str:
    """Return one of the labels of `_RESULTS`."""
    if not outcome.counts_as_attempt and outcome.status == "failed":
        return "refused"
    return "retried" if outcome.status == "pending" else outcome.status


def _printable_start(response: OutboundResponse) -> str:
    """Return the start of the response body in one printable line."""
    text = response.body[: 4 * _STORED_CHARACTERS].decode(errors="replace")[:_STORED_CHARACTERS]
    if not text.isprintable():
        text = "".join(character if character.isprintable() else " " for character in text)
    return " ".join(text.split())


def _error(status: int, text: str) -> str:
    error = f"redirects are not followed ({status})" if 300 <= status < 400 else f"answered {status}"
    return f"{error}: {text}" if text else error
