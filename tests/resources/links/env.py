"""The links API with a real database, a local website behind the real outbound checks, Alice and Bob."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import httpx
from contexts import new_context
from people import FakeClock, Person, new_client, new_person
from sqlalchemy import select

from waypost.accounts import Caller, ProcessCaller, find_account
from waypost.database import Database, KeyRing
from waypost.outbound import Blocklist, DestinationChecker, Outbound, UrlSafety
from waypost.resources.links import api
from waypost.resources.links.deps import Deps
from waypost.resources.links.images import api as media_api
from waypost.resources.links.images.encoder import ImageReencoder
from waypost.resources.links.images.files import ImageFiles
from waypost.resources.links.model import link_images
from waypost.resources.pixels import api as pixels_api
from waypost.settings.reserved import RESERVED

HOST = "127.0.0.2"  # the only local host that outbound requests may reach
SHARED = "go.test"
KEYS = KeyRing(["a key"])
UNSAFE = "/malware"
PAGE = """<html><head><title>Page title</title><meta property="og:title" content="Scraped OG title">
<meta property="og:description" content="Scraped description"><meta property="og:image" content="/card.png"></head>"""


@dataclass
class Website:
    """Answers every path with `pages[path]`, or 404; records the requested paths."""

    pages: dict[str, tuple[int, str]] = field(default_factory=lambda: {"/page": (200, PAGE), UNSAFE: (200, PAGE)})
    seen: list[str] = field(default_factory=list)
    port: int = 0

    def url(self, path: str = "/page") -> str:
        return f"http://{HOST}:{self.port}{path}"

    @contextlib.asynccontextmanager
    async def open(self) -> AsyncIterator["Website"]:
        server = await asyncio.start_server(self._answer, HOST, 0)
        self.port = server.sockets[0].getsockname()[1]
        async with server:
            yield self

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        path = head.split()[1].decode()
        self.seen.append(path)
        status, html = self.pages.get(path.partition("?")[0], (404, ""))
        body = html.encode()
        writer.write(
            f"HTTP/1.1 {status} X\r\nContent-Type: text/html; charset=utf-8\r\n"
            f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode()
            + body
        )
        await writer.drain()
        writer.close()


@dataclass
class Env:
    client: httpx.AsyncClient
    deps: Deps
    clock: FakeClock
    site: Website
    alice: Person
    bob: Person
    changed_slugs: list[str]
    """Changes published to redirects, in order."""

    async def post(self, fields: dict[str, Any], who: Person | None = None) -> httpx.Response:
        headers = (who or self.alice).headers
        body = json.dumps({"destination_url": self.site.url()} | fields)  # in ASCII: a lone surrogate can be sent, too
        return await self.client.post("/api/v1/links", content=body, headers=headers)

    async def make(self, who: Person | None = None, **fields: Any) -> dict[str, Any]:
        """A link that is there; its destination is the website's page unless one is given."""
        answer = await self.post(fields, who)
        assert answer.status_code == 201, answer.text
        return answer.json()["data"]

    async def patch(self, link: dict[str, Any], fields: dict[str, Any], who: Person | None = None) -> httpx.Response:
        headers = (who or self.alice).headers
        body = json.dumps(fields)
        return await self.client.patch(f"/api/v1/links/{link['id']}", content=body, headers=headers)

    async def changed(self, link: dict[str, Any], **fields: Any) -> dict[str, Any]:
        answer = await self.patch(link, fields)
        assert answer.status_code == 200, answer.text
        return answer.json()["data"]

    async def send_form(
        self, method: str, path: str, fields: Sequence[tuple[str, str]], file: bytes | None = None, name: str = "a.png"
    ) -> httpx.Response:
        parts: list[tuple[str, Any]] = [(key, (None, value.encode())) for key, value in fields]
        if file is not None:
            parts.append(("og_image_file", (name, file, "image/png")))
        return await self.client.request(method, f"/api/v1/links{path}", files=parts, headers=self.alice.headers)

    async def delete(self, link: dict[str, Any], who: Person | None = None) -> httpx.Response:
        return await self.client.delete(f"/api/v1/links/{link['id']}", headers=(who or self.alice).headers)

    async def caller(self) -> Caller:
        """Alice, where a test calls a service itself."""
        async with self.deps.db.read() as tx:
            account = await find_account(tx, self.alice.account_id)
        assert account is not None
        return ProcessCaller(account, "alice")

    async def find(self, link: dict[str, Any], who: Person | None = None) -> httpx.Response:
        return await self.client.get(f"/api/v1/links/{link['id']}", headers=(who or self.alice).headers)

    async def browse(self, query: str = "", who: Person | None = None) -> httpx.Response:
        return await self.client.get(f"/api/v1/links{query}", headers=(who or self.alice).headers)

    async def pixel(self, who: Person | None = None, **fields: Any) -> str:
        """The id of a pixel that is there."""
        new = {"platform": "facebook", "name": "A pixel", "pixel_id": "123456"} | fields
        answer = await self.client.post("/api/v1/pixels", json=new, headers=(who or self.alice).headers)
        assert answer.status_code == 201, answer.text
        return answer.json()["data"]["id"]

    async def change_pixel(self, pixel: str, **fields: Any) -> None:
        answer = await self.client.patch(f"/api/v1/pixels/{pixel}", json=fields, headers=self.alice.headers)
        assert answer.status_code == 200, answer.text

    async def delete_pixel(self, pixel: str) -> None:
        answer = await self.client.delete(f"/api/v1/pixels/{pixel}", headers=self.alice.headers)
        assert answer.status_code == 204, answer.text

    async def uploaded_images(self) -> dict[str, bytes]:
        """Contents by name, wherever they are stored."""
        if isinstance(self.deps.image_store, ImageFiles):
            return {path.name: path.read_bytes() for path in self.deps.image_store.directory.glob("*")}
        async with self.deps.db.read() as tx:
            rows = await tx.execute(select(link_images.c.name, link_images.c.content))
            return {row.name: row.content for row in rows}


def faults(answer: httpx.Response) -> dict[str, list[str]]:
    assert answer.status_code == 422, answer.text
    error = answer.json()["error"]
    assert (error["code"], error["message"]) == ("validation_error", "The given data was invalid.")
    return error["errors"]


@contextlib.asynccontextmanager
async def open_env(db: Database, directory: Path) -> AsyncIterator[Env]:
    clock, changed_slugs = FakeClock(), []
    async with Website().open() as site:
        blocklist = directory / "blocklist"
        blocklist.write_text(site.url(UNSAFE) + "\n")
        outbound = Outbound(allow=[ip_network(HOST)])
        context = new_context(
            db, clock, changed_slugs.extend, directory=directory, outbound=outbound, key_ring=KEYS, reserved=RESERVED
        )
        checker = DestinationChecker(outbound, UrlSafety(Blocklist(blocklist)))
        deps = Deps(**vars(context), destination_checker=checker, images=ImageReencoder())
        alice, bob = await new_person(db, "Alice"), await new_person(db, "Bob")
        groups, routes = [(context, pixels_api.ENDPOINTS), (deps, api.ENDPOINTS)], [media_api.route(deps.image_store)]
        async with new_client(db, directory, *groups, routes=routes, clock=clock) as client:
            yield Env(client, deps, clock, site, alice, bob, changed_slugs)
        deps.images.close()
