"""Rate limits that nodes share through PostgreSQL: the duration of a check, and what sharing costs a request.

Two processes with connections of their own, as two nodes have, check limits of the same keys at a fixed rate. Duration
includes waiting within the process. They share two cores with PostgreSQL, and there is no network between them.

`GET /v1/links/{id}` is compared with the same service on PostgreSQL whose limits are in files, as on SQLite.
"""

import asyncio
import json
import subprocess
from collections.abc import Mapping
from pathlib import Path

from bench import wrk
from bench.client import percentile
from bench.link_by_id import BURST, write
from bench.postgres import postgres
from bench.report import Failed, Row, measured
from bench.run import Run
from bench.seed import add_keys, add_links, new_account
from bench.servers import ALL_CORES, SERVER_CORE, Server, clean_environment, free_port, module, started, waypost
from bench.wrk import Contender
from waypost.database import Database
from waypost.database.migrations import migrate

_NODES = 2
_RATE = 500
"""Checks per second and node."""
_SERVERS = ("shared", "files")
_BURSTS = {BURST: f"keys in bursts of {BURST}", 1: "one request per key in turn"}
_KEYS = 8_000  # for 4,000 requests a second
_SECRET_KEY = "the key of all nodes of this benchmark"


class _Store:
    """A PostgreSQL database."""

    def __init__(self, url: str) -> None:
        self.url = url


def measure(run: Run) -> list[Row]:
    with postgres() as url:
        directory = run.new_directory()
        asyncio.run(_seed(url, directory, run.few))
        return [_check(run, url), *_requests(run, url, directory)]


async def _seed(url: str, directory: Path, links: int) -> None:
    """Write files with paths, and with keys for each server and burst.

    A server is frozen while the other one is measured, maybe in the transaction that stores when its keys were used.
    """
    db = Database(url)
    await migrate(db)
    account = await new_account(db, "seed")
    write(directory / "paths", [f"/api/v1/links/{each}" for each in await add_links(db, account, links)])
    for server in _SERVERS:
        for burst in _BURSTS:
            write(directory / f"{server}-{burst}", await add_keys(db, account, _KEYS))
    await db.close()


def _check(run: Run, url: str) -> Row:
    command = ["taskset", "-c", ALL_CORES, *module("limiter_node", url, str(_RATE), str(run.rounds * run.seconds))]
    nodes = [
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=clean_environment()) for _ in range(_NODES)
    ]
    outputs = [node.communicate()[0] for node in nodes]
    if any(node.returncode for node in nodes):
        raise Failed("a node failed")
    times = [milliseconds for output in outputs for milliseconds in json.loads(output)]
    detail = (
        f"{len(times):,} checks by {_NODES} nodes, {_RATE} a second each; p50 {percentile(times, 50):.2f} ms,"
        f" p99.9 {percentile(times, 99.9):.1f} ms"
    )
    return measured("limiter check on PostgreSQL, two nodes, p99", percentile(times, 99), detail, " ms")


def _requests(run: Run, url: str, directory: Path) -> list[Row]:
    own, files = (directory / name for name in _SERVERS)
    for each in (own, files):
        each.mkdir()
    port = free_port()
    settings = {
        "WAYPOST_BASE_URL": f"http://127.0.0.1:{port}",
        "WAYPOST_DATABASE_URL": url,
        "WAYPOST_DATA_DIR": str(files / "data"),
        "WAYPOST_SECRET_KEY": _SECRET_KEY,
    }
    command = module("limits_in_files", str(port))
    with (
        waypost(_Store(url), own, secret_key=_SECRET_KEY) as shared,
        started(
            "files", command, port=port, ready="/readyz", cores=SERVER_CORE, directory=files, environment=settings
        ) as in_files,
    ):
        servers = dict(zip(_SERVERS, (shared, in_files), strict=True))
        return [_compare(run, servers, directory, burst) for burst in _BURSTS]


def _compare(run: Run, servers: Mapping[str, Server], directory: Path, burst: int) -> Row:
    further = _KEYS // (wrk.MOST * run.rounds + 1)
    contenders = [
        Contender(server, "keys.lua", [f"{directory}/paths", f"{directory}/{name}-{burst}", str(burst), str(further)])
        for name, server in servers.items()
    ]
    ours, others = wrk.alternate(run, contenders)
    detail = f"shared {wrk.spread(ours)}, p99 {wrk.p99(ours):.0f} ms; files {wrk.spread(others)}"
    what = f"`GET /v1/links/{{id}}` on PostgreSQL, {_BURSTS[burst]}, relative to rate limits in files"
    return measured(what, wrk.rate_ratio(ours, others), detail)
