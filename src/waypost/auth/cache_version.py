"""A version number in a file beside SQLite's that changes whenever a caller's permissions change.

Processes cache callers in memory and still refuse a revoked key at the next request (R13). Machines that share a
PostgreSQL cannot see each other's files: there is no version there, and nothing is cached.
"""

import contextlib
import mmap
import os
from collections.abc import Iterator
from pathlib import Path

from waypost.database import Database

_SIZE = 8


class CacheVersion:
    """Memory-mapped: reading it needs no system call."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        with os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), "r+b") as file:
            if os.fstat(file.fileno()).st_size < _SIZE:
                os.pwrite(file.fileno(), os.urandom(_SIZE), 0)  # real blocks: touching a hole on a full disk kills
            self._memory = mmap.mmap(file.fileno(), _SIZE)

    def read(self) -> bytes:
        return self._memory[:_SIZE]

    def change(self) -> None:
        self._memory[:_SIZE] = os.urandom(_SIZE)


def cache_version_of(db: Database) -> CacheVersion | None:
    return CacheVersion(db.path.with_name(f"{db.path.name}-callers")) if db.dialect == "sqlite" else None


@contextlib.contextmanager
def invalidating_callers(db: Database) -> Iterator[None]:
    """Changes the version after the block, which holds a transaction; on failure too, as its commit may have landed."""
    version = cache_version_of(db)  # opened first: it must fail before the commit, not after it
    try:
        yield
    finally:
        if version:
            version.change()
