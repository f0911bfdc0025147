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
from typing import Any, Generic, TypeVar

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


@dataclass
class KeptStores:
    directory: Path
    _open: dict[tuple[str, str], tuple[Any, contextlib.ExitStack]] = field(default_factory=dict)

    def get(self, seed: Seed[S], database: str) -> S:
        """`database`: one of DATABASES."""
        key = seed.name, database
        if key not in self._open:
            with contextlib.ExitStack() as stack:
                self._open[key] = self._seeded(seed, database, stack), stack.pop_all()
        found: S = self._open[key][0]
        return found

    def both(self, seed: Seed[S]) -> list[S]:
        """On SQLite and PostgreSQL, seeded at the same time."""
        with on_all_cores(), ThreadPoolExecutor() as pool:
            return list(pool.map(partial(self.get, seed), DATABASES))

    @contextlib.contextmanager
    def used_up(self, seed: Seed[S], database: str) -> Iterator[S]:
        """Yield one to change. It is removed then, so that the next user gets a new one."""
        store = self.get(seed, database)
        _mark(self._directory(seed, database)).unlink()
        try:
            yield store
        finally:
            self._open.pop((seed.name, database))[1].close()
            shutil.rmtree(self._directory(seed, database), ignore_errors=True)

    def close(self) -> None:
        for _, stack in self._open.values():
            stack.close()

    def _seeded(self, seed: Seed[S], database: str, stack: contextlib.ExitStack) -> S:
        directory = self._directory(seed, database)
        mark = _mark(directory)
        if not mark.exists():
            self._remove_outdated(seed, database)
            directory.mkdir(parents=True)
            directory.chmod(0o777)  # PostgreSQL runs as a different user
        if database == "SQLite":
            url = f"sqlite:///{directory / 'waypost.db'}"
        else:
            url = stack.enter_context(postgres(directory / "data"))
        if mark.exists():
            store: S = pickle.loads(mark.read_bytes())
            if seed.refresh:
                asyncio.run(seed.refresh(url))
        else:
            store = asyncio.run(seed.write(url))
            mark.write_bytes(pickle.dumps(store))
        return store

    def _directory(self, seed: Seed[Any], database: str) -> Path:
        return self.directory / f"{seed.name}-{database}-{_key(seed)}"

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
