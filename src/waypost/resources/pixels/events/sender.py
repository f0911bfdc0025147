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

from waypost.accounts.suspension import is_suspended
from waypost.database import Ciphertext, Database, DecryptionFailed, KeyRing
from waypost.kit.clock import Clock
from waypost.kit.urls import canonical
from waypost.outbound import NotPublic, OutboundError, Post, in_words
from waypost.resources.pixels.events import queue
from waypost.resources.pixels.events.model import EventResults, PageView
from waypost.resources.pixels.events.platform_apis import PLATFORM_APIS, InvalidPixelId, Verdict, read_response
from waypost.resources.pixels.model import pixels
from waypost.worker.jobs import Again, Job, RetryLater

MAX_RESPONSE_BODY = 1 << 20  # bytes; Pinterest returns a result for each event
MAX_AGE = timedelta(days=7)
"""A platform rejects an entire request if one of its events is older."""

_CHANGED = "the pixel has another platform or no access token since the visits"
_TOO_OLD = "the visits were more than seven days ago"
_UNUSABLE = "the platform requires the visitor's IP address and user agent, and not both are stored or were sent"

_PIXELS = select(
    pixels.c.id,
    pixels.c.platform,
    pixels.c.pixel_id,
    pixels.c.access_token,
    is_suspended(pixels.c.account_id).label("is_suspended"),
)

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class _Pixel:
    id: UUID
    platform: str
    pixel_id: Ciphertext
    access_token: Ciphertext


class EventSender:
    def __init__(self, db: Database, key_ring: KeyRing, post: Post, urls: Mapping[str, str], *, clock: Clock) -> None:
        """`urls`: of the APIs, by platform."""
        self._db = db
        self._key_ring = key_ring
        self._post = post
        self._urls = urls
        self._clock = clock

    async def send(self, job: Job) -> Again | None:
        """Handle the job of a pixel. Raises Unavailable and RetryLater."""
        async with self._db.read() as tx:
            events = await queue.find_events(tx, job)
            row = (await tx.execute(_PIXELS.where(pixels.c.id == job.id))).one_or_none()
        if row and row.is_suspended:
            return None
        pixel = _Pixel(*row[:-1]) if row and row.access_token else None
        usable, dropped = self._sort_out(pixel, events)
        verdict = await self._send(pixel, usable) if pixel and usable else Verdict()
        finished = [event.id for event in events]
        if verdict.is_temporary and job.attempt < job.max_attempts:
            await self._settle(job, self._results(verdict, []), ())
            raise RetryLater(verdict.summary, verdict.wait)
        if verdict.is_temporary:
            reason = f"given up after {job.attempt} attempts: {verdict.reason}"
            verdict, dropped = Verdict(), [*dropped, *[reason] * len(usable)]
        return await self._settle(job, self._results(verdict, dropped), finished)

    async def _settle(self, job: Job, results: EventResults, finished: Sequence[UUID]) -> Again | None:
        async with self._db.write() as tx:
            return await queue.settle(tx, job, results, finished, now=self._clock())

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
                deadline=queue.DEADLINE,
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
        except Exception:  # the batch is given up after some attempts, as after any other error
            log.exception("attempt failed unexpectedly", queue=queue.QUEUE.name, id=str(pixel.id))
            return Verdict.temporary("internal error")
        secrets = (token, pixel_id, *pixel_id.split("/"))
        return read_response(pixel.platform, response, len(views), secrets, self._clock())

    def _results(self, verdict: Verdict, dropped: Sequence[str]) -> EventResults:
        now, reason = self._clock(), verdict.reason or next(reversed(dropped), None)
        moments = {"sent_at": now if verdict.sent else None, "reason_at": now if reason else None}
        return EventResults(verdict.sent, verdict.rejected, len(dropped), reason=reason, **moments)
