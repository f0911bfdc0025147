"""One run: duration and size of its measurements, its directory, and seeded databases."""

import contextlib
import os
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from bench.aggregation import cache_values
from bench.click_store import ClickStore, new_click_store
from bench.disturbance import adopt_orphans
from bench.full_account import FullAccount, fill_account
from bench.kept import DATABASES, KeptStores, Seed, kept_directory
from bench.postgres import postgres
from bench.seed import Store, new_store
from bench.servers import LOAD_CORE


@dataclass(frozen=True)
class Run:
    directory: Path
    rounds: int
    seconds: int
    """Of each round."""
    many: int
    few: int
    """Numbers of links in a large and in an ordinary database."""
    visits: int
    creates_each: int
    bulk_creates: int
    """Creates by each of the concurrent clients. At most 60, the rate limit of a key."""
    clicks: int
    """Stored clicks where statistics are read and more clicks are drained."""
    clickhouse_clicks: int
    """Stored clicks where statistics are read from ClickHouse."""
    drained: int
    """Clicks drained while the worker's memory is measured."""
    deliveries: int
    pending: int
    """Pending deliveries while the duration of a claim is measured."""
    endless: int
    """Deliveries to a receiver whose responses never end."""
    drawings: int
    """For each style and format of QR codes."""
    cleanup: ExitStack
    """Closed at the end of the run: resources shared by several benchmarks."""
    kept: KeptStores

    @classmethod
    def full(cls, directory: Path, cleanup: ExitStack, kept: KeptStores) -> "Run":
        return cls(
            directory,
            rounds=7,
            seconds=4,
            many=1_000_000,
            few=100_000,
            visits=1_000_000,
            creates_each=50,
            bulk_creates=10,
            clicks=10_000_000,
            clickhouse_clicks=100_000_000,
            drained=5_000_000,
            deliveries=20_000,
            pending=1_000_000,
            endless=100_000,
            drawings=300,
            cleanup=cleanup,
            kept=kept,
        )

    @classmethod
    def short(cls, directory: Path, cleanup: ExitStack, kept: KeptStores) -> "Run":
        return cls(
            directory,
            rounds=2,
            seconds=1,
            many=50_000,
            few=10_000,
            visits=50_000,
            creates_each=8,
            bulk_creates=2,
            clicks=200_000,
            clickhouse_clicks=2_000_000,
            drained=300_000,
            deliveries=2_000,
            pending=100_000,
            endless=1_000,
            drawings=50,
            cleanup=cleanup,
            kept=kept,
        )

    def store(self, links: int) -> Store:
        """A database to read. Servers without a worker add no clicks."""
        seed = Seed(f"links-{links}", (links,), lambda url: new_store(Path(url.removeprefix("sqlite:///")), links))
        return self.kept.get(seed, "SQLite")

    def copied_store(self, links: int) -> Store:
        """A copy, to write into."""
        store, path = self.store(links), self.new_directory() / "waypost.db"
        with closing(sqlite3.connect(store.path)) as source, closing(sqlite3.connect(path)) as copy:
            source.backup(copy)
        return replace(store, path=path)

    def click_stores(self) -> list[ClickStore]:
        """A year of clicks in SQLite and in PostgreSQL, to read."""
        return self.kept.both(self._click_seed())

    def last_click_store(self, database: str) -> AbstractContextManager[ClickStore]:
        """One of them, to add clicks. It is removed afterwards."""
        return self.kept.used_up(self._click_seed(), database)

    def _click_seed(self) -> Seed[ClickStore]:
        write = partial(new_click_store, count=self.clicks, links=10_000)
        return Seed("clicks", (self.clicks,), write, cache_values)

    @contextlib.contextmanager
    def full_accounts(self) -> Iterator[list[FullAccount]]:
        """In SQLite and in PostgreSQL, to read: clicks of one account that has every kind of object.

        They take much of the disk, so they are removed after the block, unless it fails.
        """

        async def write(url: str) -> FullAccount:
            store = await new_click_store(url, count=self.clicks, links=self.few, accounts=1, has_today=True)
            return await fill_account(store, self.few, self.many)

        seed = Seed("account", (self.clicks, self.few, self.many), write, cache_values)
        yield self.kept.both(seed)
        for database in DATABASES:
            self.kept.remove(seed, database)

    def new_url(self, database: str) -> str:
        if database == "SQLite":
            return f"sqlite:///{self.new_directory() / 'waypost.db'}"
        return self.cleanup.enter_context(postgres())

    def new_directory(self) -> Path:
        return Path(tempfile.mkdtemp(dir=self.directory))


@contextlib.contextmanager
def new_run(*, short: bool) -> Iterator[Run]:
    """This process keeps to the core that load comes from; servers run on other cores."""
    os.sched_setaffinity(0, {int(LOAD_CORE)})
    adopt_orphans()
    with (
        tempfile.TemporaryDirectory(prefix="waypost-bench-", ignore_cleanup_errors=True) as directory,
        contextlib.ExitStack() as cleanup,
    ):
        Path(directory).chmod(0o755)  # PostgreSQL runs as a different user
        kept = KeptStores(Path(directory) / "stores" if short else kept_directory(Path(directory) / "stores"))
        cleanup.callback(kept.close)
        yield (Run.short if short else Run.full)(Path(directory), cleanup, kept)
