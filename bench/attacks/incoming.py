"""Attacks on connections: stalled bodies, incomplete heads, unexpected bodies, more connections than descriptors."""

import asyncio
import contextlib
import itertools
import time
from collections.abc import AsyncIterator

from bench.attacks.scenario import Latencies, Scenario
from bench.report import Row, measured

_CLOSED_WITHIN = 40.0  # seconds
_MALFORMED = 2_000


async def incomplete_requests(scenario: Scenario) -> list[Row]:
    """Stalled bodies, endless heads of tiny lines, and a megabyte each for a path that accepts no such body."""
    host, keys = f"Host: 127.0.0.1:{scenario.port}\r\n", itertools.cycle(scenario.attacker.keys)

    def stalled() -> bytes:
        head = (
            f"POST /api/v1/links HTTP/1.1\r\n{host}Authorization: Bearer {next(keys)}\r\nContent-Length: 900000\r\n\r\n"
        )
        return head.encode() + b"x" * 60_000

    def unfinished() -> bytes:
        return f"GET / HTTP/1.1\r\n{host}".encode() + b"a:b\r\n" * 120

    def unexpected() -> bytes:
        return f"POST /api/stripe HTTP/1.1\r\n{host}Content-Length: 1000000\r\n\r\n".encode() + b"x" * 999_999

    memory, latencies = scenario.web_memory(), list[Latencies]()
    grown, began = 0, time.monotonic()
    async with scenario.observed(latencies), _connections() as opened:
        for sent in (stalled, unfinished, unexpected):
            for _ in range(scenario.connections):
                opened.append(asyncio.create_task(_hold(scenario.port, sent())))
                await asyncio.sleep(0.001)
                grown = max(grown, scenario.web_memory() - memory) if len(opened) % 50 == 0 else grown
        while not all(task.done() for task in opened) and time.monotonic() < began + 2 * _CLOSED_WITHIN:
            await asyncio.sleep(0.2)
            grown = max(grown, scenario.web_memory() - memory)
    longest = max((task.result() for task in opened if not task.cancelled()), default=2 * _CLOSED_WITHIN)
    count = f"{scenario.connections:,}"
    name = f"{count} stalled bodies, {count} unfinished heads, {count} x 1 MB at /api/stripe"
    return [
        *latencies[0].rows(name, scenario.before),
        measured(f"{name}: growth of the web process", grown / 1e6, "resident memory, at its highest", " MB"),
        measured(f"{name}: longest time that a connection stayed open", longest, unit=" s"),
    ]


async def trailers(scenario: Scenario) -> list[Row]:
    """Requests that are answered at once, with a trailer that never ends and that the parser keeps."""
    host = f"Host: 127.0.0.1:{scenario.port}\r\n"
    sent = f"POST /nothing HTTP/1.1\r\n{host}Transfer-Encoding: chunked\r\n\r\n0\r\nX: ".encode() + b"y" * 60_000
    memory, latencies, grown, count = scenario.web_memory(), list[Latencies](), 0, scenario.connections * 4
    async with scenario.observed(latencies), _connections() as opened:
        for number in range(count):
            opened.append(asyncio.create_task(_hold(scenario.port, sent)))
            await asyncio.sleep(0.001)
            grown = max(grown, scenario.web_memory() - memory) if number % 50 == 0 else grown
    name = f"{count:,} answered requests with an endless trailer"
    return [
        *latencies[0].rows(name, scenario.before),
        measured(f"{name}: growth of the web process", grown / 1e6, "resident memory, at its highest", " MB"),
    ]


async def descriptors(scenario: Scenario) -> list[Row]:
    """Silent connections, more than the service has descriptors for."""
    latencies, count = list[Latencies](), scenario.connections * 12
    async with scenario.observed(latencies), _connections() as opened:
        for number in range(count):
            opened.append(asyncio.create_task(_hold(scenario.port, b"GET /")))
            if number % 20 == 0:
                await asyncio.sleep(0.005)
        await asyncio.sleep(min(3.0, scenario.seconds))
    return latencies[0].rows(f"{count:,} silent connections", scenario.before)


async def malformed(scenario: Scenario) -> list[Row]:
    """Requests that are not HTTP, each of which was a line in the log in an earlier version."""
    latencies, lines = list[Latencies](), scenario.log_lines()
    async with scenario.observed(latencies):
        for _ in range(_MALFORMED // 50):
            await asyncio.gather(*(_hold(scenario.port, b"hello?\r\n\r\n") for _ in range(50)))
        await asyncio.sleep(2)
    name = f"{_MALFORMED:,} malformed requests"
    logged = scenario.log_lines() - lines
    return [*latencies[0].rows(name, scenario.before), measured(f"{name}: lines in the log", logged)]


async def answered_bodies(scenario: Scenario) -> list[Row]:
    """Bodies that continue after their request was rejected; an earlier version kept such connections open."""
    head = f"POST /api/v1/links HTTP/1.1\r\nHost: 127.0.0.1:{scenario.port}\r\nContent-Length: 100000000\r\n\r\n"
    began = time.monotonic()
    with contextlib.suppress(ConnectionError):
        reader, writer = await asyncio.open_connection("127.0.0.1", scenario.port)
        writer.write(head.encode())
        while time.monotonic() < began + _CLOSED_WITHIN and not reader.at_eof():
            writer.write(b"x" * 1_000)
            await writer.drain()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(reader.read(4_096), 0.5)
    lasted = time.monotonic() - began
    return [measured("a body that continues after the response: time until it is closed", lasted, unit=" s")]


@contextlib.asynccontextmanager
async def _connections() -> AsyncIterator[list["asyncio.Task[float]"]]:
    opened: list[asyncio.Task[float]] = []
    try:
        yield opened
    finally:
        for task in opened:
            task.cancel()
        await asyncio.gather(*opened, return_exceptions=True)


async def _hold(port: int, sent: bytes) -> float:
    """Keep a connection open until the service closes it. Return the seconds."""
    began = time.monotonic()
    with contextlib.suppress(OSError):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            writer.write(sent)
            while await reader.read(65_536):
                pass
        finally:
            writer.transport.abort()
    return time.monotonic() - began


ATTACKS = {
    "incomplete-requests": incomplete_requests,
    "trailers": trailers,
    "descriptors": descriptors,
    "malformed": malformed,
    "answered-bodies": answered_bodies,
}
