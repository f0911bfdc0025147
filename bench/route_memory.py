"""Memory of the route table per link: a separate process reads every route from the database and measures itself.

Only private memory (anonymous pages) counts, not the database file that is mapped into the process.
"""

import random
import subprocess
import sys
from pathlib import Path

from bench.report import Row, measured
from bench.run import Run
from bench.seed import Store, slug_of
from bench.servers import module
from waypost.database import KeyRing
from waypost.redirect import ChangeFeed, RouteTable
from waypost.resources.links.routes.source import SqliteRouteSource


def measure(run: Run) -> list[Row]:
    store = run.store(run.many)
    detail = f"{run.many:,} links with destinations of 66 characters; WAYPOST_ROUTES_IN_MEMORY bounds it"
    return [
        measured("memory of the route table per link", bytes_per_route(run, store, count=run.many), detail, " bytes")
    ]


def bytes_per_route(run: Run, store: Store, *, count: int, first: int = 0) -> float:
    """Measure the routes of `count` links whose slugs are numbered from `first`."""
    command = module("route_memory", str(store.path), str(count), str(run.new_directory() / "feed"), str(first))
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def main(path: str, count: int, feed: str, first: int) -> None:
    source = SqliteRouteSource(Path(path), "127.0.0.1:8000", KeyRing(["bench"]))
    shared_host = b"127.0.0.1:8000"
    table = RouteTable(source, ChangeFeed(Path(feed)), capacity=count * 2 + 1_000, shared_host=shared_host)
    slugs = [slug_of(number).encode() for number in range(first, first + count)]
    random.Random(1).shuffle(slugs)
    for slug in slugs[:100]:
        table.find(slug)
    before = _own_bytes()
    for slug in slugs:
        table.find(bytes(bytearray(slug)))  # a copy, as a request's slug is
    print((_own_bytes() - before) / len(table))


def _own_bytes() -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("RssAnon:"))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4]))
