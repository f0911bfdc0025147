"""Sends a pixel's events to its platform and records the results for the pixel's owner.

A secret goes to no other platform and into no log.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

import structlog
from sqlalchemy import select

from waypost.database import Ciphertext, Database, DecryptionFailed, KeyRing, Tx
from waypost.kit.clock import Clock
from waypost.kit.urls import canonical
from waypost.outbound import NotPublic, OutboundError, Post
from waypost.resources.pixels.events import queue
from waypost.resources.pixels.events.model import EventResults, PageView
from waypost.resources.pixels.events.platform_apis import PLATFORM_APIS, InvalidPixelId, Verdict, read_response
from waypost.resources.pixels.model import pixels
from waypost.worker.jobs import wait_after
from waypost.worker.loop import LeasedQueue

DEADLINE = 10.0  # seconds for a request and its answer
LEASE = timedelta(seconds=DEADLINE + 20)  # time to settle it, even after a short outage
MAX_ANSWER = 1 << 20  # bytes; Pinterest returns a result for each event
MAX_ATTEMPTS = 8
OLDEST = timedelta(days=7)
"""With a single event that is older, a platform rejects the entire request."""

_CHANGED = "the pixel has another platform or no access token since the visits"
_TOO_OLD = "the visits were more than seven days ago"
_UNUSABLE = "the platform requires the visitor's IP address and user agent, and not both are stored or were sent"

_FOUND = select(pixels.c.id, pixels.c.platform, pixels.c.pixel_id, pixels.c.access_token)

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class _Pixel:
    id: UUID
    platform: str
    pixel_id: Ciphertext
    access_token: Ciphertext


class EventSender(LeasedQueue[queue.ClaimedLot, queue.LotOutcome]):
    name = "pixel events"
    at_once = queue.AT_MOST
    look_every = 1.0  # events wait for some seconds anyway
    grace = DEADLINE + 1

    def __init__(self, db: Database, keys: KeyRing, post: Post, urls: Mapping[str, str], *, clock: Clock) -> None:
        """`urls`: of each platform's API."""
        self._db = db
        self._keys = keys
        self._post = post
        self._urls = urls
        self._clock = clock

    async def is_due(self, tx: Tx, free: int) -> bool:  # noqa: ARG002
        return bool(await queue.due(tx, self._clock()))

    async def claim(self, tx: Tx, free: int) -> list[queue.ClaimedLot]:  # noqa: ARG002  # `slots` limits all workers
        return await queue.claim(tx, clock=self._clock, lease=LEASE)

    async def settle(self, tx: Tx, outcomes: Sequence[queue.LotOutcome]) -> None:
        await queue.settle(tx, outcomes)

    async def run(self, claimed: queue.ClaimedLot) -> queue.LotOutcome:
        """Raises Unavailable, before anything is sent."""
        pixel, lot = await self._load(claimed)
        usable, dropped = self._sort_out(pixel, lot)
        verdict = await self._send(pixel, usable) if pixel and usable else Verdict()
        return self._outcome(claimed, lot, dropped, verdict)

    async def crashed(self, claimed: queue.ClaimedLot, error: Exception) -> queue.LotOutcome:
        pixel, lot = await self._load(claimed)
        _, dropped = self._sort_out(pixel, lot)
        return self._outcome(claimed, lot, dropped, Verdict.temporary(f"internal error: {type(error).__name__}"))

    async def _load(self, claimed: queue.ClaimedLot) -> tuple[_Pixel | None, Sequence[queue.PixelEvent]]:
        """(the pixel if it still has a token, its events)"""
        async with self._db.read() as tx:
            lot = await queue.events_of(tx, claimed)
            row = (await tx.execute(_FOUND.where(pixels.c.id == claimed.id))).one_or_none()
        return _Pixel(*row) if row and row.access_token else None, lot

    def _outcome(
        self, claimed: queue.ClaimedLot, lot: Sequence[queue.PixelEvent], dropped: Sequence[str], verdict: Verdict
    ) -> queue.LotOutcome:
        finished = [each.id for each in lot]
        if not verdict.is_temporary:
            return queue.LotOutcome(claimed, self._results(verdict, dropped), finished)
        if claimed.attempt >= MAX_ATTEMPTS:
            reason = f"given up after {claimed.attempt} attempts: {verdict.reason}"
            all_dropped = [*dropped, *[reason] * (len(lot) - len(dropped))]
            return queue.LotOutcome(claimed, self._results(Verdict(), all_dropped), finished)
        log.warning("pixel events failed", pixel=str(claimed.id), attempt=claimed.attempt, error=verdict.summary)
        next_at = self._clock() + max(verdict.wait, wait_after(claimed.attempt))
        return queue.LotOutcome(claimed, self._results(verdict, []), next_attempt_at=next_at)

    def _sort_out(self, pixel: _Pixel | None, lot: Sequence[queue.PixelEvent]) -> tuple[list[PageView], list[str]]:
        """(events to send, the reason for each of the others)"""
        oldest = (self._clock() - OLDEST).timestamp()
        usable, dropped = list[PageView](), list[str]()
        for each in lot:
            if pixel is None or each.platform != pixel.platform or pixel.platform not in PLATFORM_APIS:
                dropped.append(_CHANGED)
            elif each.event.at <= oldest:
                dropped.append(_TOO_OLD)
            elif not PLATFORM_APIS[pixel.platform].is_usable(each.event):
                dropped.append(_UNUSABLE)
            else:
                usable.append(each.event)
        return usable, dropped

    async def _send(self, pixel: _Pixel, events: Sequence[PageView]) -> Verdict:
        try:
            pixel_id = self._keys.decrypt(pixels.c.pixel_id, pixel.id, pixel.pixel_id)
            token = self._keys.decrypt(pixels.c.access_token, pixel.id, pixel.access_token)
            request = PLATFORM_APIS[pixel.platform].request(pixel_id, token, events)
            answer = await self._post(
                canonical(self._urls[pixel.platform].rstrip("/") + request.path),
                headers={"Content-Type": "application/json", **request.headers},
                body=json.dumps(request.content, separators=(",", ":")).encode(),
                deadline=DEADLINE,
                max_body=MAX_ANSWER,
            )
        except InvalidPixelId as error:
            return Verdict(reason=str(error))
        except DecryptionFailed:
            return Verdict.temporary("the pixel's secrets cannot be read with WAYPOST_SECRET_KEY")
        except NotPublic:  # the IP address is for the operator only
            return Verdict.temporary(f"{pixel.platform}: the host has an address that is not public")
        except OutboundError as error:
            return Verdict.temporary(f"{pixel.platform}: {error}")
        secrets = (token, pixel_id, *pixel_id.split("/"))
        return read_response(pixel.platform, answer, len(events), secrets, self._clock())

    def _results(self, verdict: Verdict, dropped: Sequence[str]) -> EventResults:
        now, reason = self._clock(), verdict.reason or next(reversed(dropped), None)
        moments = {"sent_at": now if verdict.sent else None, "reason_at": now if reason else None}
        return EventResults(verdict.sent, verdict.rejected, len(dropped), reason=reason, **moments)
