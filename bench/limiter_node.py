"""A node that checks rate limits at a fixed rate and prints how long each check took, in milliseconds, as JSON.

Checks start on time even if earlier ones have not ended, as requests of independent clients do.
"""

import asyncio
import json
import random
import sys
import time

import uvloop

from waypost.accounts.limits.postgres_limiter import PostgresLimiters

_KEYS = 2_000
_UNTIMED = 50  # opening connections


async def check(url: str, rate: float, seconds: float) -> list[float]:
    limiters, times = PostgresLimiters(url), list[float]()
    limiter = limiters.new("limits", limit=60)

    async def take() -> None:
        began = time.perf_counter()
        await limiter.take(b"%d" % random.randrange(_KEYS))
        times.append((time.perf_counter() - began) * 1000)

    loop = asyncio.get_running_loop()
    start = loop.time()
    async with asyncio.TaskGroup() as group:
        for number in range(int(rate * seconds)):
            await asyncio.sleep(start + number / rate - loop.time())
            group.create_task(take())
    await limiters.close()
    return times[_UNTIMED:]


if __name__ == "__main__":
    print(json.dumps(uvloop.run(check(sys.argv[1], float(sys.argv[2]), float(sys.argv[3])))))
