"""Redirects while the worker drains their clicks on the same core: `serve` with web and worker, relative to nginx.

The worker has a lower priority, so it falls behind under full load; the details show how much it drained. In production
the backlog is limited, since no core is fully loaded for hours.

A redirect may wait for a time slice of the worker; `redirect-latency` has the latency at fixed rates. With the lowest
priority (`nice -n 19`) it would wait less, but the worker would hold the write lock of SQLite for seconds while it gets
a hundredth of the core.
"""

import sqlite3
from contextlib import closing

from bench import wrk
from bench.nginx import nginx
from bench.report import Row, measured
from bench.run import Run
from bench.seed import Store
from bench.servers import waypost
from bench.wrk import Contender


def measure(run: Run) -> list[Row]:
    store = run.copied_store(run.few)
    before = _clicks(store)
    with (
        nginx(run.new_directory(), run.few) as theirs,
        waypost(store, run.new_directory(), role="all", routes_in_memory=run.few * 2 + 1_000) as ours,
    ):
        wrk.warm_up(ours.port, run.few)
        contenders = [Contender(server, "slugs.lua", [str(run.few), "browser"]) for server in (ours, theirs)]
        own, other = wrk.alternate(run, contenders)
        drained = (_clicks(store) - before) / (wrk.WARM_UP + len(own) * run.seconds)
    rates = f"Waypost {wrk.spread(own)} with {drained:,.0f} clicks/s drained, nginx {wrk.spread(other)}"
    return [
        measured(
            "redirects while the worker drains on the same core, relative to nginx", wrk.rate_ratio(own, other), rates
        ),
        measured(
            "p99 while the worker drains, relative to nginx",
            wrk.p99_ratio(own, other),
            f"Waypost {wrk.p99(own):.2f} ms, nginx {wrk.p99(other):.2f} ms",
            " times",
        ),
    ]


def _clicks(store: Store) -> int:
    with closing(sqlite3.connect(store.path)) as connection:
        return int(connection.execute("SELECT count(*) FROM clicks").fetchone()[0])
