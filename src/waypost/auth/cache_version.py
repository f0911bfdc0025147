"""A stamp beside the SQLite file that moves whenever what a caller may do has changed, on this machine.

It lets every process keep callers in memory and still refuse a revoked key at the very next request (R13).
PostgreSQL is shared by machines that cannot see each other's files: there is no stamp there, and nothing is kept.
"""

import contextlib
import mmap
import os
from collections.abc import Iterator
from pathlib import Path

from waypost.database import Database

_SIZE = 8


class CacheVersion:
    """Reading costs a slice of mapped memory, not a system call."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        with os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), "r+b") as file:
            if os.fstat(file.fileno()).st_size < _SIZE:
                os.pwrite(file.fileno(), os.urandom(_SIZE), 0)  # real blocks: touching a hole on a full disk kills
            self._memory = mmap.mmap(file.fileno(), _SIZE)

    def read(self) -> bytes:
        return self._memory[:_SIZE]

    def move(self) -> None:
        self._memory[:_SIZE] = os.urandom(_SIZE)


def cache_version_of(db: Database) -> CacheVersion | None:
    return CacheVersion(db.path.with_name(f"{db.path.name}-callers")) if db.dialect == "sqlite" else None


@contextlib.contextmanager
def invalidating_callers(db: Database) -> Iterator[None]:
    """Moves the stamp after the block, which holds a transaction; also when it failed, for a commit may have landed."""
    stamp = cache_version_of(db)  # opened first: a stamp that cannot be moved must fail before the commit, not after it
    try:
        yield
    finally:
        if stamp:
            stamp.move()
