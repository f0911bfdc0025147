"""Mixed load: visits, requests of the API, imports, and a webhook's receiver.

What is written has a mark by which it is looked for afterwards.
"""

import asyncio
import contextlib
import ssl
import time
from array import array
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import httpx
import trustme
from aiohttp import web
from nodes.cluster import BASE_URL, CLIENT, HTTP, Cluster, Node

_PERSON = "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0"
_PATIENCE = 10.0  # seconds for an answer
_LINKS = 12  # per account
VISITS, WRITES, READS, STATISTICS, IMPORTS = "redirects", "API writes", "API reads", "statistics", "imports"
_PAUSES = {WRITES: 2.6, READS: 5.2, STATISTICS: 5.2}
"""Seconds between two requests of an account: a key has 60 a minute, and the first minute also prepares."""
_BETWEEN_IMPORTS = 45.0
_IMPORTED = 100  # links per import
_REFUSED_DELIVERIES = 50  # the receiver refuses one attempt of so many


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
        self.received_at: dict[str, float] = {}
        self.repeated = 0
        self._attempts = 0
        self.refused = 0

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
        self._attempts += 1
        if self._attempts % _REFUSED_DELIVERIES == 0:
            self.refused += 1
            return web.Response(status=503)
        self.repeated += event["id"] in self.received
        self.received[event["id"]] = event
        self.received_at.setdefault(event["id"], time.monotonic())
        return web.Response()

    async def _page(self, _request: web.Request) -> web.Response:
        return web.Response(text="<!doctype html><title>A page</title>", content_type="text/html")


@dataclass
class Answers:
    """To requests of one kind."""

    seconds: "array[float]" = field(default_factory=lambda: array("d"))
    """How long each answer took."""
    refused: Counter[str] = field(default_factory=Counter)
    """Requests without a successful answer, by status or error."""
    longest_gap: float = 0.0
    """Seconds between two answers."""

    @property
    def answered(self) -> int:
        return len(self.seconds)

    def add(self, other: "Answers") -> None:
        self.seconds += other.seconds
        self.refused += other.refused
        self.longest_gap = max(self.longest_gap, other.longest_gap)


Period = defaultdict[str, Answers]
"""What was answered during one fault, by kind of request."""


class Traffic:
    """Visits through the load balancer at a steady rate, requests of the API by the links' owners, and imports."""

    def __init__(self, keys: Mapping[str, str], *, rate: float, random: Random) -> None:
        """`keys`: by name of the account. `rate`: visits per second.

        The first account has the webhook and one visit of 25; the last one imports.
        """
        self.accounts = [Account(name, key) for name, key in keys.items()]
        self._marks = f"https://{random.randbytes(4).hex()}.example/"
        self.periods = [Period(Answers)]
        self._last: dict[str, float] = {}
        self._rate = rate
        self._random = random
        self.visited: list[str] = []
        """The slug of each visit, by its number."""
        self.is_answered = bytearray()
        """For each visit; one without an answer may have been counted or not."""
        self.visited_at = array("d")
        self.imports = 0
        self.imported: list[str] = []
        """Destinations of links whose import has ended."""

    @contextlib.asynccontextmanager
    async def running(self, cluster: Cluster) -> AsyncIterator[None]:
        """Until the end there are visits and changes. At the start, all nodes have cached all links."""
        for account in self.accounts:
            await account.prepare(_LINKS)
            for slug in account.visited:
                await asyncio.to_thread(cluster.cache, slug)
        await self.accounts[0].subscribe(f"https://{CLIENT}/hook")
        stop = asyncio.Event()
        traffic = asyncio.create_task(self._run(stop, cluster))
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

    def number(self, referrer: str) -> int:
        return int(referrer.removeprefix(self._marks))

    async def _run(self, stop: asyncio.Event, cluster: Cluster, *, connections: int = 12) -> None:
        async with asyncio.TaskGroup() as group:
            for _ in range(connections):
                group.create_task(self._visit_until(stop, connections / self._rate))
            for account in self.accounts:
                for kind, request in account.requests.items():
                    group.create_task(self._request_until(stop, kind, request))
            group.create_task(self._import_until(stop, cluster))

    def start_period(self) -> None:
        self.periods.append(Period(Answers))

    def _note(self, kind: str, started: float, refusal: str) -> None:
        """`refusal`: empty for a successful answer."""
        answers, now = self.periods[-1][kind], time.monotonic()
        if refusal:
            answers.refused[refusal] += 1
            return
        answers.seconds.append(now - started)
        answers.longest_gap = max(answers.longest_gap, now - self._last.setdefault(kind, now))
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
            started = time.monotonic()
            self.visited.append(slug)
            self.visited_at.append(started)
            self.is_answered.append(0)
            refusal = await visitor.visit(slug, self.mark(number))
            self.is_answered[number] = not refusal
            self._note(VISITS, started, refusal)
        await visitor.end()

    async def _request_until(self, stop: asyncio.Event, kind: str, request: "Request") -> None:
        await asyncio.sleep(_PAUSES[kind] * self._random.random())
        while not stop.is_set():
            pause = asyncio.create_task(asyncio.sleep(_PAUSES[kind]))
            started, refusal = time.monotonic(), ""
            try:
                await request(self._random)
            except RefusedError as refused:
                refusal = refused.reason
            self._note(kind, started, refusal)
            await pause

    async def _import_until(self, stop: asyncio.Event, cluster: Cluster) -> None:
        """By the command, on any node. After a failure it runs again, and continues."""
        account = self.accounts[-1]
        while not stop.is_set():
            pause = asyncio.create_task(asyncio.sleep(_BETWEEN_IMPORTS))
            self.imports += 1
            destinations = [f"{account.imported}{self.imports}/{number}" for number in range(_IMPORTED)]
            file = cluster.directory / "imported.csv"
            file.write_text("\n".join(["Destination URL", *destinations]))
            refusal = "first"
            while refusal:
                started = time.monotonic()
                node = self._random.choice(cluster.nodes)
                code = await asyncio.to_thread(_import, node, f"{account.name}@example.com", file)
                refusal = f"exit code {code}" if code else ""
                self._note(IMPORTS, started, refusal)
            self.imported += destinations
            await asyncio.wait([pause, asyncio.create_task(stop.wait())], return_when=asyncio.FIRST_COMPLETED)


class Visitor:
    """A connection that opens again when it breaks."""

    def __init__(self) -> None:
        self._writer: asyncio.StreamWriter | None = None

    async def visit(self, slug: str, referrer: str) -> str:
        """Empty for a redirect; otherwise what came instead."""
        request = f"GET /{slug} HTTP/1.1\r\nHost: {HTTP}\r\nUser-Agent: {_PERSON}\r\nReferer: {referrer}\r\n\r\n"
        try:
            async with asyncio.timeout(_PATIENCE):
                if self._writer is None:
                    self._reader, self._writer = await asyncio.open_connection(HTTP, 80)
                self._writer.write(request.encode())
                head = await self._reader.readuntil(b"\r\n\r\n")
        except (OSError, TimeoutError, asyncio.IncompleteReadError):
            self.close()
            return "no answer"
        if b"content-length: 0\r\n" not in head.lower():
            self.close()  # with the rest of the answer
        status = head.split(b" ", 2)[1].decode()
        return "" if status == "302" else _reason(status, has_advice=b"\r\nretry-after:" in head.lower())

    def close(self) -> None:
        if self._writer:
            self._writer.close()
        self._writer = None

    async def end(self) -> None:
        if self._writer:
            self._writer.close()
            with contextlib.suppress(OSError):
                await self._writer.wait_closed()


Request = Callable[[Random], Awaitable[object]]


class RefusedError(Exception):
    def __init__(self, reason: str) -> None:
        """`reason`: a status, or what was wrong with the connection."""
        self.reason = reason


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
        self.imported = f"http://{CLIENT}/{key[-6:].lower()}/imported/"
        """How the destinations of imported links begin."""
        self.visited: list[str] = []
        """Slugs that get visits; they are not changed."""
        self.ids: dict[str, str] = {}
        """Ids of links by slug."""
        self.created: list[str] = []
        """Slugs of answered creations."""
        self.destinations: dict[str, list[str]] = {}
        """What each link may lead to: the last answered change, and later ones without an answer."""
        self.requests: dict[str, Request] = {WRITES: self.write, READS: self.read, STATISTICS: self.read_statistics}
        self._number = 0

    async def prepare(self, count: int) -> None:
        for _ in range(count):
            self.visited.append(await self.create())

    async def create(self) -> str:
        """The slug."""
        self._number += 1
        slug = f"{self.key[-6:].lower()}-{self._number}"
        body = await self._send("POST", "/links", {"slug": slug, "destination_url": _destination(slug, 0)})
        self.ids[slug] = body["id"]
        self.created.append(slug)
        self.destinations[slug] = [body["destination_url"]]
        return slug

    async def write(self, random: Random) -> None:
        changeable = self.created_later
        if not changeable or random.random() < 0.5:
            await self.create()
            return
        slug = random.choice(changeable[-20:])
        self._number += 1
        destination = _destination(slug, self._number)
        self.destinations[slug].append(destination)
        await self._send("PATCH", f"/links/{self.ids[slug]}", {"destination_url": destination})
        self.destinations[slug] = [destination]

    async def read(self, random: Random) -> None:
        slug = random.choice(self.created)
        path = random.choice((f"/links/{self.ids[slug]}", "/links?per_page=50", f"/links?search={slug}"))
        await self._send("GET", path)

    async def read_statistics(self, random: Random) -> None:
        link = f"/links/{self.ids[random.choice(self.visited)]}"
        await self._send("GET", random.choice(("/stats", f"{link}/stats", "/clicks?per_page=50", f"{link}/clicks")))

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
        await self._send("POST", "/webhooks", {"url": url, "event_types": events})

    async def close(self) -> None:
        await self._client.aclose()

    async def _send(self, method: str, path: str, body: Any = None) -> Any:
        try:
            response = await self._client.request(method, path, json=body)
        except httpx.HTTPError as error:
            raise RefusedError(type(error).__name__) from error
        if not response.is_success:
            raise RefusedError(_reason(str(response.status_code), has_advice="Retry-After" in response.headers))
        return response.json()["data"]


def _reason(status: str, *, has_advice: bool) -> str:
    """A node that cannot answer says when to ask again; the load balancer, which reached none in time, does not."""
    return status if status != "503" or has_advice else "503 of the load balancer"


def _import(node: Node, email: str, file: Path) -> int:
    """The exit code."""
    arguments = ("import", "csv", "--account", email, "--file", str(file))
    return node.run(*arguments).returncode


def _destination(slug: str, number: int) -> str:
    return f"http://{CLIENT}/{slug}/{number}"
