"""One attempt: a request to the pixel's platform, and what has come of it for the pixel's owner, as a value.

Refuses to tell a secret to anybody but the platform it is for.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol
from uuid import UUID

import structlog
from sqlalchemy import select

from waypost.database import Database, KeyRing, Sealed
from waypost.database.secrets import Undecipherable
from waypost.kit.clock import Clock
from waypost.kit.urls import Url, canonical
from waypost.outbound import NotPublic, OutboundError, OutboundResponse
from waypost.resources.pixels.events import queue
from waypost.resources.pixels.events.answer import LONGEST_WAIT, PLATFORMS, Heard, heard, passing
from waypost.resources.pixels.events.model import Event
from waypost.resources.pixels.events.platform import Request, Unsuitable, Verdict
from waypost.resources.pixels.events.queue import Claimed, Settled, Waiting
from waypost.resources.pixels.events.results import Results
from waypost.resources.pixels.model import pixels
from waypost.worker.jobs import wait_after

DEADLINE = 10.0  # seconds for a request and its whole answer
MAX_ANSWER = 1 << 20  # bytes; Pinterest says something of each event
MAX_ATTEMPTS = 8
OLDEST = timedelta(days=7)
"""One event that is older, and a platform refuses the whole request."""

_CHANGED = "the pixel has got another platform or lost its access token since the visits"
_TOO_OLD = "the visits were more than seven days ago"
_OF_NO_USE = "the platform asks for the visitor's address and user agent, and not both are kept or were sent"

_FOUND = select(pixels.c.id, pixels.c.platform, pixels.c.pixel_id, pixels.c.access_token)

log = structlog.get_logger(__name__)


class Post(Protocol):
    async def __call__(
        self, url: Url, *, headers: Mapping[str, str], body: bytes, deadline: float, max_body: int
    ) -> OutboundResponse:
        """One POST and its whole answer within `deadline` seconds. Raises NotPublic, Unreachable."""


@dataclass(frozen=True, slots=True)
class _Pixel:
    id: UUID
    platform: str
    pixel_id: Sealed
    access_token: Sealed


class Sender:
    def __init__(self, db: Database, keys: KeyRing, post: Post, urls: Mapping[str, str], *, clock: Clock) -> None:
        """`urls`: where each platform's API is."""
        self._db = db
        self._keys = keys
        self._post = post
        self._urls = urls
        self._clock = clock

    async def attempt(self, claimed: Claimed) -> Settled:
        """Raises Unavailable, before anything is sent."""
        async with self._db.read() as tx:
            lot = await queue.events_of(tx, claimed)
            row = (await tx.execute(_FOUND.where(pixels.c.id == claimed.pixel_id))).one_or_none()
        pixel = _Pixel(*row) if row and row.access_token else None
        usable, dropped = self._sifted(pixel, lot)
        came = await self._heard(pixel, usable) if pixel and usable else Heard(Verdict())
        if not came.verdict.is_passing:
            return self._settled(claimed, lot, came.verdict, dropped)
        if claimed.attempt >= MAX_ATTEMPTS:
            reason = f"given up after {claimed.attempt} attempts: {came.verdict.reason}"
            return self._settled(claimed, lot, Verdict(), [*dropped, *[reason] * len(usable)])
        log.warning("pixel events failed", pixel=str(claimed.pixel_id), attempt=claimed.attempt, error=came.what)
        pause = min(LONGEST_WAIT, max(came.wait, wait_after(claimed.attempt)))
        return Settled(claimed, self._results(came.verdict, []), next_attempt_at=self._clock() + pause)

    def _sifted(self, pixel: _Pixel | None, lot: Sequence[Waiting]) -> tuple[list[Event], list[str]]:
        """Those to be sent, and for each of the others why it is not."""
        oldest = (self._clock() - OLDEST).timestamp()
        usable, dropped = list[Event](), list[str]()
        for each in lot:
            if pixel is None or each.platform != pixel.platform or pixel.platform not in PLATFORMS:
                dropped.append(_CHANGED)
            elif each.event.at <= oldest:
                dropped.append(_TOO_OLD)
            elif not PLATFORMS[pixel.platform].is_usable(each.event):
                dropped.append(_OF_NO_USE)
            else:
                usable.append(each.event)
        return usable, dropped

    async def _heard(self, pixel: _Pixel, events: Sequence[Event]) -> Heard:
        try:
            return await self._send(pixel, events)
        except Exception as error:
            log.exception("pixel events failed unexpectedly", pixel=str(pixel.id))
            return passing(f"internal error: {type(error).__name__}")

    async def _send(self, pixel: _Pixel, events: Sequence[Event]) -> Heard:
        try:
            pixel_id = self._keys.open(pixels.c.pixel_id, pixel.id, pixel.pixel_id)
            token = self._keys.open(pixels.c.access_token, pixel.id, pixel.access_token)
            answer = await self._posted(pixel.platform, PLATFORMS[pixel.platform].request(pixel_id, token, events))
        except Unsuitable as error:
            return Heard(Verdict(reason=str(error)))
        except Undecipherable:
            return passing("the pixel's secrets cannot be read with WAYPOST_SECRET_KEY")
        except NotPublic:  # which address it is, is the operator's business
            return passing(f"{pixel.platform}: the host has an address that is not public")
        except OutboundError as error:
            return passing(f"{pixel.platform}: {error}")
        secrets = (token, pixel_id, *pixel_id.split("/"))
        return heard(pixel.platform, answer, len(events), secrets, self._clock())

    async def _posted(self, platform: str, request: Request) -> OutboundResponse:
        return await self._post(
            canonical(self._urls[platform].rstrip("/") + request.path),
            headers={"Content-Type": "application/json", **request.headers},
            body=json.dumps(request.content, separators=(",", ":")).encode(),
            deadline=DEADLINE,
            max_body=MAX_ANSWER,
        )

    def _settled(self, claimed: Claimed, lot: Sequence[Waiting], verdict: Verdict, dropped: Sequence[str]) -> Settled:
        return Settled(claimed, self._results(verdict, dropped), [each.id for each in lot])

    def _results(self, verdict: Verdict, dropped: Sequence[str]) -> Results:
        now, reason = self._clock(), verdict.reason or next(reversed(dropped), None)
        moments = {"sent_at": now if verdict.sent else None, "reason_at": now if reason else None}
        return Results(verdict.sent, verdict.rejected, len(dropped), reason=reason, **moments)
