"""Rate limits that nodes share through PostgreSQL: the duration of a check, and what sharing costs a request.

Two processes with connections of their own, as two nodes have, check limits of the same keys at a fixed rate. Duration
includes waiting within the process. They share two cores with PostgreSQL, and there is no network between them.

`GET /v1/links/{id}` is compared with the same service on PostgreSQL whose limits are in files, as on SQLite.
"""

import asyncio
import json
import subprocess
from pathlib import Path

from bench import wrk
from bench.client import percentile
from bench.link_by_id import BURST, KEYS, write
from bench.postgres import postgres
from bench.report import Failed, Row, at_least, at_most
from bench.run import Run
from bench.seed import add_keys, add_links, new_account
from bench.servers import ALL_CORES, SERVER_CORE, Server, clean_environment, free_port, module, started, waypost
from bench.wrk import Contender
from waypost.database import Database
from waypost.database.migrations import migrate

_NODES = 2
_RATE = 500
"""Checks per second and node."""
_SECRET_KEY = "the key of all nodes of this benchmark"


class _Store:
    """A PostgreSQL database."""

    def __init__(self, url: str) -> None:
        self.url = url


def measure(run: Run) -> list[Row]:
    with postgres() as url:
        directory = run.new_directory()
        files = asyncio.run(_seed(url, directory, run.few))
        return [_check(run, url), *_requests(run, url, directory, *files)]


async def _seed(url: str, directory: Path, links: int) -> list[Path]:
    """Return files with paths, keys for bursts, and keys for single requests."""
    db = Database(url)
    await migrate(db)
    account = await new_account(db, "seed")
    ids = await add_links(db, account, links)
    keys = {name: await add_keys(db, account, KEYS) for name in ("bursts", "turns")}
    await db.close()
    lines = {"paths": [f"/api/v1/links/{each}" for each in ids], **keys}
    return [write(directory / name, each) for name, each in lines.items()]


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
    return at_most("limiter check on PostgreSQL, two nodes, p99", percentile(times, 99), 2, detail, " ms")


def _requests(run: Run, url: str, directory: Path, paths: Path, bursts: Path, turns: Path) -> list[Row]:
    own, files = directory / "shared", directory / "files"
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
        in_bursts, in_turn = [str(paths), str(bursts), str(BURST)], [str(paths), str(turns), "1"]
        further = str(KEYS // (wrk.MOST * run.rounds + 1))
        return [
            _compare(run, shared, in_files, [*in_bursts, further], f"keys in bursts of {BURST}"),
            _compare(run, shared, in_files, [*in_turn, further], "one request per key in turn"),
        ]


def _compare(run: Run, shared: Server, in_files: Server, arguments: list[str], how: str) -> Row:
    ours, others = wrk.alternate(run, [Contender(server, "keys.lua", arguments) for server in (shared, in_files)])
    detail = f"shared {wrk.spread(ours)}, p99 {wrk.p99(ours):.0f} ms; files {wrk.spread(others)}"
    what = f"`GET /v1/links/{{id}}` on PostgreSQL, {how}, relative to rate limits in files"
    return at_least(what, wrk.rate_ratio(ours, others), 0.7, detail)
