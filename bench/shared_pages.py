"""The dashboard of an account while 50 visitors open shared statistics of it, relative to the dashboard alone.

The account is that of `waypost demo`, with 42,000 clicks. One member opens the overview again and again. Visitors open
the page of a share at the same time, each as soon as the last answer has come: all the same page, or each another one,
with filters and time ranges of their own. They have many addresses, because pages for one network are limited.
"""

import asyncio
import contextlib
import http.client
import itertools
import multiprocessing
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.client import percentile
from bench.report import Failed, Row, measured
from bench.run import Run
from bench.servers import SECRET_KEY, on_all_cores, waypost
from waypost.accounts import get_account, get_person
from waypost.accounts.model import ProcessCaller
from waypost.accounts.sessions import store as sessions
from waypost.composition import new_context
from waypost.database import Database
from waypost.database.migrations import migrate
from waypost.demo import account as demo
from waypost.kit.clock import now
from waypost.kit.errors import Problems
from waypost.redirect import ChangeFeed
from waypost.resources.shares import service
from waypost.resources.shares.deps import Deps
from waypost.resources.shares.schemas import NewShare
from waypost.settings import Settings

_VISITORS = 50
_PAGES = 140
"""Of the member, four times; the limit is 600 a minute."""
_SAME = [""]
_OTHERS = [
    f"?country={country}&period=custom&from=2026-01-{day:02}&to=2030-01-01"
    for day in range(1, 29)
    for country in ("DE", "US", "GB", "CH", "AT", "NL", "FR")
]


@dataclass(frozen=True)
class _Seeded:
    url: str
    cookie: str
    path: str


def measure(run: Run) -> list[Row]:
    with on_all_cores():
        seeded = {name: asyncio.run(_seed(run.new_url(name), run.new_directory())) for name in ("SQLite", "PostgreSQL")}
    return [row for name, each in seeded.items() for row in _rows(run, name, each)]


def _rows(run: Run, name: str, seeded: _Seeded) -> Iterator[Row]:
    with waypost(seeded, run.new_directory(), trusted_proxies="127.0.0.1") as server:
        for what, queries in (("the same page", _SAME), ("a page of their own each", _OTHERS)):
            alone = _open_dashboard(server.port, seeded.cookie)
            with _visitors(server.port, seeded.path, queries) as opened:
                meanwhile = _open_dashboard(server.port, seeded.cookie)
            before, after = percentile(alone, 99), percentile(meanwhile, 99)
            detail = (
                f"p99 {after:.0f} ms, alone {before:.0f} ms; p50 {percentile(meanwhile, 50):.0f} and"
                f" {percentile(alone, 50):.0f} ms; {opened[0]:,} pages of the share meanwhile"
            )
            row = f"dashboard while {_VISITORS} visitors of a share open {what}, p99 relative to alone, on {name}"
            yield measured(row, after / before, detail)


def _open_dashboard(port: int, cookie: str) -> list[float]:
    client, times = http.client.HTTPConnection("127.0.0.1", port), []
    for _ in range(_PAGES):
        times.append(_get(client, "/", {"Cookie": cookie}) * 1000)
        time.sleep(0.02)  # a person reads
    client.close()
    return times


@contextlib.contextmanager
def _visitors(port: int, path: str, queries: Sequence[str]) -> Iterator[list[int]]:
    """Yield a list that gets the number of opened pages. Visitors are a process, so that they delay no measurement."""
    opened, fork = list[int](), multiprocessing.get_context("fork")
    is_over, count = fork.Event(), fork.Value("q", 0)
    process = fork.Process(target=_visit, args=(port, path, queries, is_over, count))
    process.start()
    try:
        yield opened
    finally:
        is_over.set()
        process.join()
        opened.append(count.value)


def _visit(port: int, path: str, queries: Sequence[str], is_over: Any, count: Any) -> None:
    def visit(number: int) -> None:
        client = http.client.HTTPConnection("127.0.0.1", port)
        for turn in itertools.count():
            if is_over.is_set():
                break
            query = queries[(number + turn * _VISITORS) % len(queries)]
            _get(client, path + query, {"X-Forwarded-For": f"198.51.{number}.{turn % 250}"})
            with count.get_lock():
                count.value += 1
        client.close()

    with ThreadPoolExecutor(_VISITORS) as threads:
        for _ in threads.map(visit, range(_VISITORS)):
            pass


def _get(client: http.client.HTTPConnection, path: str, headers: dict[str, str]) -> float:
    began = time.perf_counter()
    client.request("GET", path, headers={"Accept-Encoding": "gzip", **headers})
    response = client.getresponse()
    content = response.read()
    if response.status != 200:
        raise Failed(f"{path}: {response.status}: {content[:300]!r}")
    return time.perf_counter() - began


async def _seed(url: str, directory: Path) -> _Seeded:
    settings = Settings(data_dir=directory, database_url=url, base_url="http://127.0.0.1", secret_key=SECRET_KEY)
    db = Database(url)
    await migrate(db)
    with contextlib.closing(ChangeFeed(directory / "changes")) as feed:
        await demo.create(settings, db, feed, now=now(), seed=1)
    context = new_context(settings, db, lambda _: None)
    deps = Deps(**vars(context), embed_keys=[b"not used"])
    owner = ProcessCaller(await get_account(db, demo.EMAIL), "bench")
    share = await service.create(deps, owner, NewShare(name="Everything"), Problems())
    person = await get_person(db, demo.EMAIL)
    async with db.write() as tx:
        token = await sessions.create(tx, person.id, user_agent="bench", ip="127.0.0.1", now=now())
    await context.click_store.close()
    await db.close()
    return _Seeded(url, f"waypost={token}", str(deps.url(share)).removeprefix(context.base_url))
