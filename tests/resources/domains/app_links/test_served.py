"""App links through the port of the redirects: two processes of one machine, and the life of a domain."""

import contextlib
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import pytest
from domains import domain
from people import Person, new_person
from sqlalchemy import update

from waypost.database import Database
from waypost.resources.domains.app_links.schemas import APPLE_EXAMPLE, GOOGLE_EXAMPLE
from waypost.resources.domains.model import domains
from waypost.settings import Settings
from waypost.web_app import open_full_app

HOST, BASE_URL = "go.brand.test", "http://app.test"
APPLE, GOOGLE = "/.well-known/apple-app-site-association", "/.well-known/assetlinks.json"


@dataclass
class Place:
    clients: list[httpx.AsyncClient]
    db: Database
    alice: Person
    domain: UUID

    async def put(self, **fields: Any) -> int:
        path = f"{BASE_URL}/api/v1/domains/{self.domain}/app-links"
        return (await self.clients[0].put(path, headers=self.alice.headers, json=fields)).status_code

    async def seen(self, path: str = APPLE, host: str = HOST) -> Any:
        """The document or status, the same from each process."""
        answers = [await client.get(f"http://{host}{path}") for client in self.clients]
        for answer in answers:
            assert "location" not in answer.headers
        seen = [json.loads(answer.content) if answer.content else answer.status_code for answer in answers]
        assert seen[0] == seen[1]
        return seen[0]


@pytest.fixture
async def place(database_url: str, tmp_path: Path) -> AsyncIterator[Place]:
    settings = Settings(
        base_url=BASE_URL,
        shared_domain="go.test",
        data_dir=tmp_path,
        database_url=database_url,
        secret_key="a key",
    )
    async with contextlib.AsyncExitStack() as stack:
        processes = [await stack.enter_async_context(open_full_app(settings)) for _ in range(2)]
        db = processes[0].db
        alice = await new_person(db, "alice", now=datetime.now(UTC))
        id_ = await domain(db, alice.account_id, HOST, not_found_url="https://brand.test/lost")
        clients = [httpx.AsyncClient(transport=httpx.ASGITransport(process.app)) for process in processes]
        yield Place(clients, db, alice, id_)


async def test_each_change_is_seen_by_the_next_request(place: Place) -> None:
    assert await place.seen() == 404
    assert await place.put(apple_app_site_association=APPLE_EXAMPLE) == 200
    assert (await place.seen(), await place.seen(GOOGLE)) == (APPLE_EXAMPLE, 404)
    assert await place.put(apple_app_site_association={}, assetlinks=GOOGLE_EXAMPLE) == 200
    assert (await place.seen(), await place.seen(GOOGLE)) == ({}, GOOGLE_EXAMPLE)
    assert await place.put() == 200
    assert (await place.seen(), await place.seen(GOOGLE)) == (404, 404)
    assert (await place.clients[0].get(f"http://{HOST}/nothing")).headers["location"] == "https://brand.test/lost"


async def test_only_the_verified_domain_has_them(place: Place) -> None:
    await place.put(apple_app_site_association=APPLE_EXAMPLE)
    for host in ("go.test", "www.go.brand.test", "other.test"):
        answers = [await client.get(f"http://{host}{APPLE}") for client in place.clients]
        assert {answer.status_code for answer in answers} == {404}
    await place.clients[0].delete(f"{BASE_URL}/api/v1/domains/{place.domain}", headers=place.alice.headers)
    assert await place.seen() == 404
    place.domain = await domain(place.db, place.alice.account_id, HOST, is_served=False)
    await place.put(apple_app_site_association=APPLE_EXAMPLE)
    assert await place.seen() == 404
    async with place.db.write() as tx:
        await tx.execute(update(domains).values(is_served=True))
    await place.put(apple_app_site_association={})
    assert await place.seen() == {}
