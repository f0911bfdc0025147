"""The domains API with links beside it, for two people who want the same names."""

import contextlib
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
from contexts import new_context
from people import FakeClock, Person, new_client
from resources.links.env import SHARED
from resources.links.env import Env as LinksEnv
from resources.links.env import open_env as open_links_env
from sqlalchemy import select, update

from waypost.database import Database
from waypost.resources import links
from waypost.resources.domains import WebDeps, api
from waypost.resources.domains.model import domains

NAME = "go.brand.test"
TARGET = "cname.test"


@dataclass
class Env:
    client: httpx.AsyncClient
    deps: WebDeps
    links: LinksEnv

    @property
    def alice(self) -> Person:
        return self.links.alice

    @property
    def bob(self) -> Person:
        return self.links.bob

    @property
    def clock(self) -> FakeClock:
        return self.links.clock

    @property
    def published(self) -> list[str]:
        """What was published to the redirects, in order."""
        return self.links.changed_slugs

    async def ask(self, method: str, path: str = "", who: Person | None = None, **rest: Any) -> httpx.Response:
        headers = (who or self.alice).headers
        return await self.client.request(method, f"/api/v1/domains{path}", headers=headers, **rest)

    async def post(self, fields: dict[str, Any], who: Person | None = None) -> httpx.Response:
        return await self.ask("POST", "", who, content=json.dumps(fields))  # in ASCII: a lone surrogate, too

    async def make(self, hostname: str = NAME, who: Person | None = None) -> dict[str, Any]:
        answer = await self.post({"hostname": hostname}, who)
        assert answer.status_code == 201, answer.text
        return answer.json()["data"]

    async def find(self, domain: dict[str, Any], who: Person | None = None) -> httpx.Response:
        return await self.ask("GET", f"/{domain['id']}", who)

    async def patch(self, domain: dict[str, Any], fields: dict[str, Any], who: Person | None = None) -> httpx.Response:
        return await self.ask("PATCH", f"/{domain['id']}", who, content=json.dumps(fields))

    async def delete(self, domain: dict[str, Any], who: Person | None = None) -> httpx.Response:
        return await self.ask("DELETE", f"/{domain['id']}", who)

    async def set(self, domain: dict[str, Any], **values: Any) -> None:
        """What only checks do."""
        async with self.deps.db.write() as tx:
            await tx.execute(update(domains).where(domains.c.id == UUID(domain["id"])).values(values))

    async def go_live(self, domain: dict[str, Any]) -> None:
        await self.set(domain, is_served=True, status="verified", unverified_since=None, verified_at=self.clock())

    async def row(self, domain: dict[str, Any]) -> Any:
        async with self.deps.db.read() as tx:
            return (await tx.execute(select(domains).where(domains.c.id == UUID(domain["id"])))).one_or_none()


async def points_nowhere(_hostname: str) -> bool:
    return False


async def no_addresses() -> list[str]:
    return []


@contextlib.asynccontextmanager
async def open_env(db: Database, directory: Path) -> AsyncIterator[Env]:
    async with open_links_env(db, directory) as beside:
        own_hosts = "app.test", TARGET, SHARED, "127.0.0.1"
        context = new_context(db, beside.clock, beside.changed_slugs.extend, own_hosts=own_hosts, cname_target=TARGET)
        deps = WebDeps(
            **vars(links.domain_deps(context)),
            points_here=points_nowhere,
            find_addresses=no_addresses,
            find_free_share=partial(links.find_free_share, db, context.reserved),
            check_url=beside.deps.destination_checker.check_url,
        )
        async with new_client(db, directory, (deps, api.ENDPOINTS), clock=beside.clock) as client:
            yield Env(client, deps, beside)
