import contextlib
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import UTC, datetime, timedelta
from ipaddress import ip_network
from itertools import count
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from redirect.wire import serve
from resources.domains.certificates.authorities import HERE, Pebble, RunningPebble, Scripted
from sqlalchemy import insert, select
from starlette.applications import Starlette

from waypost.database import Database, KeyRing
from waypost.kit.ids import new_id
from waypost.outbound import Outbound
from waypost.outbound.acme import Acme
from waypost.resources.domains import tls_api
from waypost.resources.domains.certificates import CertificateSweep, queue, store
from waypost.resources.domains.certificates.authority import Authority
from waypost.resources.domains.certificates.issuer import Issuer
from waypost.resources.domains.model import certificates, domains
from waypost.worker.loop import WorkerLoop

RING = KeyRing(["secret"])
LEASE = timedelta(minutes=4)


class Clock:
    def __init__(self) -> None:
        self.now = datetime.now(UTC)

    def __call__(self) -> datetime:
        return self.now

    def passes(self, **time: float) -> None:
        self.now += timedelta(**time)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def live(db: Database, clock: Clock):
    """Registers verified domains."""

    async def add(*hostnames: str, is_served: bool = True, account_id: UUID | None = None) -> None:
        async with db.write() as tx:
            for each in hostnames:
                row = domain(each, clock.now, is_served=is_served)
                await tx.execute(insert(domains), row | {"account_id": account_id or new_id()})

    return add


def domain(hostname: str, now: datetime, *, is_served: bool = True) -> dict[str, object]:
    status = "verified" if is_served else "pending"
    row = {"id": new_id(), "account_id": new_id(), "hostname": hostname, "token": "t", "status": status}
    row |= {"is_served": is_served, "failures": 0, "links_count": 0, "tls_status": "none"}
    return row | {"created_at": now, "updated_at": now}


@pytest.fixture
def tls_state(db: Database):
    """(status, whether it has an end, error) of a domain's `tls`."""

    async def read(hostname: str) -> tuple[str, bool, str | None]:
        c = domains.c
        async with db.read() as tx:
            found = select(c.tls_status, c.tls_expires_at, c.tls_error).where(c.hostname == hostname)
            row = (await tx.execute(found)).one()
        return row.tls_status, row.tls_expires_at is not None, row.tls_error

    return read


@pytest.fixture(scope="session")
def pebble(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pebble]:
    with RunningPebble(tmp_path_factory.mktemp("pebble")) as running:
        yield running


@pytest.fixture
async def scripted(tmp_path: Path) -> AsyncIterator[Scripted]:
    async with Scripted(tmp_path) as authority:
        yield authority


class Certification:
    """Issuer and sweep, run as the worker runs them; the clock passes the hours between sweeps."""

    def __init__(self, db: Database, authority: Any, clock: Clock, own: tuple[str, ...] = ()) -> None:
        self.issuer = Issuer(db, authority, RING, clock=clock)
        self.loop = WorkerLoop(db, self.issuer, monotonic=count(0, 60).__next__)
        self.sweep = CertificateSweep(db, own, clock=clock)
        self._clock = clock
        self._next_sweep = clock.now

    async def step(self) -> bool:
        if self._next_sweep <= self._clock.now:
            while await self.sweep.step():
                pass
            self._next_sweep = self._clock.now + timedelta(hours=1)
        return await self.loop.step()

    async def close(self) -> None:
        await self.loop.close()


@pytest.fixture
def issuer(db: Database, clock: Clock) -> Callable[..., Certification]:
    def make(directory: str, ca_file: Path, dns_server: str = "", own: tuple[str, ...] = ()) -> Certification:
        here = [ip_network(f"{HERE}/32")]
        outbound = Outbound(allow=here, dns_servers=[dns_server] if dns_server else [], ca_file=ca_file)
        authority = Authority(db, Acme(outbound, directory), RING, email="ops@example.com", clock=clock)
        return Certification(db, authority, clock, own)

    return make


async def row_of(db: Database, hostname: str) -> Any:
    async with db.read() as tx:
        found = select(certificates).where(certificates.c.hostname == hostname)
        return (await tx.execute(found)).one_or_none()


async def want(db: Database, clock: Clock, *hostnames: str) -> None:
    async with db.write() as tx:
        for each in hostnames:
            await store.request(tx, each, clock.now)


async def claim(db: Database, clock: Clock, limit: int = 4) -> list[queue.CertificateClaim]:
    async with db.write() as tx:
        chosen = await queue.choose(tx, clock.now, limit)
        return await queue.claim(tx, chosen, now=clock.now, lease=LEASE)


@contextlib.asynccontextmanager
async def proofs(db: Database, port: int) -> AsyncIterator[None]:
    app = Starlette(routes=[tls_api.challenge_route(db)])
    async with serve(app, port=port):
        yield


async def work(issuer: Certification) -> None:
    """Until there is nothing to do."""
    while await issuer.step():
        pass
