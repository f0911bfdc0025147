"""One run: how long and how large its measurements are, where its files lie, and the stores it has seeded."""

import asyncio
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from bench.furnished import Furnished, furnish
from bench.postgres import postgres
from bench.seed import Store, new_store
from bench.stored import Stored, new_stored


@dataclass(frozen=True)
class Run:
    directory: Path
    rounds: int
    seconds: int
    """Of each round."""
    many: int
    few: int
    """How many links a large and an ordinary store hold."""
    visits: int
    creates_each: int
    """Creates by each of the clients at once. No more than 60: that is a key's budget."""
    clicks: int
    """How many are stored already where figures are asked for and more clicks come in."""
    drained: int
    """Clicks during which the worker's memory is watched."""
    deliveries: int
    pending: int
    """Deliveries that wait while the price of a claim is measured."""
    endless: int
    """Deliveries to a receiver whose answers have no end."""
    drawings: int
    """Of each style and format of codes."""
    lasting: ExitStack
    """Ends what outlives a benchmark, when the run ends."""
    stores: dict[int, Store] = field(default_factory=dict)
    full_stores: dict[str, Stored] = field(default_factory=dict)
    furnished: dict[str, Furnished] = field(default_factory=dict)

    @classmethod
    def full(cls, directory: Path, lasting: ExitStack) -> "Run":
        return cls(
            directory,
            rounds=7,
            seconds=4,
            many=1_000_000,
            few=100_000,
            visits=1_000_000,
            creates_each=50,
            clicks=10_000_000,
            drained=5_000_000,
            deliveries=20_000,
            pending=1_000_000,
            endless=100_000,
            drawings=300,
            lasting=lasting,
        )

    @classmethod
    def short(cls, directory: Path, lasting: ExitStack) -> "Run":
        return cls(
            directory,
            rounds=2,
            seconds=1,
            many=50_000,
            few=10_000,
            visits=50_000,
            creates_each=8,
            clicks=200_000,
            drained=300_000,
            deliveries=2_000,
            pending=100_000,
            endless=1_000,
            drawings=50,
            lasting=lasting,
        )

    def store(self, links: int) -> Store:
        """A store that is seeded once in a run; servers on it are started one after the other or only read."""
        if links not in self.stores:
            self.stores[links] = asyncio.run(new_store(self.new_directory() / "waypost.db", links))
        return self.stores[links]

    def full_store(self, database: str) -> Stored:
        """A year of clicks in "SQLite" or "PostgreSQL". Seeded once in a run; who adds to it comes last."""
        if database not in self.full_stores:
            made = new_stored(self._new_url(database), count=self.clicks, links=10_000)
            self.full_stores[database] = asyncio.run(made)
        return self.full_stores[database]

    def furnished_store(self, database: str) -> Furnished:
        """All these clicks on the links of one account, which has of everything. Seeded once in a run."""
        if database not in self.furnished:
            made = new_stored(self._new_url(database), count=self.clicks, links=self.few, accounts=1)
            self.furnished[database] = asyncio.run(furnish(asyncio.run(made), self.few))
        return self.furnished[database]

    def _new_url(self, database: str) -> str:
        if database == "SQLite":
            return f"sqlite:///{self.new_directory() / 'waypost.db'}"
        return self.lasting.enter_context(postgres())

    def new_directory(self) -> Path:
        return Path(tempfile.mkdtemp(dir=self.directory))
