"""One run: duration and size of its measurements, its directory, and the databases it has seeded."""

import asyncio
import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from bench.click_store import ClickStore, new_click_store
from bench.disturbance import adopt_orphans
from bench.full_account import FullAccount, fill_account
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
    stores: dict[int, Store] = field(default_factory=dict)
    click_stores: dict[str, ClickStore] = field(default_factory=dict)
    full_accounts: dict[str, FullAccount] = field(default_factory=dict)

    @classmethod
    def full(cls, directory: Path, cleanup: ExitStack) -> "Run":
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
        )

    @classmethod
    def short(cls, directory: Path, cleanup: ExitStack) -> "Run":
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
        )

    def store(self, links: int) -> Store:
        """A database seeded once in a run. Servers that write to it run one after the other."""
        if links not in self.stores:
            self.stores[links] = asyncio.run(new_store(self.new_directory() / "waypost.db", links))
        return self.stores[links]

    def click_store(self, database: str) -> ClickStore:
        """A year of clicks in "SQLite" or "PostgreSQL". Seeded once in a run; benchmarks that add to it run last."""
        if database not in self.click_stores:
            made = new_click_store(self.new_url(database), count=self.clicks, links=10_000)
            self.click_stores[database] = asyncio.run(made)
        return self.click_stores[database]

    def full_account(self, database: str) -> FullAccount:
        """Clicks on the links of one account that has every kind of object. Seeded once in a run."""
        if database not in self.full_accounts:
            made = new_click_store(
                self.new_url(database), count=self.clicks, links=self.few, accounts=1, has_today=True
            )
            self.full_accounts[database] = asyncio.run(fill_account(asyncio.run(made), self.few, self.many))
        return self.full_accounts[database]

    def compiled(self) -> Path:
        """The package with compiled redirects, as installations have it. Compiled once in a run."""
        directory = self.directory / "compiled"
        if not directory.exists():
            script = Path(__file__).parents[1] / "compile_redirects.py"
            subprocess.run([sys.executable, script, directory], check=True)
        return directory

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
        yield (Run.short if short else Run.full)(Path(directory), cleanup)
