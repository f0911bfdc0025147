"""Redirects of links that are not in memory: random links of a large database, with the smallest route table.

The database file is in the system's page cache, as on any machine that has run for a while. Not measured: the first
read from a disk, and PostgreSQL.
"""

from bench import wrk
from bench.nginx import nginx
from bench.report import Row, measured
from bench.run import Run
from bench.servers import waypost
from bench.wrk import Contender

_SMALLEST = 1_000


def measure(run: Run) -> list[Row]:
    store = run.store(run.many)
    with (
        nginx(run.new_directory(), run.many) as theirs,
        waypost(store, run.new_directory(), routes_in_memory=_SMALLEST) as ours,
    ):
        contenders = [Contender(server, "slugs.lua", [str(run.many), "bare"]) for server in (ours, theirs)]
        own, other = wrk.alternate(run, contenders)
    detail = (
        f"{run.many:,} links in SQLite, {_SMALLEST:,} in memory; Waypost {wrk.spread(own)}, nginx {wrk.spread(other)}"
    )
    return [measured("redirects not in memory, relative to nginx", wrk.rate_ratio(own, other), detail)]
