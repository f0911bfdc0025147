"""Setup of the webhook benchmark: receivers in a separate process, subscriptions, a filled queue."""

import json
import time
import urllib.request
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from ipaddress import ip_network
from pathlib import Path
from typing import Any
from uuid import UUID

import trustme
from sqlalchemy import delete, func, insert, select, update

from bench.servers import ALL_CORES, SECRET_KEY, free_port, module, started
from waypost.database import Database
from waypost.database.secrets import KeyRing
from waypost.kit.clock import now
from waypost.kit.ids import new_id
from waypost.outbound import Outbound, Poster
from waypost.resources.webhooks import WebhookEvent, record_all
from waypost.resources.webhooks.deliverer import Deliverer
from waypost.resources.webhooks.model import webhook_deliveries, webhooks
from waypost.worker.loop import WorkerLoop

RECEIVERS = 50
TIMEOUT = 10.0
_KEYS = KeyRing([SECRET_KEY])
_ACCOUNT = UUID(int=1)
_BATCH = 5_000
_BACKOFF = [86_400.0] * 4  # seconds: a failed attempt is not retried during a measurement


@dataclass(frozen=True)
class Receivers:
    directory: Path
    fast: Sequence[int]
    """Ports, like the next two."""
    hanging: int
    endless: int
    control: int

    @property
    def ca_file(self) -> Path:
        return self.directory / "ca.pem"

    def delays(self) -> list[float]:
        """Seconds from event to receipt of each delivery received since the last call."""
        return _fetch(self.control, "delays")


@contextmanager
def receivers(directory: Path) -> Iterator[Receivers]:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(directory / "ca.pem")
    authority.issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(directory / "receiver.pem")
    control = free_port()
    command = module("receivers", str(directory), str(RECEIVERS), str(control))
    with started("receivers", command, port=control, ready="/", cores=ALL_CORES, directory=directory):
        *fast, hanging, endless = map(int, _fetch(control, "ports"))
        yield Receivers(directory, fast, hanging, endless, control)


def _fetch(control: int, what: str) -> list[float]:
    with urllib.request.urlopen(f"http://127.0.0.1:{control}/{what}") as response:
        found: list[float] = json.load(response)
        return found


def new_poster(to: Receivers) -> Poster:
    return Poster(Outbound(allow=[ip_network("127.0.0.0/8")], ca_file=to.ca_file))


def new_loop(db: Database, poster: Poster) -> WorkerLoop[Any, Any]:
    deliverer = Deliverer(poster.post, _KEYS, clock=now, timeout=TIMEOUT, backoff=_BACKOFF)
    return WorkerLoop(db, deliverer)


async def subscribe(db: Database, ports: Iterable[int]) -> list[UUID]:
    """Create one subscription for each port, each in its own account. Deletes existing ones."""
    async with db.write() as tx:
        await tx.execute(delete(webhook_deliveries))
        await tx.execute(delete(webhooks))
    return [await _subscribed(db, f"https://127.0.0.1:{port}/hook", now()) for port in ports]


async def _subscribed(db: Database, url: str, at: datetime) -> UUID:
    id_ = new_id()
    row = {
        "id": id_,
        "account_id": new_id(),
        "url": url,
        "event_types": ["link.clicked"],
        "secret": _KEYS.encrypt(webhooks.c.secret, id_, "whsec_of-the-benchmark"),
        "created_at": at,
        "updated_at": at,
    }
    async with db.write() as tx:
        await tx.execute(insert(webhooks).values(row))
    return id_


async def enqueue(db: Database, ids: Sequence[UUID], count: int) -> None:
    """Record `count` deliveries of clicks, alternating between the subscriptions."""
    for start in range(0, count, _BATCH):
        async with db.write() as tx:
            for number in range(start, min(start + _BATCH, count), len(ids)):
                to = {_ACCOUNT: ids[: count - number]}
                await record_all(tx, [_click()], to)


def _click() -> WebhookEvent:
    """An event as large as a real one."""
    data = {
        "at": int(time.time() * 1_000_000),
        "id": str(new_id()),
        "link_id": str(new_id()),
        "ip": "198.51.100.7",
        "country": "DE",
        "visitor_id": "9d1f0c8be2a34f67",
        "referrer": "https://www.example.com/some/page",
        "device": "mobile",
        "browser": "Mobile Safari",
        "platform": "iOS",
        "created_at": "2026-11-20T02:56:16.123456Z",
    }
    return WebhookEvent("link.clicked", _ACCOUNT, new_id(), datetime.now(UTC), data)


async def mark_all_delivered(db: Database) -> None:
    async with db.write() as tx:
        await tx.execute(update(webhook_deliveries).values(status="delivered", next_attempt_at=None))


async def count_of(db: Database, status: str) -> int:
    counted = select(func.count()).select_from(webhook_deliveries).where(webhook_deliveries.c.status == status)
    async with db.read() as tx:
        return (await tx.execute(counted)).scalar_one()
