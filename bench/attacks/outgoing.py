"""Attacks by destinations: responses that never begin or never end."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable

from bench.attacks.scenario import Latencies, Scenario
from bench.client import Client
from bench.report import Row

_AT_ONCE = 4  # checks of an account

Responder = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


async def _informational(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while True:
        writer.write(b"HTTP/1.1 100 Continue\r\n\r\n" * 2_000)
        await writer.drain()


async def _headers(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\n")
    while True:
        writer.write(b"a: b\r\n" * 10_000)
        await writer.drain()


async def _markup(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n")
    while True:
        writer.write(b"<meta " * 10_000)
        await writer.drain()


async def informational(scenario: Scenario) -> list[Row]:
    return await _against(scenario, "destinations that send endless 1xx responses", _informational)


async def headers(scenario: Scenario) -> list[Row]:
    return await _against(scenario, "destinations that send endless headers", _headers)


async def markup(scenario: Scenario) -> list[Row]:
    return await _against(scenario, "destinations that send endless hostile HTML", _markup)


async def _against(scenario: Scenario, name: str, respond: Responder) -> list[Row]:
    latencies, statuses = list[Latencies](), list[int]()
    async with serving(respond) as url, scenario.observed(latencies):
        ended = asyncio.get_running_loop().time() + scenario.seconds

        async def create(key: str, number: int) -> None:
            client = await Client.open(scenario.port)
            while asyncio.get_running_loop().time() < ended:
                body = {"destination_url": f"{url}/{number}"}
                statuses.append((await client.request("POST", "/api/v1/links", key=key, body=body)).status)
                if statuses[-1] == 429:
                    break
            await client.close()

        await asyncio.gather(*(create(scenario.attacker.keys[n], n) for n in range(_AT_ONCE)))
    counts = ", ".join(f"{statuses.count(status)} x {status}" for status in sorted(set(statuses)))
    return [*latencies[0].rows(name, scenario.before), Row(f"{name}: responses to the attacker", counts)]


async def _page(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    page = b"<!doctype html><title>A page</title>"
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n" % len(page) + page)
    await writer.drain()
    await asyncio.sleep(1)


def website() -> contextlib.AbstractAsyncContextManager[str]:
    """A destination that responds normally."""
    return serving(_page)


@contextlib.asynccontextmanager
async def serving(respond: Responder) -> AsyncIterator[str]:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            await reader.readuntil(b"\r\n\r\n")
            await respond(reader, writer)
        writer.transport.abort()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()


ATTACKS = {"endless-1xx": informational, "endless-headers": headers, "hostile-html": markup}
