"""Latency of redirects at fixed rates on one core, on which the worker drains their clicks meanwhile.

Beside it, in alternating rounds on that core: nginx with an access log, and FastAPI, which records no visit. A thousand
requests a second are a busy installation, of which most redirects find an idle processor. wrk sends those of a
millisecond together.

The waits for the worker were also traced on Linux 6.18 (`perf record --switch-events` of the core, without the times in
which other programs ran): at 1,000 requests a second, a redirect that arrives while the worker computes waits 0.04 ms,
p99 0.8 ms; at 5,000 a second 0.015 ms, p99 0.4 ms. None of these changed that by more than it varies: slices of 0.1 ms
for the web process or the worker (`sched_setattr`), `SCHED_BATCH` for the worker, both together. `nice -n 10` and 19
shorten the p99 a little, and leave the worker too little of a busy core. So the p50 is not a wait but work: a request
that comes alone finds cold caches, and its visit is spooled before its response, while nginx logs after it.
"""

import statistics
from collections.abc import Callable, Sequence
from pathlib import Path

from bench import wrk
from bench.nginx import nginx
from bench.report import Row, at_most, without_target
from bench.run import Run
from bench.servers import SERVER_CORE, free_port, module, started, waypost
from bench.wrk import Contender, Round

_RATES = (1_000, 10_000)
_P50, _P99 = 1.4, 1.2
"""Times as long as nginx, at most."""


def measure(run: Run) -> list[Row]:
    directory, port = run.new_directory(), free_port()
    fastapi = module("fastapi_redirects", str(port), str(run.few))
    with (
        nginx(run.new_directory(), run.few) as theirs,
        started("fastapi", fastapi, port=port, ready="/", cores=SERVER_CORE, directory=directory) as plain,
        waypost(
            run.copied_store(run.few), run.new_directory(), role="all", routes_in_memory=run.few * 2 + 1_000
        ) as ours,
    ):
        wrk.warm_up(ours.port, run.few)
        rows = []
        for rate in _RATES:
            arguments = [str(run.few), str(rate), str(Path(__file__).parent)]
            contenders = [Contender(server, "fixed_rate.lua", arguments) for server in (ours, theirs, plain)]
            rows += _compare(rate, *wrk.alternate(run, contenders))
        return rows


def _compare(rate: int, ours: Sequence[Round], theirs: Sequence[Round], fastapi: Sequence[Round]) -> list[Row]:
    names = {"Waypost": ours, "nginx": theirs, "FastAPI": fastapi}

    def detail(of: Callable[[Round], float]) -> str:
        return ", ".join(f"{name} {_median(rounds, of):.2f} ms" for name, rounds in names.items())

    what = f"{rate:,} redirects a second while the worker drains"
    rates = ", ".join(f"{name} {wrk.rate(rounds):,.0f}/s" for name, rounds in names.items())
    return [
        at_most(f"{what}, p50 relative to nginx", _ratio(ours, theirs, _p50), _P50, detail(_p50), " times"),
        at_most(f"{what}, p99 relative to nginx", _ratio(ours, theirs, _p99), _P99, detail(_p99), " times"),
        without_target(f"{what}, p99.9", f"{_median(ours, _p999):.2f} ms", f"{detail(_p999)}; {rates}"),
    ]


def _p50(each: Round) -> float:
    return each.p50


def _p99(each: Round) -> float:
    return each.p99


def _p999(each: Round) -> float:
    return each.p999


def _median(rounds: Sequence[Round], of: Callable[[Round], float]) -> float:
    return statistics.median(map(of, wrk.counted(rounds)))


def _ratio(ours: Sequence[Round], theirs: Sequence[Round], of: Callable[[Round], float]) -> float:
    pairs = zip(wrk.counted(ours), wrk.counted(theirs), strict=True)
    return statistics.median(of(our) / of(their) for our, their in pairs)
