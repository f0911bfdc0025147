"""`POST /v1/links/bulk` with 100 links, on `serve` with SQLite, on all cores. The destinations are on loopback.

One account has one page per host and four pages checked at a time, so the same links are sent with all destinations
on one host and spread over many.
"""

import asyncio
import statistics

from bench.client import Client
from bench.destination import address
from bench.report import Failed, Row, measured
from bench.run import Run
from bench.seed import Store, add_keys, new_account, new_store
from bench.servers import ALL_CORES, free_port, module, started, waypost
from waypost.database import Database

_ROWS = 100
_HOSTS = 20


def measure(run: Run) -> list[Row]:
    directory, page_port = run.new_directory(), free_port()
    store, key = asyncio.run(_prepared(run))
    page = module("destination", str(page_port), str(_HOSTS))
    with (
        started("page", page, port=page_port, ready="/", cores=ALL_CORES, directory=directory),
        waypost(store, directory, role="all", cores=ALL_CORES, outbound_allow="127.0.1.0/24") as server,
    ):
        return [asyncio.run(_measured(server.port, page_port, key, hosts, run.bulk_creates)) for hosts in (1, _HOSTS)]


async def _prepared(run: Run) -> tuple[Store, str]:
    store = await new_store(run.new_directory() / "waypost.db", 1_000)
    db = Database(store.url)
    [key] = await add_keys(db, await new_account(db, "creator"), 1)
    await db.close()
    return store, key


async def _measured(port: int, page_port: int, key: str, hosts: int, times: int) -> Row:
    client, seconds = await Client.open(port), []
    urls = [f"http://{address(number % hosts)}:{page_port}/page/{number}" for number in range(_ROWS)]
    body = {"links": [{"destination_url": url, "tags": ["bench"]} for url in urls]}
    for _ in range(times + 1):
        response = await client.request("POST", "/api/v1/links/bulk", key=key, body=body)
        if response.json.get("meta") != {"created": _ROWS, "invalid": 0}:
            raise Failed(f"{response.status}: {response.body!r}")
        seconds.append(response.milliseconds / 1_000)
    await client.close()
    timed = seconds[1:]  # the first one opens connections and fills caches
    detail = f"slowest of {times}; median {statistics.median(timed):.2f} s"
    where = "one host" if hosts == 1 else f"{hosts} hosts"
    return measured(f"bulk create of {_ROWS} links with destinations on {where}", max(timed), detail, " s")
