"""The whole service within 256 MB: `serve` on SQLite in a control group, 1,000 redirects per second, and a dashboard.

Visits arrive at a constant rate, whether or not earlier ones have their response. A second client requests pages of the
dashboard meanwhile, nearly as fast as the rate limit of an account allows.
"""

import asyncio
import itertools
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from bench.client import percentile
from bench.memory_limit import CannotLimit, MemoryLimit
from bench.report import Failed, Row, measured
from bench.run import Run
from bench.seed import Store, slug_of
from bench.servers import ALL_CORES, SECRET_KEY, WAYPOST, free_port, started
from waypost.accounts.members import store as memberships
from waypost.accounts.sessions import store as sessions
from waypost.database import Database
from waypost.kit.clock import now

_LIMIT = 256  # MB
_RATE = 1_000
_CONNECTIONS = 50
_PAUSE = 0.15  # seconds between two pages
_WHAT = f"redirects per second of the whole service within {_LIMIT} MB, of {_RATE:,} sent"


@dataclass
class _Times:
    """Milliseconds until the response."""

    visits: list[float] = field(default_factory=list)
    pages: list[float] = field(default_factory=list)


def measure(run: Run) -> list[Row]:
    seconds, store = run.seconds * run.rounds, run.copied_store(run.few)
    try:
        limit = MemoryLimit(_LIMIT)
    except CannotLimit as error:
        return [Row(_WHAT, "not measured", str(error))]
    directory, port = run.new_directory(), free_port()
    serve = [WAYPOST, "serve", "--port", str(port), "--data-dir", str(directory / "data")]
    settings = {"DATABASE_URL": store.url, "BASE_URL": f"http://127.0.0.1:{port}", "SECRET_KEY": SECRET_KEY}
    with (
        limit,
        started(
            "waypost",
            limit.command(serve),
            port=port,
            ready="/readyz",
            cores=ALL_CORES,
            directory=directory,
            environment={f"WAYPOST_{name}": value for name, value in settings.items()},
        ) as server,
    ):
        processes = server.processes()
        began = time.perf_counter()
        times = asyncio.run(_load(server.port, store, seconds))
        rate = len(times.visits) / (time.perf_counter() - began)
        private, kills = limit.private_megabytes(), limit.kills()
        if kills or not set(processes) <= set(server.processes()):
            raise Failed(f"{kills} processes were killed at {_LIMIT} MB")
    detail = (
        f"{seconds} s; p99 {percentile(times.visits, 99):.1f} ms; {len(times.pages)} pages of the dashboard"
        f" meanwhile, p95 {percentile(times.pages, 95):.0f} ms; private memory at the end {private:.0f} MB"
    )
    return [measured(_WHAT, rate, detail, "/s")]


async def _load(port: int, store: Store, seconds: int) -> _Times:
    times = _Times()
    cookie = await _session(store)
    browsing = asyncio.create_task(_browse(port, cookie, times))
    visiting = asyncio.gather(*(_visit(port, number, seconds, times) for number in range(_CONNECTIONS)))
    both: list[asyncio.Future[Any]] = [browsing, visiting]
    await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
    browsing.cancel()
    await visiting
    return times


async def _session(store: Store) -> str:
    db = Database(store.url)
    async with db.write() as tx:
        (owner,) = await memberships.list_of_account(tx, store.account)
        token = await sessions.create(tx, owner.person.id, user_agent="bench", ip="127.0.0.1", now=now())
    await db.close()
    return f"waypost={token}"


async def _visit(port: int, number: int, seconds: int, times: _Times) -> None:
    """Send the visits of one connection, each at its time."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    begin, interval = time.perf_counter() + number / _RATE, _CONNECTIONS / _RATE
    for count in range(int(seconds / interval)):
        await asyncio.sleep(begin + count * interval - time.perf_counter())
        slug = slug_of((number + count * _CONNECTIONS) * 7 % 10_000)
        agent = f"Mozilla/5.0 (X11; Linux x86_64) Chrome/{100 + count % 40}.0.0.0 Safari/537.36"
        writer.write(f"GET /{slug} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUser-Agent: {agent}\r\n\r\n".encode())
        response = await reader.readuntil(b"\r\n\r\n")
        if not response.startswith(b"HTTP/1.1 302"):
            raise Failed(response.decode(errors="replace")[:200])
        times.visits.append((time.perf_counter() - begin - count * interval) * 1000)
    writer.close()


async def _browse(port: int, cookie: str, times: _Times) -> None:
    for path in _paths():
        began = time.perf_counter()
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        head = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nCookie: {cookie}\r\nConnection: close\r\n\r\n"
        writer.write(head.encode())
        response = await reader.read(-1)
        writer.close()
        if not response.startswith(b"HTTP/1.1 200"):
            raise Failed(f"{path}: {response.decode(errors='replace')[:200]}")
        times.pages.append((time.perf_counter() - began) * 1000)
        await asyncio.sleep(_PAUSE)


def _paths() -> Iterator[str]:
    pages = ("/", "/links", "/links?search=landing", "/links/new", "/domains", "/webhooks", "/pixels", "/account")
    return itertools.cycle(pages)
