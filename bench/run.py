"""One run: how long and how large its measurements are, where its files lie, and the stores it has seeded."""

import asyncio
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from bench.seed import Store, new_store


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
    stores: dict[int, Store] = field(default_factory=dict)

    @classmethod
    def full(cls, directory: Path) -> "Run":
        return cls(directory, rounds=7, seconds=4, many=1_000_000, few=100_000, visits=1_000_000, creates_each=50)

    @classmethod
    def short(cls, directory: Path) -> "Run":
        return cls(directory, rounds=2, seconds=1, many=50_000, few=10_000, visits=50_000, creates_each=8)

    def store(self, links: int) -> Store:
        """A store that is seeded once in a run; servers on it are started one after the other or only read."""
        if links not in self.stores:
            self.stores[links] = asyncio.run(new_store(self.new_directory() / "waypost.db", links))
        return self.stores[links]

    def new_directory(self) -> Path:
        return Path(tempfile.mkdtemp(dir=self.directory))
