"""Redirects by alias, relative to redirects by slug of the same links from the same server, on custom domains.

One alias of each link looks like a slug, which is looked up first; the other one has a slash.
"""

import asyncio
from pathlib import Path

from sqlalchemy import insert, update

from bench import wrk
from bench.report import Row, measured
from bench.run import Run
from bench.seed import Store, add_links, new_account
from bench.servers import waypost
from bench.wrk import Contender
from waypost.database import Database
from waypost.database.migrations import migrate
from waypost.kit.clock import now
from waypost.kit.ids import new_id
from waypost.resources.domains.model import domains
from waypost.resources.links import aliases
from waypost.resources.links.aliases import Alias
from waypost.resources.links.model import links

_BATCH = 10_000
_SLUGS, _ALIASES = "slugs.bench.test", "aliases.bench.test"
_PATHS = {"slug": (_SLUGS, "b%06d"), "alias": (_ALIASES, "a%06d"), "alias with a slash": (_ALIASES, "a/%06d")}


def measure(run: Run) -> list[Row]:
    store = asyncio.run(_seeded(run.new_directory() / "waypost.db", run.few))
    with waypost(store, run.new_directory(), routes_in_memory=run.few * 10) as server:
        for host, path in _PATHS.values():
            _load(server.port, host, path, run.few)
        contenders = [Contender(server, "aliases.lua", [str(run.few), *each]) for each in _PATHS.values()]
        by_slug, *others = wrk.alternate(run, contenders)
    names = list(_PATHS)[1:]
    return [
        measured(
            f"redirects by {name}, relative to redirects by slug",
            wrk.rate_ratio(rounds, by_slug),
            f"{run.few:,} links; {wrk.spread(rounds)}, by slug {wrk.spread(by_slug)}",
        )
        for name, rounds in zip(names, others, strict=True)
    ]


async def _seeded(path: Path, count: int) -> Store:
    db, at = Database(f"sqlite:///{path}"), now()
    await migrate(db)
    account = await new_account(db, "seed")
    made = await add_links(db, account, count)
    row = {"account_id": account, "token": "bench", "status": "verified", "is_served": True, "verified_at": at}
    row |= {"failures": 0, "links_count": 0, "tls_status": "none", "created_at": at, "updated_at": at}
    of_slugs, of_aliases = new_id(), new_id()
    async with db.write() as tx:
        hosts = (of_slugs, _SLUGS), (of_aliases, _ALIASES)
        await tx.execute(insert(domains), [{**row, "id": id_, "hostname": name} for id_, name in hosts])
        await tx.execute(update(links).values(domain_id=of_slugs))
    for start in range(0, count, _BATCH):
        numbered = list(enumerate(made[start : start + _BATCH], start))
        for name in list(_PATHS)[1:]:
            host, path_of = _PATHS[name]
            async with db.write() as tx:
                rows = [Alias(new_id(), account, link, of_aliases, host, path_of % n, at) for n, link in numbered]
                await aliases.add_many(tx, rows)
    await db.close()
    return Store(path, account, count)


def _load(port: int, host: str, path: str, count: int) -> None:
    """Load all routes into memory."""
    wrk.warm_up(port, count, lambda _: host, lambda number: path % number)
