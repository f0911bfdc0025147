"""The limiters of a process: of PostgreSQL, or in files."""

from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Protocol

from waypost.accounts.limits.limiter import RateLimiter
from waypost.database import Database
from waypost.metrics import Gauge
from waypost.worker.run import Periodic

_DELETE_INTERVAL = 30  # seconds


class RateLimiters(Protocol):
    """Creates the limiters of a process."""

    def new(self, name: str, *, limit: int, slots: int = 65_536) -> RateLimiter:
        """`name`: at most 16 characters; `slots`: keys in a minute that a file has space for."""

    def gauges(self) -> Iterable[Gauge]: ...

    async def close(self) -> None: ...


def open_limiters(db: Database, data_dir: Path) -> RateLimiters:
    # imported here: a process needs one of the two
    if db.dialect == "postgresql":
        from waypost.accounts.limits.postgres_limiter import PostgresLimiters  # noqa: PLC0415

        return PostgresLimiters(db.url)
    from waypost.accounts.limits.file_limiter import FileLimiters  # noqa: PLC0415

    return FileLimiters(data_dir / "run")


def rate_limit_steps(db: Database) -> list[Periodic]:
    """What the worker runs."""
    if db.dialect == "sqlite":
        return []
    from waypost.accounts.limits.postgres_limiter import delete_idle  # noqa: PLC0415

    return [(_DELETE_INTERVAL, partial(delete_idle, db))]
