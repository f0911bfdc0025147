"""Redirects with a forwarded query and by near addresses, relative to plain redirects, and random misses.

All links are in memory. Those of one server forward every parameter, and those of the other have slugs that a person
chose. A near address is of another case, as from a poster, or has a full stop at its end, as from a text. The same
misses with an earlier version: `python -m bench compare A B`.
"""

import asyncio
from typing import Any

from sqlalchemy import update

from bench import wrk
from bench.report import Row, measured
from bench.run import Run
from bench.seed import Store
from bench.servers import waypost
from bench.wrk import Contender
from waypost.database import Database
from waypost.resources.links.model import links

_FORWARDED = "b%06d?utm_source=newsletter&utm_campaign=spring"
_NEAR = {"of another case": "B%06d", "with a full stop": "b%06d."}


def measure(run: Run) -> list[Row]:
    in_memory = run.few * 10
    with (
        waypost(_store_of(run, folded_slug=links.c.slug), run.new_directory(), routes_in_memory=in_memory) as named,
        waypost(_store_of(run, forward_query="all"), run.new_directory(), routes_in_memory=in_memory) as forwarding,
    ):
        visits = [(named, "b%06d"), (forwarding, _FORWARDED), *((named, path) for path in _NEAR.values())]
        for server, path in visits:
            wrk.warm_up(server.port, run.few, path_of=path.__mod__)
        contenders = [Contender(server, "slugs.lua", [str(run.few), "browser", path]) for server, path in visits]
        plain, *others = wrk.alternate(run, [*contenders, wrk.random_misses(named)])
    names = ["redirects with a forwarded query", *(f"redirects by an address {how}" for how in _NEAR), "random misses"]
    return [
        measured(
            f"{name}, relative to plain redirects",
            wrk.rate_ratio(rounds, plain),
            f"{run.few:,} links; {wrk.spread(rounds)}, plain {wrk.spread(plain)}",
        )
        for name, rounds in zip(names, others, strict=True)
    ]


def _store_of(run: Run, **values: Any) -> Store:
    """Return links with these values of their columns."""
    store = run.copied_store(run.few)
    asyncio.run(_update(store, values))
    return store


async def _update(store: Store, values: dict[str, Any]) -> None:
    db = Database(store.url)
    async with db.write() as tx:
        await tx.execute(update(links).values(values))
    await db.close()
