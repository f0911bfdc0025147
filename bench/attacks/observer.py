"""What others notice: `python -m bench.attacks.observer PORT SLUG KEY …` times redirects and calls until stdin ends.

Each redirect comes on a new connection, as a new visitor does; each call is another account's list of links, with one
of its keys after the other because a key has 60 requests a minute. Prints milliseconds by kind as JSON.
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
_PATIENCE = 20.0
GAVE_UP = _PATIENCE * 1000


async def observe(port: int, slug: str, keys: list[str]) -> dict[str, list[float]]:
    ended = asyncio.Event()
    asyncio.get_running_loop().run_in_executor(None, sys.stdin.read).add_done_callback(lambda _: ended.set())
    turns = itertools.cycle(keys)

    async def visit() -> bool:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(f"GET /{slug} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
        answer = await reader.readuntil(b"\r\n\r\n")
        writer.close()
        return answer.startswith(b"HTTP/1.1 302 ")

    async def call() -> bool:
        client = await Client.open(port)
        answer = await client.request("GET", "/api/v1/links", key=next(turns))
        await client.close()
        return answer.status == 200

    redirects, calls = await asyncio.gather(_timed(visit, _REDIRECT_EVERY, ended), _timed(call, _CALL_EVERY, ended))
    return {"redirect": redirects, "api": calls}


async def _timed(ask: Callable[[], Awaitable[bool]], every: float, ended: asyncio.Event) -> list[float]:
    """A wrong answer counts like none at all."""
    taken = []
    while not ended.is_set():
        began = time.perf_counter()
        try:
            async with asyncio.timeout(_PATIENCE):
                is_right = await ask()
        except (OSError, EOFError, TimeoutError):
            is_right = False
        milliseconds = (time.perf_counter() - began) * 1000
        taken.append(milliseconds if is_right else GAVE_UP)
        await asyncio.sleep(max(0.0, every - milliseconds / 1000))
    return taken


if __name__ == "__main__":
    print(json.dumps(asyncio.run(observe(int(sys.argv[1]), sys.argv[2], sys.argv[3:]))))
