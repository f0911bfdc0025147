"""32 clients that create links at once, against `serve` on SQLite, on all cores; every link is looked for afterwards.

The check of the destination is answered on loopback. Each client has a host of its own and eight accounts share the
clients, because the service looks at a host once at a time and at four destinations of an account: measured is
creating, not waiting for one's turn to be looked at. Each client's first two creates, which open connections and fill
caches, are not among the times.
"""

import asyncio
import time
from itertools import cycle

from sqlalchemy import select

from bench.client import Answer, Client, percentile
from bench.page import address
from bench.report import Failed, Row, at_most
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
    page = module("page", str(page_port), str(_CLIENTS))
    with (
        started("page", page, port=page_port, ready="/", cores=ALL_CORES, directory=directory),
        waypost(store, directory, role="all", cores=ALL_CORES, outbound_allow="127.0.1.0/24") as server,
    ):
        began = time.perf_counter()
        each = asyncio.run(_create(server.port, page_port, keys, run.creates_each))
        answers = [answer for own in each for answer in own]
        rate = len(answers) / (time.perf_counter() - began)
    lost = asyncio.run(_lost(store, [str(answer.data["id"]) for answer in answers]))
    times = [answer.milliseconds for own in each for answer in own[_UNTIMED:]]
    p50 = percentile(times, 50)
    detail = f"{len(answers):,} creates, {rate:.0f}/s, p50 {p50:.0f} ms; a host for each client, {_ACCOUNTS} accounts"
    return [
        at_most(f"{_CLIENTS} concurrent creates, p99", percentile(times, 99), 250, detail, " ms"),
        Row(f"{_CLIENTS} concurrent creates, answered and not there", str(lost), "0", lost == 0, "no answer but 201"),
    ]


async def _prepared(run: Run) -> tuple[Store, list[str]]:
    store = await new_store(run.new_directory() / "waypost.db", 1_000)
    db = Database(store.url)
    accounts = [await new_account(db, f"creator-{number}") for number in range(_ACCOUNTS)]
    keys = [(await add_keys(db, account, 1))[0] for account, _ in zip(cycle(accounts), range(_CLIENTS))]
    await db.close()
    return store, keys


async def _create(port: int, page_port: int, keys: list[str], each: int) -> list[list[Answer]]:
    """The answers to each client."""
    tasks = [_create_in_turn(port, f"http://{address(n)}:{page_port}/", key, each) for n, key in enumerate(keys)]
    return await asyncio.gather(*tasks)


async def _create_in_turn(port: int, destination: str, key: str, each: int) -> list[Answer]:
    client, answers = await Client.open(port), []
    for number in range(each):
        body = {"destination_url": f"{destination}page/{number}", "tags": ["bench"]}
        answers.append(await client.request("POST", "/api/v1/links", key=key, body=body))
        if answers[-1].status != 201:
            raise Failed(f"{answers[-1].status}: {answers[-1].body!r}")
    await client.close()
    return answers


async def _lost(store: Store, answered: list[str]) -> int:
    """How many of the answered links are not in the database, or hold no slug there."""
    db = Database(store.url)
    async with db.read() as tx:
        kept = (await tx.execute(select(links.c.id).join(slugs, slugs.c.link_id == links.c.id))).scalars().all()
    await db.close()
    return len(set(answered) - set(map(str, kept)))
