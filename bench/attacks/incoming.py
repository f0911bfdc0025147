"""Attacks on connections: stalled bodies, unfinished heads, unwanted bodies, more connections than descriptors."""

import asyncio
import contextlib
import itertools
import time
from collections.abc import AsyncIterator

from bench.attacks.stage import Felt, Stage
from bench.report import Row, at_most

_GROWTH = 50.0  # MB
_CLOSED_WITHIN = 40.0  # seconds
_MALFORMED = 2_000


async def crowds(stage: Stage) -> list[Row]:
    """Bodies that stall, heads of tiny lines that never end, megabytes for a path that takes none."""
    host, keys = f"Host: 127.0.0.1:{stage.port}\r\n", itertools.cycle(stage.attacker.keys)

    def stalled() -> bytes:
        head = (
            f"POST /api/v1/links HTTP/1.1\r\n{host}Authorization: Bearer {next(keys)}\r\nContent-Length: 900000\r\n\r\n"
        )
        return head.encode() + b"x" * 60_000

    def unfinished() -> bytes:
        return f"GET / HTTP/1.1\r\n{host}".encode() + b"a:b\r\n" * 120

    def unwanted() -> bytes:
        return f"POST /api/stripe HTTP/1.1\r\n{host}Content-Length: 1000000\r\n\r\n".encode() + b"x" * 999_999

    memory, felt = stage.web_memory(), list[Felt]()
    grown, began = 0, time.monotonic()
    async with stage.observed(felt), _connections() as opened:
        for sent in (stalled, unfinished, unwanted):
            for _ in range(stage.crowd):
                opened.append(asyncio.create_task(_hold(stage.port, sent())))
                await asyncio.sleep(0.001)
                grown = max(grown, stage.web_memory() - memory) if len(opened) % 50 == 0 else grown
        while not all(task.done() for task in opened) and time.monotonic() < began + 2 * _CLOSED_WITHIN:
            await asyncio.sleep(0.2)
            grown = max(grown, stage.web_memory() - memory)
    longest = max((task.result() for task in opened if not task.cancelled()), default=2 * _CLOSED_WITHIN)
    name = f"{stage.crowd:,} stalled bodies, {stage.crowd:,} unfinished heads, {stage.crowd:,} x 1 MB at /api/stripe"
    return [
        *felt[0].rows(name, stage.before),
        at_most(f"{name}: growth of the web process", grown / 1e6, _GROWTH, "resident memory, at its highest", " MB"),
        at_most(f"{name}: the longest that a connection stayed open", longest, _CLOSED_WITHIN, unit=" s"),
    ]


async def descriptors(stage: Stage) -> list[Row]:
    """Connections that say nothing, more of them than the service may have."""
    felt, count = list[Felt](), stage.crowd * 12
    async with stage.observed(felt), _connections() as opened:
        for number in range(count):
            opened.append(asyncio.create_task(_hold(stage.port, b"GET /")))
            if number % 20 == 0:
                await asyncio.sleep(0.005)
        await asyncio.sleep(min(3.0, stage.seconds))
    return felt[0].rows(f"{count:,} connections that say nothing", stage.before)


async def malformed(stage: Stage) -> list[Row]:
    """Requests that are no HTTP, each of which once was a line of the log."""
    felt, lines = list[Felt](), stage.log_lines()
    async with stage.observed(felt):
        for _ in range(_MALFORMED // 50):
            await asyncio.gather(*(_hold(stage.port, b"hello?\r\n\r\n") for _ in range(50)))
        await asyncio.sleep(2)
    name = f"{_MALFORMED:,} malformed requests"
    logged = stage.log_lines() - lines
    return [*felt[0].rows(name, stage.before), at_most(f"{name}: lines in the log", logged, 5)]


async def answered_bodies(stage: Stage) -> list[Row]:
    """Bodies that go on after their request was refused, which once kept a connection open for good."""
    head = f"POST /api/v1/links HTTP/1.1\r\nHost: 127.0.0.1:{stage.port}\r\nContent-Length: 100000000\r\n\r\n"
    began = time.monotonic()
    with contextlib.suppress(ConnectionError):
        reader, writer = await asyncio.open_connection("127.0.0.1", stage.port)
        writer.write(head.encode())
        while time.monotonic() < began + _CLOSED_WITHIN and not reader.at_eof():
            writer.write(b"x" * 1_000)
            await writer.drain()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(reader.read(4_096), 0.5)
    lasted = time.monotonic() - began
    return [at_most("a body that drips on after the answer: how long it is read", lasted, 20, unit=" s")]


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
    """Keeps a connection as long as the service does. Returns the seconds."""
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


ATTACKS = {"crowds": crowds, "descriptors": descriptors, "malformed": malformed, "answered-bodies": answered_bodies}
