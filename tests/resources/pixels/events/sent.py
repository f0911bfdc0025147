"""Pixels and events written to the database, and a sender that runs as in the worker."""

import contextlib
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from ipaddress import ip_network
from itertools import count
from typing import Any
from uuid import UUID

from people import START, FakeClock
from resources.pixels.events.platforms import IDS, TOKENS, Platforms
from sqlalchemy import Column, Table, delete, insert, select, update

from waypost.database import Database, KeyRing
from waypost.kit.ids import new_id
from waypost.outbound import Outbound, Poster
from waypost.resources.pixels import events
from waypost.resources.pixels.events import model
from waypost.resources.pixels.events.model import pixel_events
from waypost.resources.pixels.events.queue import JOBS, QUEUE
from waypost.resources.pixels.model import pixels
from waypost.worker.jobs import JobRunner, jobs
from waypost.worker.loop import WorkerLoop

KEYS = KeyRing(["the key of these tests"])
ALLOW = [ip_network("127.0.0.1/32")]
BROWSER = "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0"


async def new_pixel(
    db: Database,
    platform: str,
    *,
    account_id: UUID | None = None,
    pixel_id: str = "",
    token: str | None = "",
    keys: KeyRing = KEYS,
) -> UUID:
    """`token`: "" for the right one, None for none."""
    id_, text = new_id(), token if token != "" else TOKENS[platform]
    row = {
        "id": id_,
        "account_id": account_id or new_id(),
        "platform": platform,
        "name": platform,
        "pixel_id": keys.encrypt(pixels.c.pixel_id, id_, pixel_id or IDS.get(platform, "AW-123")),
        "access_token": None if text is None else keys.encrypt(pixels.c.access_token, id_, text),
        "created_at": START,
        "updated_at": START,
    }
    async with db.write() as tx:
        await tx.execute(insert(pixels), row)
    return id_


def new_event(**fields: Any) -> events.PageView:
    known = {"at": int(START.timestamp()) - 60, "url": "https://go.test/a", "ip": "192.0.2.7", "user_agent": BROWSER}
    return events.PageView(**{"id": str(new_id()), "referrer": "https://from.example/x"} | known | fields)


class Sender:
    """The part of a worker that sends events."""

    def __init__(self, db: Database, clock: FakeClock, runner: JobRunner) -> None:
        self._db = db
        self._clock = clock
        self._runner = runner
        ticks = count(0, 100)
        self._loop = WorkerLoop(db, runner, monotonic=lambda: next(ticks))

    async def step(self) -> bool:
        await events.enqueue_batches(self._db, clock=self._clock)
        return await self.send()

    async def send(self) -> bool:
        """Send batches that were enqueued before."""
        return await self._loop.step()

    async def close(self) -> None:
        await self._loop.close()

    async def stop(self) -> None:
        """Wait for no request in flight."""
        self._runner.shutdown_timeout = 0
        await self._loop.close()


@dataclass
class Env:
    db: Database
    clock: FakeClock
    new_sender: Callable[[], Sender]
    """Makes the sender of another process."""
    sender: Sender

    async def queue(self, pixel: UUID, *views: events.PageView, **fields: Any) -> list[events.PageView]:
        """Record events of the pixel's platform."""
        views = views or (new_event(**fields),)
        async with self.db.write() as tx:
            found = await tx.execute(select(pixels.c.platform).where(pixels.c.id == pixel))
            platform = found.scalar_one_or_none() or "facebook"
            recorded = [events.PixelEvent(new_id(), pixel, platform, view) for view in views]
            await events.record_all(tx, recorded, now=self.clock())
        return list(views)

    async def run(self) -> None:
        """Send everything that is due."""
        while await self.sender.step():
            pass

    async def sweep(self) -> None:
        while await events.delete_unsendable(self.db, clock=self.clock):
            pass

    async def waiting(self) -> Sequence[Any]:
        return await self._rows(pixel_events, pixel_events.c.id)

    async def batches(self) -> Sequence[Any]:
        return await self._rows(jobs, jobs.c.id)

    async def nothing_is_left(self) -> bool:
        return (await self.waiting(), await self.batches()) == ([], [])

    async def results(self, pixel: UUID) -> model.EventResults:
        async with self.db.read() as tx:
            return await model.find_results(tx, pixel)

    async def delete(self, pixel: UUID) -> None:
        async with self.db.write() as tx:
            await tx.execute(delete(pixels).where(pixels.c.id == pixel))

    async def change(self, pixel: UUID, **values: Any) -> None:
        async with self.db.write() as tx:
            await tx.execute(update(pixels).where(pixels.c.id == pixel).values(values))

    def pass_by(self, **time: float) -> None:
        self.clock.move(timedelta(**time))

    async def _rows(self, table: Table, order: Column[Any]) -> Sequence[Any]:
        async with self.db.read() as tx:
            return (await tx.execute(select(table).order_by(order))).all()


@contextlib.asynccontextmanager
async def open_env(db: Database, platforms: Platforms, urls: Mapping[str, str] | None = None) -> AsyncIterator[Env]:
    """Open an environment whose senders poll on every step."""
    clock, poster = FakeClock(), Poster(Outbound(allow=ALLOW))
    sender = events.EventSender(db, KEYS, poster.post, urls or dict.fromkeys(IDS, platforms.url), clock=clock)

    def new_sender() -> Sender:
        return Sender(db, clock, JobRunner(QUEUE, dict.fromkeys(JOBS.values(), sender.send), clock=clock))

    try:
        yield Env(db, clock, new_sender, new_sender())
    finally:
        await poster.close()
