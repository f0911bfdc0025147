"""Redirects of links in memory, with spooled clicks, on one core, relative to nginx with an access log on that core.

Compiled, as in the image and in wheels, and as Python. A browser's twelve headers cost more than wrk's one, so both are
measured. Not measured: TLS, several web processes, and a new connection for each visitor.
"""

from bench import wrk
from bench.compiled import SOURCE
from bench.nginx import nginx
from bench.report import Row, measured
from bench.run import Run
from bench.servers import Server, waypost
from bench.wrk import Contender

_HEADERS = {"bare": "", "browser": " with a browser's 12 headers"}


def measure(run: Run) -> list[Row]:
    store = run.store(run.few)
    in_memory = run.few * 2 + 1_000
    with (
        nginx(run.new_directory(), run.few) as theirs,
        waypost(store, run.new_directory(), routes_in_memory=in_memory) as compiled,
        waypost(store, run.new_directory(), SOURCE, routes_in_memory=in_memory) as in_python,
    ):
        for server in (compiled, in_python):
            wrk.warm_up(server.port, run.few)
        return [row for headers in _HEADERS for row in _compare(run, [compiled, in_python, theirs], headers)]


def _compare(run: Run, servers: list[Server], headers: str) -> list[Row]:
    arguments = [str(run.few), headers]
    compiled, in_python, other = wrk.alternate(run, [Contender(server, "slugs.lua", arguments) for server in servers])
    what = f"redirects{_HEADERS[headers] or ' from memory'}, relative to nginx"
    rates = f"{run.few:,} links; Waypost {wrk.spread(compiled)}, nginx {wrk.spread(other)}"
    latency = f"Waypost {wrk.p99(compiled):.2f} ms, nginx {wrk.p99(other):.2f} ms"
    ours = f"Waypost {wrk.cost(compiled):.2f} µs, in Python {wrk.cost(in_python):.2f} µs"
    costs = f"{ours}, nginx {wrk.cost(other):.2f} µs"
    return [
        measured(what, wrk.rate_ratio(compiled, other), rates),
        measured(f"{what}, by processor time", wrk.cost_ratio(compiled, other), costs),
        measured(f"p99 at {wrk.CONNECTIONS} connections: {what}", wrk.p99_ratio(compiled, other), latency, " times"),
        measured(f"{what}, not compiled", wrk.rate_ratio(in_python, other), f"Waypost {wrk.spread(in_python)}"),
    ]
