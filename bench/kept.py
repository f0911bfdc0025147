"""Seeded databases, kept for the runs of one day in `.bench/stores`: an interrupted run does not seed them again."""

import asyncio
import contextlib
import os
import pickle
import shutil
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

from bench.postgres import postgres, stop
from bench.servers import on_all_cores
from waypost.database import migrations

S = TypeVar("S")

DATABASES = ("SQLite", "PostgreSQL")
_ROOT = Path(__file__).parent.parent
_SEEDING = ("aggregation", "click_store", "full_account", "history", "seed")
"""Modules of this package that write into the databases."""


@dataclass(frozen=True)
class Seed(Generic[S]):
    name: str
    parameters: tuple[object, ...]
    write: Callable[[str], Coroutine[Any, Any, S]]
    """Seeds the database of the URL that it gets. Its result can be pickled."""
    refresh: Callable[[str], Coroutine[Any, Any, None]] | None = None
    """What a worker would have done since."""


class _Open(NamedTuple):
    store: Any
    directory: Path
    stack: contextlib.ExitStack
    """Closes it."""


@dataclass
class KeptStores:
    directory: Path
    _open: dict[tuple[str, str], _Open] = field(default_factory=dict)

    def get(self, seed: Seed[S], database: str) -> S:
        """`database`: one of DATABASES."""
        key = seed.name, database
        if key not in self._open:
            self._open[key] = self._opened(seed, database)
        found: S = self._open[key].store
        return found

    def both(self, seed: Seed[S]) -> list[S]:
        """On SQLite and PostgreSQL, seeded at the same time."""
        with on_all_cores(), ThreadPoolExecutor() as pool:
            return list(pool.map(partial(self.get, seed), DATABASES))

    @contextlib.contextmanager
    def used_up(self, seed: Seed[S], database: str) -> Iterator[S]:
        """Yield one to change. It is removed then, so that the next user gets a new one."""
        store = self.get(seed, database)
        _mark(self._open[seed.name, database].directory).unlink()
        try:
            yield store
        finally:
            self.remove(seed, database)

    def remove(self, seed: Seed[Any], database: str) -> None:
        """Remove one that is open."""
        _, directory, stack = self._open.pop((seed.name, database))
        stack.close()
        shutil.rmtree(directory)

    def close(self) -> None:
        for each in self._open.values():
            each.stack.close()

    def _opened(self, seed: Seed[Any], database: str) -> _Open:
        directory = self.directory / f"{seed.name}-{database}-{_key(seed)}"
        mark = _mark(directory)
        if not mark.exists():
            self._remove_outdated(seed, database)
            directory.mkdir(parents=True)
            directory.chmod(0o777)  # PostgreSQL runs as a different user
        with contextlib.ExitStack() as stack:
            if database == "SQLite":
                url = f"sqlite:///{directory / 'waypost.db'}"
            else:
                url = stack.enter_context(postgres(directory / "data"))
            if not mark.exists():
                mark.write_bytes(pickle.dumps(asyncio.run(seed.write(url))))
            elif seed.refresh:
                asyncio.run(seed.refresh(url))
            return _Open(pickle.loads(mark.read_bytes()), directory, stack.pop_all())

    def _remove_outdated(self, seed: Seed[Any], database: str) -> None:
        """Those of other days and sizes, and what an interrupted run has not finished."""
        for directory in self.directory.glob(f"{seed.name}-{database}-*"):
            stop(directory / "data")
            shutil.rmtree(directory)


def kept_directory(otherwise: Path) -> Path:
    """Where stores survive a run, if PostgreSQL's user can read there."""
    directory = _ROOT / ".bench" / "stores"
    is_reachable = os.getuid() != 0 or all(each.stat().st_mode & 1 for each in _ROOT.resolve().parents)
    return directory if is_reachable else otherwise


def _key(seed: Seed[Any]) -> str:
    modules = b"".join((Path(__file__).parent / f"{name}.py").read_bytes() for name in _SEEDING)
    newest = max(path.name for path in (Path(migrations.__file__).parent / "versions").glob("*.py"))
    return sha256(repr((seed.parameters, newest, datetime.now(UTC).date())).encode() + modules).hexdigest()[:12]


def _mark(directory: Path) -> Path:
    """What was seeded. It exists once the database is complete."""
    return directory / "seeded.pickle"
