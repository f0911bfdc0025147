"""Custom domains: redirects with one domain per link relative to one domain in total, and Caddy's TLS ask requests.

Both servers have the same links in memory and run on the same core. The ask requests are for unknown hostnames, each
requested once over one connection, with SQLite and with PostgreSQL, which have as many domains. Not measured: TLS (see
`tls`).
"""

import asyncio
import http.client
import random
import statistics
import time
from dataclasses import dataclass

from sqlalchemy import func, insert, select, update

from bench import wrk
from bench.postgres import postgres
from bench.report import Failed, Row, measured
from bench.run import Run
from bench.seed import add_links, new_account
from bench.servers import HasUrl, Server, waypost
from bench.wrk import Contender
from waypost.database import Database
from waypost.database.migrations import migrate
from waypost.kit.clock import now
from waypost.kit.ids import new_id
from waypost.resources.domains.model import domains
from waypost.resources.links.model import links

_BATCH = 20_000
_ASK_REQUESTS = 1_000


@dataclass(frozen=True)
class _DatabaseUrl:
    url: str


def measure(run: Run) -> list[Row]:
    many, one = (_seeded(f"sqlite:///{run.new_directory() / 'waypost.db'}", run.few, count) for count in (run.few, 1))
    capacity = run.few * 2 + 1_000
    with (
        waypost(many, run.new_directory(), routes_in_memory=capacity) as ours,
        waypost(one, run.new_directory(), routes_in_memory=capacity) as theirs,
    ):
        rows = [_compare(run, ours, theirs)]
        ours.resume()
        rows.append(_measure_ask(run, ours, "SQLite"))
    with postgres() as url, waypost(_seeded(url, 0, run.few), run.new_directory()) as server:
        return [*rows, _measure_ask(run, server, "PostgreSQL")]


def _seeded(url: str, link_count: int, domain_count: int) -> HasUrl:
    asyncio.run(_seed(url, link_count, domain_count))
    return _DatabaseUrl(url)


async def _seed(url: str, link_count: int, domain_count: int) -> None:
    """Spread the links over the domains by number."""
    db = Database(url)
    await migrate(db)
    account = await new_account(db, "seed")
    at = now()
    row = {"account_id": account, "token": "bench", "status": "verified", "is_served": True, "verified_at": at}
    row |= {"failures": 0, "links_count": 0, "tls_status": "none", "created_at": at, "updated_at": at}
    for start in range(0, domain_count, _BATCH):
        numbers = range(start, min(start + _BATCH, domain_count))
        async with db.write() as tx:
            rows = [{**row, "id": new_id(), "hostname": _host_of(number)} for number in numbers]
            await tx.execute(insert(domains), rows)
    await add_links(db, account, link_count)
    number = func.substr(links.c.slug, 2) if domain_count == link_count else "000000"
    of_link = select(domains.c.id).where(domains.c.hostname == "h" + number + ".bench.test").scalar_subquery()
    async with db.write() as tx:
        await tx.execute(update(links).values(domain_id=of_link))
    await db.close()


def _host_of(number: int) -> str:
    return f"h{number:06d}.bench.test"


def _compare(run: Run, ours: Server, theirs: Server) -> Row:
    wrk.warm_up(ours.port, run.few, _host_of)
    wrk.warm_up(theirs.port, run.few, lambda _: _host_of(0))
    contenders = [
        Contender(server, "hosts.lua", [str(run.few), str(count)]) for server, count in ((ours, run.few), (theirs, 1))
    ]
    many, one = wrk.alternate(run, contenders)
    rates = f"{run.few:,} links each; {wrk.spread(many)}, with one {wrk.spread(one)}"
    what = f"redirects on {run.few:,} custom domains, relative to one domain"
    return measured(what, wrk.rate_ratio(many, one), rates)


def _measure_ask(run: Run, server: Server, database: str) -> Row:
    rng = random.Random(1)
    names = [f"{rng.getrandbits(64):x}.example.com" for _ in range(_ASK_REQUESTS)]
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    _ask(connection, _host_of(0), 200)
    took = [_ask(connection, name, 404) for name in names]
    connection.close()
    detail = f"{run.few:,} domains in {database}; median {statistics.median(took):.2f} ms, longest {max(took):.2f} ms"
    what = f"Caddy's TLS ask request for {_ASK_REQUESTS:,} unknown hostnames, p99, {database}"
    return measured(what, statistics.quantiles(took, n=100)[98], detail, " ms")


def _ask(connection: http.client.HTTPConnection, name: str, expected: int) -> float:
    """Milliseconds."""
    began = time.perf_counter()
    connection.request("GET", f"/internal/tls?domain={name}")
    response = connection.getresponse()
    response.read()
    took = (time.perf_counter() - began) * 1e3
    if response.status != expected:
        raise Failed(f"{name}: {response.status}")
    return took
