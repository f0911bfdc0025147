"""32 clients that create links concurrently, on `serve` with SQLite, on all cores. Every link is looked up afterwards.

The destinations are on loopback. Each client has its own host, and eight accounts share the clients, because the
service checks one URL per host and four per account at a time: creating is measured, not waiting for a check. The
first two creates of each client open connections and fill caches, and are not counted. The others begin together.
"""

import asyncio
import time
from itertools import chain, cycle

from sqlalchemy import select

from bench.client import Client, Response, percentile
from bench.destination import address
from bench.report import Failed, Row, measured
from bench.run import Run
from bench.seed import Store, add_keys, new_account, new_store
from bench.servers import ALL_CORES, free_port, module, started, waypost
from waypost.database import Database
from waypost.resources.links.model import links, slugs

_CLIENTS = 32
_ACCOUNTS = 8
_UNTIMED = 2


def measure(run: Run) -> list[Row]:
    directory, page_port = run.new_directory(), free_port()
    store, keys = asyncio.run(_prepared(run))
    page = module("destination", str(page_port), str(_CLIENTS))
    with (
        started("page", page, port=page_port, ready="/", cores=ALL_CORES, directory=directory),
        waypost(store, directory, role="all", cores=ALL_CORES, outbound_allow="127.0.1.0/24") as server,
    ):
        first, timed, seconds = asyncio.run(_create(server.port, page_port, keys, run.creates_each))
    responses = [*first, *timed]
    if lost := asyncio.run(_lost(store, [str(response.data["id"]) for response in responses])):
        raise Failed(f"{lost:,} links that were created are missing")
    times = [response.milliseconds for response in timed]
    p50 = percentile(times, 50)
    detail = f"{len(timed):,} creates, p50 {p50:.0f} ms; a host for each client, {_ACCOUNTS} accounts"
    return [
        measured(f"{_CLIENTS} concurrent creates, p99", percentile(times, 99), detail, " ms"),
        measured(f"{_CLIENTS} concurrent creates, rate", len(timed) / seconds, detail, "/s"),
    ]


async def _prepared(run: Run) -> tuple[Store, list[str]]:
    store = await new_store(run.new_directory() / "waypost.db", 1_000)
    db = Database(store.url)
    accounts = [await new_account(db, f"creator-{number}") for number in range(_ACCOUNTS)]
    keys = [(await add_keys(db, account, 1))[0] for account, _ in zip(cycle(accounts), range(_CLIENTS))]
    await db.close()
    return store, keys


async def _create(
    port: int, page_port: int, keys: list[str], each: int
) -> tuple[list[Response], list[Response], float]:
    """(responses that are not counted, the others, seconds of these)"""
    clients = [(await Client.open(port), f"http://{address(n)}:{page_port}/", key) for n, key in enumerate(keys)]
    first = await asyncio.gather(*(_create_one_by_one(*client, range(_UNTIMED)) for client in clients))
    began = time.perf_counter()
    timed = await asyncio.gather(*(_create_one_by_one(*client, range(_UNTIMED, each)) for client in clients))
    seconds = time.perf_counter() - began
    for client, _, _ in clients:
        await client.close()
    return list(chain.from_iterable(first)), list(chain.from_iterable(timed)), seconds


async def _create_one_by_one(client: Client, destination: str, key: str, numbers: range) -> list[Response]:
    responses = []
    for number in numbers:
        body = {"destination_url": f"{destination}page/{number}", "tags": ["bench"]}
        responses.append(await client.request("POST", "/api/v1/links", key=key, body=body))
        if responses[-1].status != 201:
            raise Failed(f"{responses[-1].status}: {responses[-1].body!r}")
    return responses


async def _lost(store: Store, answered: list[str]) -> int:
    """The number of created links that are missing in the database, or have no slug there."""
    db = Database(store.url)
    async with db.read() as tx:
        kept = (await tx.execute(select(links.c.id).join(slugs, slugs.c.link_id == links.c.id))).scalars().all()
    await db.close()
    return len(set(answered) - set(map(str, kept)))
