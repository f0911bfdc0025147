"""Effect on others: `python -m bench.attacks.observer PORT SLUG KEY …` times redirects and API calls until stdin ends.

Each redirect uses a new connection, like a new visitor. Each call lists another account's links, with one of its keys
after the other, because a key may make 60 requests a minute. Prints milliseconds by kind as JSON.
"""

import asyncio
import itertools
import json
import sys
import time
from collections.abc import Awaitable, Callable

from bench.client import Client

_REDIRECT_EVERY = 0.02  # seconds
_CALL_EVERY = 0.2
_TIMEOUT = 60.0
TIMED_OUT = _TIMEOUT * 1000


async def observe(port: int, slug: str, keys: list[str]) -> dict[str, list[float]]:
    ended = asyncio.Event()
    asyncio.get_running_loop().run_in_executor(None, sys.stdin.read).add_done_callback(lambda _: ended.set())
    turns = itertools.cycle(keys)

    async def visit() -> bool:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(f"GET /{slug} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
        response = await reader.readuntil(b"\r\n\r\n")
        writer.close()
        return response.startswith(b"HTTP/1.1 302 ")

    async def call() -> bool:
        client = await Client.open(port)
        response = await client.request("GET", "/api/v1/links", key=next(turns))
        await client.close()
        return response.status == 200

    redirects, calls = await asyncio.gather(_timed(visit, _REDIRECT_EVERY, ended), _timed(call, _CALL_EVERY, ended))
    return {"redirect": redirects, "api": calls}


async def _timed(send: Callable[[], Awaitable[bool]], every: float, ended: asyncio.Event) -> list[float]:
    """Milliseconds of each request. A wrong response counts as a timeout."""
    taken = []
    while not ended.is_set():
        began = time.perf_counter()
        try:
            async with asyncio.timeout(_TIMEOUT):
                is_correct = await send()
        except (OSError, EOFError, TimeoutError):
            is_correct = False
        milliseconds = (time.perf_counter() - began) * 1000
        taken.append(milliseconds if is_correct else TIMED_OUT)
        await asyncio.sleep(max(0.0, every - milliseconds / 1000))
    return taken


if __name__ == "__main__":
    print(json.dumps(asyncio.run(observe(int(sys.argv[1]), sys.argv[2], sys.argv[3:]))))
