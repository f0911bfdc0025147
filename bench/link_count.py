"""Slowdown of redirects as more links are in use: three servers with more and more links, in alternating rounds.

All routes are in memory at the start. The slowdown is relative to the server with the fewest links, round by round.
"""

from contextlib import ExitStack

from bench import wrk
from bench.report import Row, measured
from bench.run import Run
from bench.servers import waypost
from bench.wrk import Contender


def measure(run: Run) -> list[Row]:
    counts = sorted({1_000, run.few, run.many})
    with ExitStack() as stack:
        contenders = []
        for count in counts:
            server = waypost(run.store(run.many), run.new_directory(), routes_in_memory=count * 2 + 1_000)
            contenders.append(Contender(stack.enter_context(server), "slugs.lua", [str(count), "bare"]))
            wrk.warm_up(contenders[-1].server.port, count)
        found = wrk.alternate(run, contenders)
    drop = max(1 - wrk.rate_ratio(rounds, found[0]) for rounds in found[1:])
    rates = ", ".join(f"{count:,}: {wrk.spread(rounds)}" for count, rounds in zip(counts, found, strict=True))
    return [measured("slowdown with more links in use, maximum", drop * 100, rates, " %")]
