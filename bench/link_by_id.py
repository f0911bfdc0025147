"""`GET /v1/links/{id}` of random links with key, plan, scope and rate limit checked, relative to minimal FastAPI.

A key may make 60 requests a minute, so thousands of keys alternate: in bursts, as scripts do, which finds the caller in
the cache, and one request per key, which reads every caller from the database.
"""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path
from uuid import UUID

from bench import wrk
from bench.client import Client
from bench.report import Failed, Row, measured
from bench.run import Run
from bench.seed import Store, add_keys
from bench.servers import SERVER_CORE, Server, free_port, module, started, waypost
from bench.wrk import Contender
from waypost.database import Database

_LINKS = 20_000
KEYS = 20_000  # each round has 900 of its own: in bursts of 50, for 11,000 requests a second
BURST = 50


def measure(run: Run) -> list[Row]:
    store, directory = run.store(run.many), run.new_directory()
    paths = write(directory / "paths", [f"/api/v1/links/{UUID(bytes=row)}" for row in _some_ids(store)])
    names = ("bursts", "turns", "unchanged", "changed")
    bursts, turns, *others = (write(directory / name, asyncio.run(_new_keys(store))) for name in names)
    with waypost(store, directory) as ours:
        body = asyncio.run(_one_body(ours.port, paths, turns))
        (directory / "body").write_bytes(body)
        port, further = free_port(), str(KEYS // (wrk.MOST * run.rounds + 1))
        command = module("bare_fastapi", str(port), str(directory / "body"))
        with started(
            "bare", command, port=port, ready="/api/v1/links/x", cores=SERVER_CORE, directory=directory
        ) as bare:
            return [
                _compare(run, ours, bare, [str(paths), str(bursts), str(BURST), further], "keys in bursts of 50"),
                _compare(run, ours, bare, [str(paths), str(turns), "1", further], "one request per key in turn"),
                _unchanged(run, ours, [[str(paths), str(keys), str(BURST), further] for keys in others]),
            ]


def _compare(run: Run, ours: Server, bare: Server, arguments: list[str], how: str) -> Row:
    own, other = wrk.alternate(run, [Contender(server, "keys.lua", arguments) for server in (ours, bare)])
    detail = f"Waypost {wrk.spread(own)}, p99 {wrk.p99(own):.0f} ms; minimal FastAPI {wrk.spread(other)}"
    return measured(f"`GET /v1/links/{{id}}`, {how}, relative to minimal FastAPI", wrk.rate_ratio(own, other), detail)


def _unchanged(run: Run, ours: Server, arguments: list[list[str]]) -> Row:
    """`If-None-Match` matches, so that there is no body. Each kind of request has keys of its own."""
    conditional = [*arguments[0], "*"]
    contenders = [Contender(ours, "keys.lua", each) for each in (conditional, arguments[1])]
    unchanged, whole = wrk.alternate(run, contenders)
    detail = f"304 {wrk.spread(unchanged)}; 200 {wrk.spread(whole)}"
    return measured("`GET /v1/links/{id}` answered 304, relative to 200", wrk.rate_ratio(unchanged, whole), detail)


def _some_ids(store: Store) -> list[bytes]:
    with closing(sqlite3.connect(store.path)) as connection:
        step = max(1, store.links // _LINKS)
        rows = connection.execute("SELECT id FROM links WHERE rowid % ? = 0 LIMIT ?", [step, _LINKS])
        return [row[0] for row in rows]


async def _new_keys(store: Store) -> list[str]:
    db = Database(store.url)
    keys = await add_keys(db, store.account, KEYS)
    await db.close()
    return keys


async def _one_body(port: int, paths: Path, keys: Path) -> bytes:
    client = await Client.open(port)
    response = await client.request("GET", _first_line(paths), key=_first_line(keys))
    await client.close()
    if response.status != 200:
        raise Failed(f"{response.status}: {response.body!r}")
    return response.body


def write(path: Path, lines: list[str]) -> Path:
    path.write_text("\n".join(lines) + "\n")
    return path


def _first_line(path: Path) -> str:
    with path.open() as lines:
        return lines.readline().strip()
