"""Pixels put there by hand, events queued for them, and the job run as the worker does."""

import contextlib
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from ipaddress import ip_network
from typing import Any
from uuid import UUID

from people import START, FakeClock
from resources.pixels.events.platforms import IDS, TOKENS, Platforms
from sqlalchemy import delete, insert, select

from waypost.database import Database, KeyRing
from waypost.kit.ids import new_id
from waypost.outbound import Outbound, Poster
from waypost.resources.pixels import events
from waypost.resources.pixels.model import pixels
from waypost.worker import jobs
from waypost.worker.loop import JobRunner
from waypost.worker.model import jobs as table

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
        "pixel_id": keys.seal(pixels.c.pixel_id, id_, pixel_id or IDS.get(platform, "AW-123")),
        "access_token": None if text is None else keys.seal(pixels.c.access_token, id_, text),
        "created_at": START,
        "updated_at": START,
    }
    async with db.write() as tx:
        await tx.execute(insert(pixels), row)
    return id_


def new_event(**fields: Any) -> events.Event:
    known = {"at": int(START.timestamp()) - 60, "url": "https://go.test/a", "ip": "192.0.2.7", "user_agent": BROWSER}
    return events.Event(**{"id": str(new_id()), "referrer": "https://from.example/x"} | known | fields)


@dataclass
class Room:
    db: Database
    clock: FakeClock
    runner: JobRunner

    async def queue(self, pixel: UUID, *its: events.Event, **fields: Any) -> list[events.Event]:
        given = list(its) or [new_event(**fields)]
        async with self.db.write() as tx:
            await events.send_later(tx, {pixel: given}, now=self.clock())
        return given

    async def run(self) -> None:
        """All that is due, to its end."""
        while await self.runner.step():
            await self.runner.drain()

    async def jobs(self) -> Sequence[Any]:
        async with self.db.read() as tx:
            return (await tx.execute(select(table).order_by(table.c.id))).all()

    async def results(self, pixel: UUID) -> events.Results:
        async with self.db.read() as tx:
            return await events.results_of(tx, pixel)

    async def delete(self, pixel: UUID) -> None:
        async with self.db.write() as tx:
            await tx.execute(delete(pixels).where(pixels.c.id == pixel))

    def pass_by(self, **time: float) -> None:
        self.clock.move(timedelta(**time))


@contextlib.asynccontextmanager
async def open_room(db: Database, platforms: Platforms, urls: Mapping[str, str] | None = None) -> AsyncIterator[Room]:
    clock, poster = FakeClock(), Poster(Outbound(allow=ALLOW))
    places = urls or dict.fromkeys(IDS, platforms.url)
    handlers: jobs.Handlers = {events.JOB: events.EventSender(db, KEYS, poster.post, places, clock=clock)}
    try:
        yield Room(db, clock, JobRunner(db, handlers, clock=clock, at_once=8))
    finally:
        await poster.close()
