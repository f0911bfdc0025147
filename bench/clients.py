"""The clients against `waypost serve` with SQLite, relative to bare httpx and `fetch`, which only parse the JSON.

Calls of both alternate on a connection of each. The service is on another core, and its time is part of both: the
overhead is what a caller notices on a network without delay. One call reads a link, the other a page of 100 links,
which the client for Python makes objects of.
"""

import asyncio
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import httpx
from waypost_client import Waypost

from bench.report import Row, measured
from bench.run import Run
from bench.seed import add_keys, add_links, new_account, new_store
from bench.servers import waypost
from waypost.database import Database

_CALLS_OF_KEY = 24
"""Of each of both; a key may send 60 requests per minute."""
_LINKS = 1_000

Call = Callable[[], object]


def measure(run: Run) -> list[Row]:
    store = asyncio.run(new_store(run.new_directory() / "waypost.db", 1))
    keys, link = asyncio.run(_prepare(store.url, 20 * run.rounds))
    with waypost(store, run.new_directory()) as server, httpx.Client() as own, httpx.Client() as bare:
        base_url = f"http://127.0.0.1:{server.port}"

        def calls(key: str) -> Iterator[tuple[str, Call, Call]]:
            client, headers = Waypost(base_url, key, http_client=own), {"Authorization": f"Bearer {key}"}
            one, page = f"{base_url}/api/v1/links/{link}", f"{base_url}/api/v1/links?page=1&per_page=100"
            yield "reads a link", lambda: client.links.get(link), lambda: bare.get(one, headers=headers).json()
            pages = client.links.list().pages
            yield "reads 100 links", lambda: next(pages()), lambda: bare.get(page, headers=headers).json()

        half = len(keys) // 2
        typescript = _typescript(base_url, keys[half:], link, run.new_directory())
        return [*_overheads(keys[:half], calls), _import(), *typescript]


async def _prepare(url: str, count: int) -> tuple[list[str], str]:
    db = Database(url)
    account = await new_account(db, "caller")
    keys, links = await add_keys(db, account, count), await add_links(db, account, _LINKS, first=1)
    await db.close()
    return keys, str(links[0])


def _overheads(keys: Sequence[str], calls: Callable[[str], Iterator[tuple[str, Call, Call]]]) -> Iterator[Row]:
    times: dict[str, tuple[list[float], list[float]]] = {}
    for key in keys:
        for what, own, bare in calls(key):
            for _ in range(_CALLS_OF_KEY // 2):
                for call, noted in zip((own, bare), times.setdefault(what, ([], [])), strict=True):
                    noted.append(_milliseconds(call))
    for what, pair in times.items():
        own_time, bare_time = map(statistics.median, pair)
        detail = f"{len(pair[0]):,} calls of each in turn; median {own_time:.2f} ms, with httpx {bare_time:.2f} ms"
        yield measured(f"Python client that {what}, overhead", (own_time / bare_time - 1) * 100, detail, " %")


def _milliseconds(call: Call) -> float:
    began = time.perf_counter()
    call()
    return (time.perf_counter() - began) * 1_000


def _import() -> Row:
    program = "import time; t = time.process_time(); import waypost_client; print(time.process_time() - t)"
    times = [float(subprocess.check_output([sys.executable, "-c", program])) * 1_000 for _ in range(11)]
    detail = f"processor time, median of {len(times)} processes; httpx is loaded when a client is made"
    return measured("import of the Python client", statistics.median(times), detail, " ms")


def _typescript(base_url: str, keys: Sequence[str], link: str, directory: Path) -> Iterator[Row]:
    """In Node.js, with the package that `make dist` builds."""
    root, own = Path(__file__).parents[1], {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    subprocess.run([root / "scripts" / "build-typescript-client", directory], check=True, env=os.environ | own)
    [package] = directory.iterdir()
    subprocess.run(["tar", "-xf", package, "-C", directory], check=True)
    client = directory / "package" / "dist" / "index.js"
    settings = {"BASE_URL": base_url, "KEYS": ",".join(keys), "LINK": link, "CALLS": str(_CALLS_OF_KEY // 2)}
    command: list[str | Path] = ["node", root / "bench" / "typescript_client.mjs"]
    printed = subprocess.check_output(command, env=os.environ | settings | {"CLIENT": str(client)})
    for what, timed in json.loads(printed).items():
        own_time, bare_time = (statistics.median(timed[kind]["times"]) for kind in ("own", "bare"))
        processor = [statistics.fmean(timed[kind]["processor"]) for kind in ("own", "bare")]
        detail = (
            f"{len(timed['own']['times']):,} calls of each in turn; median {own_time:.2f} ms, with fetch "
            f"{bare_time:.2f} ms; processor time {processor[0]:.2f} and {processor[1]:.2f} ms"
        )
        yield measured(f"TypeScript client that {what}, overhead", (own_time / bare_time - 1) * 100, detail, " %")
