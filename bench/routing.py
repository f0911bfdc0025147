"""Redirects of links with rules or variants, relative to plain links of the same visitors, and the memory of rules.

Both servers have as many links. Those of one are plain; a third of the other's have five rules, and a third two
variants. The visitors are 4,000 addresses with five user agents behind a proxy, so what is read of them is mostly
cached. `python -m bench compare A B` compares plain links beside routed ones with a version before routing.
"""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench import wrk
from bench.report import Row, measured
from bench.route_memory import bytes_per_route
from bench.run import Run
from bench.seed import Store, add_links, new_account
from bench.servers import waypost
from bench.wrk import Contender
from waypost.database import Database
from waypost.database.migrations import migrate
from waypost.kit.clock import now
from waypost.resources.links import routing
from waypost.resources.links.routing import LinkRouting, RuleJson, VariantJson
from waypost.resources.links.routing.model import ConditionJson

_LINKS = 10_000
"""Of each kind. Plain ones have the first numbers, then those with rules, then those with variants."""


def rules() -> list[RuleJson]:
    """Return five rules. About half of the visitors match one."""
    conditions: list[tuple[str, ConditionJson]] = [
        ("partners", {"type": "query", "operator": "in", "name": "ref", "values": ["partner", "reseller"]}),
        ("ios", {"type": "platform", "operator": "in", "values": ["iOS"]}),
        ("dach", {"type": "country", "operator": "in", "values": ["DE", "AT", "CH"]}),
        ("french", {"type": "language", "operator": "in", "values": ["fr"]}),
        ("android", {"type": "platform", "operator": "in", "values": ["Android"]}),
    ]
    return [
        {"name": name, "conditions": [condition], "destination_url": f"https://www.example.com/landing/{name}"}
        for name, condition in conditions
    ]


def _variants() -> list[VariantJson]:
    return [
        {"name": name, "destination_url": f"https://www.example.com/landing/{name}", "weight": 33}
        for name in ("b", "c")
    ]


def measure(run: Run) -> list[Row]:
    plain = asyncio.run(_seeded(run.new_directory() / "waypost.db", [{}, {}, {}]))
    routings: list[dict[str, Any]] = [{}, {"rules": rules()}, {"variants": _variants()}]
    mixed = asyncio.run(_seeded(run.new_directory() / "waypost.db", routings))
    settings = {"trusted_proxies": "127.0.0.1/32"}
    with (
        waypost(plain, run.new_directory(), **settings) as alone,
        waypost(mixed, run.new_directory(), **settings) as beside,
    ):
        for server, store in ((alone, plain), (beside, mixed)):
            wrk.warm_up(server.port, store.links)
        places = ((alone, 0), (beside, 0), (beside, _LINKS), (beside, 2 * _LINKS))
        contenders = [Contender(server, "routing.lua", [str(_LINKS), str(first)]) for server, first in places]
        of_plain, of_beside, of_rules, of_variants = wrk.alternate(run, contenders)
    size = bytes_per_route(run, mixed, count=_LINKS, first=_LINKS)
    return [
        *(
            measured(what, wrk.rate_ratio(rounds, of_plain), f"{wrk.spread(rounds)}; plain {wrk.spread(of_plain)}")
            for what, rounds in (
                ("redirects of plain links beside links with routing, relative to plain links alone", of_beside),
                ("redirects by five rules with country, relative to plain links", of_rules),
                ("redirects to variants, relative to plain links", of_variants),
            )
        ),
        measured("memory of a route with five rules", size, f"{_LINKS:,} links", " bytes"),
    ]


async def _seeded(path: Path, routings: Sequence[Mapping[str, Any]]) -> Store:
    """Add links with each routing; an empty one is none."""
    db = Database(f"sqlite:///{path}")
    await migrate(db)
    account = await new_account(db, "seed")
    for kind, parts in enumerate(routings):
        made, at = await add_links(db, account, _LINKS, first=kind * _LINKS), now()
        if parts:
            async with db.write() as tx:
                await routing.add_many(tx, [LinkRouting(link, account, at, at, **parts) for link in made])
    await db.close()
    return Store(path, account, len(routings) * _LINKS)
