"""Redirects of links in memory, with spooled clicks, on one core, relative to nginx with an access log on that core.

A browser's twelve headers cost more than wrk's one, so both are measured. Not measured: TLS, several web processes, and
a new connection for each visitor.
"""

from bench import wrk
from bench.nginx import nginx
from bench.report import Row, at_least, at_most
from bench.run import Run
from bench.servers import Server, waypost
from bench.wrk import Contender


def measure(run: Run) -> list[Row]:
    store = run.store(run.few)
    with (
        nginx(run.new_directory(), run.few) as theirs,
        waypost(store, run.new_directory(), routes_in_memory=run.few * 2 + 1_000) as ours,
    ):
        wrk.warm_up(ours.port, run.few)
        return [row for headers in ("bare", "browser") for row in _compare(run, ours, theirs, headers)]


def _compare(run: Run, ours: Server, theirs: Server, headers: str) -> list[Row]:
    arguments = [str(run.few), headers]
    own, other = wrk.alternate(run, [Contender(server, "slugs.lua", arguments) for server in (ours, theirs)])
    what = {
        "bare": "redirects from memory, relative to nginx",
        "browser": "redirects with a browser's 12 headers, relative to nginx",
    }[headers]
    rates = f"{run.few:,} links; Waypost {wrk.spread(own)}, nginx {wrk.spread(other)}"
    latency = f"Waypost {wrk.p99(own):.2f} ms, nginx {wrk.p99(other):.2f} ms"
    return [
        at_least(what, wrk.rate_ratio(own, other), 0.7, rates),
        at_most(f"p99 at {wrk.CONNECTIONS} connections: {what}", wrk.p99_ratio(own, other), 3, latency, " times"),
    ]
