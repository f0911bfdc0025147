"""Duration of `--help`, time until `serve` is ready, and memory of an idle service.

RSS counts shared memory once per process. PSS, in the details, divides it among the processes.
"""

import statistics
import subprocess
import time
from pathlib import Path
from typing import NamedTuple

from bench.postgres import postgres
from bench.report import Failed, Row, measured
from bench.run import Run
from bench.seed import Store
from bench.servers import ALL_CORES, WAYPOST, Server, clean_environment, waypost


class _EmptyDatabase(NamedTuple):
    url: str


_HELPS = 10
_PROCESSES = 3  # parent, web, worker
_SETTLED = 30.0  # seconds


def measure(run: Run) -> list[Row]:
    first, _ = _start(run, run.new_directory())
    starts, servers = zip(*(_start(run, run.new_directory(), migrated=True) for _ in range(run.rounds)), strict=True)
    rss, pss = servers[-1]
    return [
        measured("`waypost --help`", statistics.median(_help() for _ in range(_HELPS)), unit=" s"),
        measured("first `serve` until ready", first, "includes creating the database", " s"),
        measured("`serve` until ready", statistics.median(starts), f"on all cores; slowest {max(starts):.2f} s", " s"),
        measured("memory of all idle processes, RSS", rss, f"parent, web, worker; PSS {pss:.0f} MB", " MB"),
        _redirect_node(run),
    ]


def _redirect_node(run: Run) -> Row:
    with postgres() as url:
        subprocess.run([WAYPOST, "migrate"], check=True, env=clean_environment() | {"WAYPOST_DATABASE_URL": url})
        with waypost(_EmptyDatabase(url), run.new_directory(), role="redirect", cores=ALL_CORES) as server:
            rss, pss = _memory(server, processes=2)
    detail = f"parent and one redirect process, on PostgreSQL; RSS {rss:.0f} MB. Cached routes: see the route table"
    return measured("memory of an idle redirect node, PSS", pss, detail, " MB")


def _help() -> float:
    began = time.perf_counter()
    command = ["taskset", "-c", ALL_CORES, WAYPOST, "--help"]
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True, env=clean_environment())
    return time.perf_counter() - began


def _start(run: Run, directory: Path, *, migrated: bool = False) -> tuple[float, tuple[float, float]]:
    """(seconds until ready, (RSS, PSS) in MB once idle)"""
    store = run.store(1_000) if migrated else Store(directory / "data" / "waypost.db", run.store(1_000).account, 0)
    began = time.perf_counter()
    with waypost(store, directory, role="all", cores=ALL_CORES) as server:
        took = time.perf_counter() - began
        return took, _memory(server)


def _memory(server: Server, *, processes: int = _PROCESSES) -> tuple[float, float]:
    deadline = time.monotonic() + _SETTLED
    while len(server.processes()) != processes:
        if time.monotonic() > deadline:
            raise Failed(f"{len(server.processes())} processes are running")
        time.sleep(0.1)
    time.sleep(1)  # until memory used by the start is released
    texts = [Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines() for pid in server.processes()]
    return _sum(texts, "Rss:"), _sum(texts, "Pss:")


def _sum(texts: list[list[str]], name: str) -> float:
    """MB over all processes."""
    return sum(int(line.split()[1]) for text in texts for line in text if line.startswith(name)) / 1024
