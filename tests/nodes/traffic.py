"""Visits, changes through the API, and a webhook's receiver: each with a mark by which it is looked for afterwards."""

import asyncio
import contextlib
import ssl
import time
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import httpx
import trustme
from aiohttp import web
from nodes.cluster import BASE_URL, CLIENT, HTTP, Cluster

_PERSON = "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0"
_PATIENCE = 10.0  # seconds for an answer
_LINKS = 12  # per account
_BETWEEN_WRITES = 1.6  # seconds: a key has 60 requests a minute, and the first minute also prepares


class Site:
    """The destination of all links, and the receiver of the webhooks."""

    def __init__(self, directory: Path) -> None:
        authority = trustme.CA()
        self.ca_file = directory / "receiver-ca.pem"
        authority.cert_pem.write_to_path(self.ca_file)
        self._tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        authority.issue_cert(CLIENT).configure_cert(self._tls)
        self.received: dict[str, dict[str, Any]] = {}
        """Events by id: a delivery may come twice."""
        self.repeated = 0

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        app = web.Application()
        app.router.add_post("/hook", self._receive)
        app.router.add_get("/{path:.*}", self._page)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        await web.TCPSite(runner, CLIENT, 80).start()
        await web.TCPSite(runner, CLIENT, 443, ssl_context=self._tls).start()
        try:
            yield
        finally:
            await runner.cleanup()

    async def _receive(self, request: web.Request) -> web.Response:
        event = await request.json()
        self.repeated += event["id"] in self.received
        self.received[event["id"]] = event
        return web.Response()

    async def _page(self, _request: web.Request) -> web.Response:
        return web.Response(text="<!doctype html><title>A page</title>", content_type="text/html")


@dataclass
class Answers:
    """Of one kind of requests during one fault."""

    answered: int = 0
    refused: int = 0
    longest_gap: float = 0.0
    """Seconds between two answers."""


@dataclass
class Period:
    visits: Answers = field(default_factory=Answers)
    writes: Answers = field(default_factory=Answers)


class Traffic:
    """Visits through the load balancer at a steady rate, and changes of links by their owners."""

    def __init__(self, keys: Mapping[str, str], *, rate: float, random: Random) -> None:
        """`keys`: by name of the account. `rate`: visits per second.

        The first account has the webhook and one visit of 25.
        """
        self.accounts = [Account(name, key) for name, key in keys.items()]
        self._marks = f"https://{random.randbytes(4).hex()}.example/"
        self.period = Period()
        self._last = {"visits": time.monotonic(), "writes": time.monotonic()}
        self._rate = rate
        self._random = random
        self.visited: list[str] = []
        """The slug of each visit, by its number."""
        self.is_answered = bytearray()
        """For each visit; one without an answer may have been counted or not."""

    @contextlib.asynccontextmanager
    async def running(self, cluster: Cluster) -> AsyncIterator[None]:
        """Until the end there are visits and changes. At the start, all nodes have cached all links."""
        for account in self.accounts:
            await account.prepare(_LINKS)
            for slug in account.visited:
                await asyncio.to_thread(cluster.cache, slug)
        await self.accounts[0].subscribe(f"https://{CLIENT}/hook")
        stop = asyncio.Event()
        traffic = asyncio.create_task(self._run(stop))
        try:
            yield
        finally:
            stop.set()
            await traffic

    async def close(self) -> None:
        for account in self.accounts:
            await account.close()

    def mark(self, number: int) -> str:
        """The referrer of a visit."""
        return f"{self._marks}{number}"

    def made(self, referrer: str) -> bool:
        return referrer.startswith(self._marks)

    async def _run(self, stop: asyncio.Event, *, connections: int = 12) -> None:
        self._last = dict.fromkeys(self._last, time.monotonic())
        async with asyncio.TaskGroup() as group:
            for _ in range(connections):
                group.create_task(self._visit_until(stop, connections / self._rate))
            for account in self.accounts:
                group.create_task(self._write_until(stop, account))

    def start_period(self) -> None:
        self.period = Period()

    def _note(self, kind: str, *, is_answered: bool) -> None:
        answers: Answers = getattr(self.period, kind)
        if not is_answered:
            answers.refused += 1
            return
        now = time.monotonic()
        answers.answered += 1
        answers.longest_gap = max(answers.longest_gap, now - self._last[kind])
        self._last[kind] = now

    async def _visit_until(self, stop: asyncio.Event, interval: float) -> None:
        due = time.monotonic() + interval * self._random.random()
        visitor = Visitor()
        while not stop.is_set():
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            due = max(due + interval, time.monotonic() - 1)
            first, *others = self.accounts
            account = first if self._random.random() < 1 / 25 else self._random.choice(others)
            slug = self._random.choice(account.visited)
            number = len(self.visited)
            self.visited.append(slug)
            self.is_answered.append(0)
            self.is_answered[number] = is_answered = await visitor.visit(slug, self.mark(number)) == 302
            self._note("visits", is_answered=is_answered)
        await visitor.end()

    async def _write_until(self, stop: asyncio.Event, account: "Account") -> None:
        await asyncio.sleep(_BETWEEN_WRITES * self._random.random())
        while not stop.is_set():
            pause = asyncio.create_task(asyncio.sleep(_BETWEEN_WRITES))
            self._note("writes", is_answered=await account.write(self._random))
            await pause


class Visitor:
    """A connection that opens again when it breaks."""

    def __init__(self) -> None:
        self._writer: asyncio.StreamWriter | None = None

    async def visit(self, slug: str, referrer: str) -> int:
        """The status; 0 without an answer."""
        request = f"GET /{slug} HTTP/1.1\r\nHost: {HTTP}\r\nUser-Agent: {_PERSON}\r\nReferer: {referrer}\r\n\r\n"
        try:
            async with asyncio.timeout(_PATIENCE):
                if self._writer is None:
                    self._reader, self._writer = await asyncio.open_connection(HTTP, 80)
                self._writer.write(request.encode())
                head = await self._reader.readuntil(b"\r\n\r\n")
        except (OSError, TimeoutError, asyncio.IncompleteReadError):
            self.close()
            return 0
        if b"content-length: 0\r\n" not in head.lower():
            self.close()  # with the rest of the answer
        return int(head.split(b" ", 2)[1])

    def close(self) -> None:
        if self._writer:
            self._writer.close()
        self._writer = None

    async def end(self) -> None:
        if self._writer:
            self._writer.close()
            with contextlib.suppress(OSError):
                await self._writer.wait_closed()


class Account:
    def __init__(self, name: str, key: str) -> None:
        self.name = name
        self._client = httpx.AsyncClient(
            base_url=f"{BASE_URL}/api/v1",
            headers={"Authorization": f"Bearer {key}"},
            timeout=_PATIENCE,
            trust_env=False,
        )
        self.key = key
        self.visited: list[str] = []
        """Slugs that get visits; they are not changed."""
        self.ids: dict[str, str] = {}
        """Ids of links by slug."""
        self.created: list[str] = []
        """Slugs of answered creations."""
        self.destinations: dict[str, list[str]] = {}
        """What each link may lead to: the last answered change, and later ones without an answer."""
        self.refusals: Counter[int | str] = Counter()
        self._number = 0

    async def prepare(self, count: int) -> None:
        for _ in range(count):
            slug = await self.create()
            assert slug, self.refusals
            self.visited.append(slug)

    async def create(self) -> str:
        """The slug; empty if it was refused."""
        self._number += 1
        slug = f"{self.key[-6:].lower()}-{self._number}"
        body = await self._send("POST", "/links", {"slug": slug, "destination_url": _destination(slug, 0)})
        if body is None:
            return ""
        self.ids[slug] = body["id"]
        self.created.append(slug)
        self.destinations[slug] = [body["destination_url"]]
        return slug

    async def write(self, random: Random) -> bool:
        changeable = self.created_later
        if not changeable or random.random() < 0.5:
            return bool(await self.create())
        slug = random.choice(changeable[-20:])
        self._number += 1
        destination = _destination(slug, self._number)
        self.destinations[slug].append(destination)
        if await self._send("PATCH", f"/links/{self.ids[slug]}", {"destination_url": destination}) is None:
            return False
        self.destinations[slug] = [destination]
        return True

    @property
    def created_later(self) -> list[str]:
        """Slugs of answered creations while there was traffic."""
        return self.created[len(self.visited) :]

    async def get(self, path: str, **parameters: Any) -> Any:
        response = await self._client.get(path, params=parameters)
        assert response.status_code == 200, response.text
        return response.json()

    async def subscribe(self, url: str) -> None:
        events = ["link.created", "link.clicked"]
        assert await self._send("POST", "/webhooks", {"url": url, "event_types": events}), self.refusals

    async def close(self) -> None:
        await self._client.aclose()

    async def _send(self, method: str, path: str, body: Any) -> dict[str, Any] | None:
        try:
            response = await self._client.request(method, path, json=body)
        except httpx.HTTPError as error:
            self.refusals[type(error).__name__] += 1
            return None
        if response.is_success:
            data: dict[str, Any] = response.json()["data"]
            return data
        self.refusals[response.status_code] += 1
        return None


def _destination(slug: str, number: int) -> str:
    return f"http://{CLIENT}/{slug}/{number}"
