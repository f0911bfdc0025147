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

from waypost.database import Database, KeyRing, Sealed, Tx
from waypost.database.secrets import Undecipherable
from waypost.kit.clock import Clock
from waypost.kit.urls import canonical
from waypost.outbound import NotPublic, OutboundError, OutboundResponse, Post
from waypost.resources.pixels.events import queue
from waypost.resources.pixels.events.model import PageView
from waypost.resources.pixels.events.platform_apis import PLATFORM_APIS, InvalidPixelId, PlatformRequest, Verdict
from waypost.resources.pixels.events.queue import ClaimedLot, LotOutcome, StoredEvent
from waypost.resources.pixels.events.response import LONGEST_WAIT, PlatformResponse, read_response, temporary
from waypost.resources.pixels.events.results import EventResults
from waypost.resources.pixels.events.slots import AT_MOST
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
    pixel_id: Sealed
    access_token: Sealed


class EventSender(LeasedQueue[ClaimedLot, LotOutcome]):
    name = "pixel events"
    at_once = AT_MOST
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

    async def claim(self, tx: Tx, free: int) -> list[ClaimedLot]:  # noqa: ARG002  # `slots` limits all workers
        return await queue.claim(tx, clock=self._clock, lease=LEASE)

    async def settle(self, tx: Tx, outcomes: Sequence[LotOutcome]) -> None:
        await queue.settle(tx, outcomes)

    async def run(self, claimed: ClaimedLot) -> LotOutcome:
        """Raises Unavailable, before anything is sent."""
        pixel, lot = await self._load(claimed)
        usable, dropped = self._sort_out(pixel, lot)
        response = await self._send(pixel, usable) if pixel and usable else PlatformResponse(Verdict())
        return self._outcome(claimed, lot, dropped, response)

    async def crashed(self, claimed: ClaimedLot, error: Exception) -> LotOutcome:
        pixel, lot = await self._load(claimed)
        _, dropped = self._sort_out(pixel, lot)
        return self._outcome(claimed, lot, dropped, temporary(f"internal error: {type(error).__name__}"))

    async def _load(self, claimed: ClaimedLot) -> tuple[_Pixel | None, Sequence[StoredEvent]]:
        """(the pixel if it still has a token, its events)"""
        async with self._db.read() as tx:
            lot = await queue.events_of(tx, claimed)
            row = (await tx.execute(_FOUND.where(pixels.c.id == claimed.pixel_id))).one_or_none()
        return _Pixel(*row) if row and row.access_token else None, lot

    def _outcome(
        self, claimed: ClaimedLot, lot: Sequence[StoredEvent], dropped: Sequence[str], response: PlatformResponse
    ) -> LotOutcome:
        verdict, finished = response.verdict, [each.id for each in lot]
        if not verdict.is_temporary:
            return LotOutcome(claimed, self._results(verdict, dropped), finished)
        if claimed.attempt >= MAX_ATTEMPTS:
            reason = f"given up after {claimed.attempt} attempts: {verdict.reason}"
            all_dropped = [*dropped, *[reason] * (len(lot) - len(dropped))]
            return LotOutcome(claimed, self._results(Verdict(), all_dropped), finished)
        log.warning("pixel events failed", pixel=str(claimed.pixel_id), attempt=claimed.attempt, error=response.summary)
        pause = min(LONGEST_WAIT, max(response.wait, wait_after(claimed.attempt)))
        return LotOutcome(claimed, self._results(verdict, []), next_attempt_at=self._clock() + pause)

    def _sort_out(self, pixel: _Pixel | None, lot: Sequence[StoredEvent]) -> tuple[list[PageView], list[str]]:
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

    async def _send(self, pixel: _Pixel, events: Sequence[PageView]) -> PlatformResponse:
        try:
            pixel_id = self._keys.open(pixels.c.pixel_id, pixel.id, pixel.pixel_id)
            token = self._keys.open(pixels.c.access_token, pixel.id, pixel.access_token)
            answer = await self._request(pixel.platform, PLATFORM_APIS[pixel.platform].request(pixel_id, token, events))
        except InvalidPixelId as error:
            return PlatformResponse(Verdict(reason=str(error)))
        except Undecipherable:
            return temporary("the pixel's secrets cannot be read with WAYPOST_SECRET_KEY")
        except NotPublic:  # the IP address is for the operator only
            return temporary(f"{pixel.platform}: the host has an address that is not public")
        except OutboundError as error:
            return temporary(f"{pixel.platform}: {error}")
        secrets = (token, pixel_id, *pixel_id.split("/"))
        return read_response(pixel.platform, answer, len(events), secrets, self._clock())

    async def _request(self, platform: str, request: PlatformRequest) -> OutboundResponse:
        return await self._post(
            canonical(self._urls[platform].rstrip("/") + request.path),
            headers={"Content-Type": "application/json", **request.headers},
            body=json.dumps(request.content, separators=(",", ":")).encode(),
            deadline=DEADLINE,
            max_body=MAX_ANSWER,
        )

    def _results(self, verdict: Verdict, dropped: Sequence[str]) -> EventResults:
        now, reason = self._clock(), verdict.reason or next(reversed(dropped), None)
        moments = {"sent_at": now if verdict.sent else None, "reason_at": now if reason else None}
        return EventResults(verdict.sent, verdict.rejected, len(dropped), reason=reason, **moments)
