"""One attempt: sign, send, and what has come of it, as a value. Raises nothing."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from functools import lru_cache
from typing import Protocol

import structlog

from waypost.database.secrets import KeyRing, Undecipherable
from waypost.kit.clock import Clock
from waypost.kit.signing import signature
from waypost.kit.urls import BadUrl, Url, canonical
from waypost.outbound import NotPublic, OutboundResponse, Unreachable
from waypost.resources.webhooks.delivery.queue import MAX_ATTEMPTS, Claimed, Settled
from waypost.resources.webhooks.model import webhooks

MAX_ANSWER = 65_536
"""Bytes; an answer must end within them."""
_KEPT = 1_000
"""Characters of an answer that the log keeps."""
_POSTPONED = timedelta(minutes=1)

_read = lru_cache(4_096)(canonical)
"""A tenth of an attempt's time went into reading the same few URLs."""

log = structlog.get_logger(__name__)


class Post(Protocol):
    async def __call__(
        self, url: Url, *, headers: Mapping[str, str], body: bytes, deadline: float, max_body: int
    ) -> OutboundResponse:
        """One POST and its whole answer within `deadline` seconds.

        Raises NotPublic before anything is sent; Unreachable, also for an answer that does not end within `max_body`.
        """


class Sender:
    def __init__(self, post: Post, keys: KeyRing, *, clock: Clock, timeout: float, backoff: Sequence[float]) -> None:
        """`timeout`: seconds for all of an attempt; `backoff`: seconds after the first attempts but the last."""
        self._post = post
        self._keys = keys
        self._clock = clock
        self._timeout = timeout
        self._backoff = backoff
        self._told_of_keys = False

    async def attempt(self, claimed: Claimed) -> Settled:
        try:
            answer = await self._send(claimed)
        except NotPublic:  # which address it is, is nobody's business: names of our own network would tell theirs
            return Settled(claimed, "failed", error="the host has an address that is not public", counts=False)
        except Unreachable as error:
            return self._failed(claimed, error.reason)
        except Undecipherable:
            return self._postponed(claimed)
        except Exception as error:
            log.exception("delivery attempt failed unexpectedly", delivery=str(claimed.id))
            return self._failed(claimed, f"internal error: {type(error).__name__}")
        said = _said(answer)
        if 200 <= answer.status < 300:
            return Settled(claimed, "delivered", response_status=answer.status, answer=said or None)
        return self._failed(claimed, _told(answer.status, said), answer.status, said or None)

    async def _send(self, claimed: Claimed) -> OutboundResponse:
        try:
            url = _read(claimed.url)
        except BadUrl as error:
            raise Unreachable(str(error)) from error
        secret = self._keys.open(webhooks.c.secret, claimed.webhook_id, claimed.secret)
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

    def _postponed(self, claimed: Claimed) -> Settled:
        """No receiver is to blame for our keys, and no event is lost for them."""
        if not self._told_of_keys:
            log.error("secrets of webhooks cannot be read: is a key missing in WAYPOST_SECRET_KEY?")
        self._told_of_keys = True
        next_at = self._clock() + _POSTPONED
        return Settled(claimed, "pending", next_at, error="not sent: a fault on our side", counts=False)

    def _failed(
        self, claimed: Claimed, error: str, response_status: int | None = None, answer: str | None = None
    ) -> Settled:
        if claimed.attempt >= MAX_ATTEMPTS:
            return Settled(claimed, "failed", None, response_status, error, answer)
        next_at = self._clock() + timedelta(seconds=self._backoff[claimed.attempt - 1])
        return Settled(claimed, "pending", next_at, response_status, error, answer)


def _said(answer: OutboundResponse) -> str:
    """The start of what the receiver said helps whoever reads the log: in one line, without what no line can show."""
    text = answer.body[: 4 * _KEPT].decode(errors="replace")[:_KEPT]
    if not text.isprintable():
        text = "".join(each if each.isprintable() else " " for each in text)
    return " ".join(text.split())


def _told(status: int, said: str) -> str:
    what = f"redirects are not followed ({status})" if 300 <= status < 400 else f"answered {status}"
    return f"{what}: {said}" if said else what
