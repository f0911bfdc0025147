"""Latency of redirects at fixed rates on one core, on which the worker drains their clicks meanwhile.

Beside it, in alternating rounds on that core: nginx with an access log, and FastAPI, which records no visit. A thousand
requests a second are a busy installation, of which most redirects find an idle processor. wrk sends those of a
millisecond together.

Waits for the worker (`perf record --switch-events` of the core, on Linux 6.18) are short, and none of these changed
them by more than they vary: slices of 0.1 ms for the web process or the worker (`sched_setattr`), `SCHED_BATCH` for the
worker, both together. `nice -n 10` and 19 shorten the p99 a little, and leave the worker too little of a busy core. So
the p50 is not a wait but work: a request that comes alone finds cold caches, and its visit is spooled before its
response, while nginx logs after it.
"""

import statistics
from collections.abc import Callable, Sequence
from pathlib import Path

from bench import wrk
from bench.nginx import nginx
from bench.report import Row, measured
from bench.run import Run
from bench.servers import SERVER_CORE, free_port, module, started, waypost
from bench.wrk import Contender, Round

_RATES = (1_000, 10_000)


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
        measured(f"{what}, p50 relative to nginx", _ratio(ours, theirs, _p50), detail(_p50), " times"),
        measured(f"{what}, p99 relative to nginx", _ratio(ours, theirs, _p99), detail(_p99), " times"),
        measured(f"{what}, p99.9", _median(ours, _p999), f"{detail(_p999)}; {rates}", " ms"),
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
