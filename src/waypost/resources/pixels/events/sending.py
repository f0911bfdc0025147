"""The handler of `pixels.send_events`: a request to the pixel's platform, and what came of it for the pixel's owner.

Refuses to let a platform that hangs hold up other jobs, and to tell a secret to anybody but the platform it is for.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol
from uuid import UUID

from sqlalchemy import select

from waypost.database import Database, KeyRing, Sealed
from waypost.database.secrets import Undecipherable
from waypost.kit.clock import Clock
from waypost.kit.urls import Url, canonical
from waypost.outbound import Answer, NotPublic, OutboundError
from waypost.resources.pixels.events.answer import PLATFORMS, Heard, heard, passing
from waypost.resources.pixels.events.model import Event
from waypost.resources.pixels.events.platform import Request, Unsuitable, Verdict
from waypost.resources.pixels.events.results import Results, note
from waypost.resources.pixels.model import pixels
from waypost.worker.jobs import NotYet, TryAgain
from waypost.worker.model import Job

DEADLINE = 10.0  # seconds for a request and its whole answer
MAX_ANSWER = 1 << 20  # bytes; Pinterest says something of each event
AT_ONCE = 2  # requests to one platform; the worker runs eight jobs
OLDEST = timedelta(days=7)
"""One event that is older, and a platform refuses the whole request."""

_TOO_OLD = "the visits were more than seven days ago"
_OF_NO_USE = "the platform asks for the visitor's address and user agent, and not both are kept or were sent"


class Post(Protocol):
    async def __call__(
        self, url: Url, *, headers: Mapping[str, str], body: bytes, deadline: float, max_body: int
    ) -> Answer:
        """One POST and its whole answer within `deadline` seconds. Raises NotPublic, Unreachable."""


@dataclass(frozen=True, slots=True)
class _Pixel:
    id: UUID
    platform: str
    pixel_id: Sealed
    access_token: Sealed


class EventSender:
    def __init__(self, db: Database, keys: KeyRing, post: Post, urls: Mapping[str, str], *, clock: Clock) -> None:
        """`urls`: where each platform's API is."""
        self._db = db
        self._keys = keys
        self._post = post
        self._urls = urls
        self._clock = clock
        self._under_way = Counter[str]()
        self._put_off = Counter[str]()

    async def __call__(self, job: Job) -> None:
        pixel = await self._find(UUID(job.payload["pixel"]))
        if pixel:
            with self._turn(pixel.platform):
                await self._deliver(pixel, [Event(*facts) for facts in job.payload["events"]], job)

    async def _find(self, pixel_id: UUID) -> _Pixel | None:
        """None of one that is gone, or was changed so that nothing is sent for it any more."""
        columns = (pixels.c.id, pixels.c.platform, pixels.c.pixel_id, pixels.c.access_token)
        async with self._db.read() as tx:
            row = (await tx.execute(select(*columns).where(pixels.c.id == pixel_id))).one_or_none()
        return _Pixel(*row) if row and row.access_token and row.platform in PLATFORMS else None

    @contextmanager
    def _turn(self, platform: str) -> Iterator[None]:
        """Jobs beyond a platform's share go back to the table, for the longer the more there are of them."""
        if self._under_way[platform] >= AT_ONCE:
            self._put_off[platform] += 1
            raise NotYet(timedelta(seconds=min(60, 0.5 + self._put_off[platform] / 20)))
        self._under_way[platform] += 1
        try:
            yield
        finally:
            self._under_way[platform] -= 1

    async def _deliver(self, pixel: _Pixel, events: Sequence[Event], job: Job) -> None:
        usable, dropped = self._sifted(pixel.platform, events)
        came = await self._send(pixel, usable) if usable else Heard(Verdict())
        if not came.verdict.is_passing:
            self._put_off[pixel.platform] = 0
            await self._note(pixel, came.verdict, dropped)
        elif job.attempt >= job.max_attempts:  # a job that failed would stay, and what it holds of the visitors with it
            reason = f"given up after {job.attempt} attempts: {came.verdict.reason}"
            await self._note(pixel, Verdict(), [*dropped, *[reason] * len(usable)])
        else:
            await self._note(pixel, came.verdict, [])
            raise TryAgain(came.what, came.wait)

    def _sifted(self, platform: str, events: Sequence[Event]) -> tuple[list[Event], list[str]]:
        """Those to be sent, and for each of the others why it is not."""
        oldest = (self._clock() - OLDEST).timestamp()
        recent = [event for event in events if event.at > oldest]
        usable = [event for event in recent if PLATFORMS[platform].is_usable(event)]
        return usable, [_TOO_OLD] * (len(events) - len(recent)) + [_OF_NO_USE] * (len(recent) - len(usable))

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

    async def _posted(self, platform: str, request: Request) -> Answer:
        return await self._post(
            canonical(self._urls[platform].rstrip("/") + request.path),
            headers={"Content-Type": "application/json", **request.headers},
            body=json.dumps(request.content, separators=(",", ":")).encode(),
            deadline=DEADLINE,
            max_body=MAX_ANSWER,
        )

    async def _note(self, pixel: _Pixel, verdict: Verdict, dropped: Sequence[str]) -> None:
        now, reason = self._clock(), verdict.reason or next(reversed(dropped), None)
        moments = {"sent_at": now if verdict.sent else None, "reason_at": now if reason else None}
        new = Results(verdict.sent, verdict.rejected, len(dropped), reason=reason, **moments)
        async with self._db.write() as tx:
            await note(tx, pixel.id, new)
