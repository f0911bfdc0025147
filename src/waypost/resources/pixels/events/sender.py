"""Sends a pixel's events to its platform and records the results for the pixel's owner.

A secret goes to no other platform and into no log.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

import structlog
from sqlalchemy import select

from waypost.database import Ciphertext, Database, DecryptionFailed, KeyRing, Tx
from waypost.kit.clock import Clock
from waypost.kit.urls import canonical
from waypost.outbound import NotPublic, OutboundError, Post, in_words
from waypost.resources.pixels.events import queue
from waypost.resources.pixels.events.model import EventResults, PageView
from waypost.resources.pixels.events.platform_apis import PLATFORM_APIS, InvalidPixelId, Verdict, read_response
from waypost.resources.pixels.model import pixels
from waypost.worker.jobs import wait_after
from waypost.worker.loop import QueueWorker

DEADLINE = 10.0  # seconds for a request and its response
LEASE = timedelta(seconds=DEADLINE + 20)  # long enough to settle it after a short outage
MAX_RESPONSE_BODY = 1 << 20  # bytes; Pinterest returns a result for each event
MAX_ATTEMPTS = 8
MAX_AGE = timedelta(days=7)
"""A platform rejects an entire request if one of its events is older."""

_CHANGED = "the pixel has another platform or no access token since the visits"
_TOO_OLD = "the visits were more than seven days ago"
_UNUSABLE = "the platform requires the visitor's IP address and user agent, and not both are stored or were sent"

_PIXELS = select(pixels.c.id, pixels.c.platform, pixels.c.pixel_id, pixels.c.access_token)

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class _Pixel:
    id: UUID
    platform: str
    pixel_id: Ciphertext
    access_token: Ciphertext


class EventSender(QueueWorker[queue.ClaimedBatch, queue.BatchOutcome]):
    name = "pixel events"
    max_concurrent = queue.MAX_IN_FLIGHT
    poll_interval = 1.0  # events wait for some seconds anyway
    shutdown_timeout = DEADLINE + 1

    def __init__(self, db: Database, key_ring: KeyRing, post: Post, urls: Mapping[str, str], *, clock: Clock) -> None:
        """`urls`: of the APIs, by platform."""
        self._db = db
        self._key_ring = key_ring
        self._post = post
        self._urls = urls
        self._clock = clock

    async def is_due(self, tx: Tx) -> bool:
        return bool(await queue.find_due(tx, self._clock()))

    async def find_oldest_due(self, tx: Tx) -> datetime | None:
        return await queue.find_oldest_due(tx, self._clock())

    async def claim(self, tx: Tx, free_slots: int) -> list[queue.ClaimedBatch]:  # noqa: ARG002  # `RequestSlots` limits all workers
        return await queue.claim(tx, clock=self._clock, lease=LEASE)

    async def settle(self, tx: Tx, outcomes: Sequence[queue.BatchOutcome]) -> None:
        await queue.settle(tx, outcomes)

    async def run(self, batch: queue.ClaimedBatch) -> queue.BatchOutcome:
        """Send the batch. Raises Unavailable, before anything is sent."""
        pixel, events = await self._load(batch)
        usable, dropped = self._sort_out(pixel, events)
        verdict = await self._send(pixel, usable) if pixel and usable else Verdict()
        return self._outcome(batch, events, dropped, verdict)

    async def on_crash(self, batch: queue.ClaimedBatch, error: Exception) -> queue.BatchOutcome:  # noqa: ARG002  # logged
        pixel, events = await self._load(batch)
        _, dropped = self._sort_out(pixel, events)
        return self._outcome(batch, events, dropped, Verdict.temporary("internal error"))

    async def _load(self, batch: queue.ClaimedBatch) -> tuple[_Pixel | None, Sequence[queue.PixelEvent]]:
        """Return the pixel if it still has a token, and the events of the batch."""
        async with self._db.read() as tx:
            events = await queue.find_events(tx, batch)
            row = (await tx.execute(_PIXELS.where(pixels.c.id == batch.id))).one_or_none()
        return _Pixel(*row) if row and row.access_token else None, events

    def _outcome(
        self, batch: queue.ClaimedBatch, events: Sequence[queue.PixelEvent], dropped: Sequence[str], verdict: Verdict
    ) -> queue.BatchOutcome:
        finished = [event.id for event in events]
        if not verdict.is_temporary:
            return queue.BatchOutcome(batch, self._results(verdict, dropped), finished)
        if batch.attempt >= MAX_ATTEMPTS:
            reason = f"given up after {batch.attempt} attempts: {verdict.reason}"
            all_dropped = [*dropped, *[reason] * (len(events) - len(dropped))]
            return queue.BatchOutcome(batch, self._results(Verdict(), all_dropped), finished)
        log.warning("pixel events failed", pixel=str(batch.id), attempt=batch.attempt, error=verdict.summary)
        next_at = self._clock() + max(verdict.wait, wait_after(batch.attempt))
        return queue.BatchOutcome(batch, self._results(verdict, []), next_attempt_at=next_at)

    def _sort_out(self, pixel: _Pixel | None, events: Sequence[queue.PixelEvent]) -> tuple[list[PageView], list[str]]:
        """Return the page views to send, and a reason for each of the others."""
        oldest = (self._clock() - MAX_AGE).timestamp()
        usable, dropped = list[PageView](), list[str]()
        for event in events:
            if pixel is None or event.platform != pixel.platform or pixel.platform not in PLATFORM_APIS:
                dropped.append(_CHANGED)
            elif event.view.at <= oldest:
                dropped.append(_TOO_OLD)
            elif not PLATFORM_APIS[pixel.platform].is_usable(event.view):
                dropped.append(_UNUSABLE)
            else:
                usable.append(event.view)
        return usable, dropped

    async def _send(self, pixel: _Pixel, views: Sequence[PageView]) -> Verdict:
        try:
            pixel_id = self._key_ring.decrypt(pixels.c.pixel_id, pixel.id, pixel.pixel_id)
            token = self._key_ring.decrypt(pixels.c.access_token, pixel.id, pixel.access_token)
            request = PLATFORM_APIS[pixel.platform].request(pixel_id, token, views)
            response = await self._post(
                canonical(self._urls[pixel.platform].rstrip("/") + request.path),
                headers={"Content-Type": "application/json", **request.headers},
                body=json.dumps(request.content, separators=(",", ":")).encode(),
                deadline=DEADLINE,
                max_body=MAX_RESPONSE_BODY,
            )
        except InvalidPixelId as error:
            return Verdict(reason=str(error))
        except DecryptionFailed:
            return Verdict.temporary("the pixel's secrets cannot be read with WAYPOST_SECRET_KEY")
        except NotPublic:  # the IP address is for the operator only
            return Verdict.temporary(f"{pixel.platform}: the host has an address that is not public")
        except OutboundError as error:
            return Verdict.temporary(f"{pixel.platform}: {in_words(str(error))}")
        secrets = (token, pixel_id, *pixel_id.split("/"))
        return read_response(pixel.platform, response, len(views), secrets, self._clock())

    def _results(self, verdict: Verdict, dropped: Sequence[str]) -> EventResults:
        now, reason = self._clock(), verdict.reason or next(reversed(dropped), None)
        moments = {"sent_at": now if verdict.sent else None, "reason_at": now if reason else None}
        return EventResults(verdict.sent, verdict.rejected, len(dropped), reason=reason, **moments)
