"""The webhooks API with everything real around it: a database, a name server behind the way out, Alice and Bob."""

import contextlib
import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
from contexts import new_context
from people import FakeClock, Person, new_client, new_person
from servers import ALLOW, NameServer, name_server

from waypost.database import Database
from waypost.kit.ids import new_id
from waypost.outbound import Outbound
from waypost.resources.webhooks import WebhookEvent, api, queue, record, record_all
from waypost.resources.webhooks.delivery_limiter import DeliveryLimiter
from waypost.resources.webhooks.deps import Deps
from waypost.resources.webhooks.queue import ClaimedDelivery, DeliveryOutcome
from waypost.resources.webhooks.receiver_checker import ReceiverChecker

HOST = "hooks.example.com"
PUBLIC = "93.184.216.34"  # nothing is sent there: it is looked at only
URL = f"https://{HOST}/waypost"
NEW = {"url": URL, "event_types": ["link.created"]}
LEASE = timedelta(seconds=30)


@dataclass
class Env:
    client: httpx.AsyncClient
    deps: Deps
    clock: FakeClock
    names: NameServer
    alice: Person
    bob: Person
    limiter: DeliveryLimiter = field(default_factory=DeliveryLimiter)

    @property
    def db(self) -> Database:
        return self.deps.db

    async def ask(self, method: str, path: str, who: Person | None = None, **rest: Any) -> httpx.Response:
        return await self.client.request(method, f"/api/v1/webhooks{path}", headers=(who or self.alice).headers, **rest)

    async def post(self, fields: dict[str, Any], who: Person | None = None) -> httpx.Response:
        return await self.ask("POST", "", who, content=json.dumps(fields))  # in ASCII: a lone surrogate, too

    async def make(self, who: Person | None = None, **fields: Any) -> dict[str, Any]:
        answer = await self.post(NEW | fields, who)
        assert answer.status_code == 201, answer.text
        return answer.json()["data"]

    async def get(self, path: str = "", who: Person | None = None) -> httpx.Response:
        return await self.ask("GET", path, who)

    async def delete(self, webhook: dict[str, Any], who: Person | None = None) -> httpx.Response:
        return await self.ask("DELETE", f"/{webhook['id']}", who)

    async def deliveries(self, webhook: dict[str, Any], query: str = "") -> list[dict[str, Any]]:
        answer = await self.get(f"/{webhook['id']}/deliveries{query}")
        assert answer.status_code == 200, answer.text
        assert answer.json()["meta"]["total"] == len(answer.json()["data"])
        return answer.json()["data"]

    async def happen(self, type_: str = "link.created", who: Person | None = None) -> None:
        """Something that webhooks of the account hear of."""
        event = WebhookEvent(type_, (who or self.alice).account_id, new_id(), self.clock(), {"number": 1})
        async with self.db.write() as tx:
            await record(tx, event)

    async def happen_to_nobody(self) -> None:
        """A delivery of a subscription that is gone, as a deletion leaves it that had too many."""
        event = WebhookEvent("link.created", self.alice.account_id, new_id(), self.clock(), {})
        async with self.db.write() as tx:
            await record_all(tx, [event], {event.account_id: [new_id()]})

    async def claim(self) -> list[ClaimedDelivery]:
        async with self.db.write() as tx:
            return await queue.claim(tx, clock=self.clock, lease=LEASE, limit=100, limiter=self.limiter)

    async def settle(self, claimed: Sequence[ClaimedDelivery], status: Any, **rest: Any) -> None:
        async with self.db.write() as tx:
            await queue.settle(tx, [DeliveryOutcome(each, status, **rest) for each in claimed])


def faults(answer: httpx.Response) -> dict[str, list[str]]:
    assert answer.status_code == 422, answer.text
    error = answer.json()["error"]
    assert (error["code"], error["message"]) == ("validation_error", "The given data was invalid.")
    return error["errors"]


def path_of(webhook: dict[str, Any], delivery: dict[str, Any] | UUID) -> str:
    id_ = delivery["id"] if isinstance(delivery, dict) else delivery
    return f"/{webhook['id']}/deliveries/{id_}/redeliver"


@contextlib.asynccontextmanager
async def open_env(
    db: Database, directory: Path, receiver_checker: ReceiverChecker | None = None
) -> AsyncIterator[Env]:
    clock = FakeClock()
    async with name_server() as names:
        names.has(HOST, [PUBLIC])
        outbound = Outbound(allow=ALLOW, dns_servers=[names.address])
        deps = Deps(**vars(new_context(db, clock)), receiver_checker=receiver_checker or ReceiverChecker(outbound))
        alice, bob = await new_person(db, "Alice"), await new_person(db, "Bob")
        async with new_client(db, directory, (deps, api.ENDPOINTS), clock=clock) as client:
            yield Env(client, deps, clock, names, alice, bob)
