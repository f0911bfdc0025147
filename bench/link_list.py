"""The first list page of an account with a million links, over HTTP, with key, scope and rate limit checked.

One client sends one request after the other: the latency of a page is measured, not the throughput.
"""

import asyncio

from bench.client import Client, percentile
from bench.report import Failed, Row, measured
from bench.run import Run
from bench.seed import Store, add_keys
from bench.servers import waypost
from waypost.database import Database

_EACH = 50  # requests of a key: within its rate limit
_KEYS = 8


def measure(run: Run) -> list[Row]:
    store = run.store(run.many)
    keys = asyncio.run(_new_keys(store))
    with waypost(store, run.new_directory()) as server:
        times = asyncio.run(_times(server.port, keys, store.links))
    detail = f"{store.links:,} links; p50 {percentile(times, 50):.1f} ms over {len(times)} requests"
    return [measured("first list page of a large account, p99", percentile(times, 99), detail, " ms")]


async def _new_keys(store: Store) -> list[str]:
    db = Database(store.url)
    keys = await add_keys(db, store.account, _KEYS)
    await db.close()
    return keys


async def _times(port: int, keys: list[str], total: int) -> list[float]:
    client, times = await Client.open(port), []
    for key in keys:
        for _ in range(_EACH):
            response = await client.request("GET", "/api/v1/links", key=key)
            if response.status != 200 or b'"total":%d' % total not in response.body:
                raise Failed(f"{response.status}: {response.body[-300:]!r}")
            times.append(response.milliseconds)
    await client.close()
    return times[20:]  # the first ones open connections and fill caches
