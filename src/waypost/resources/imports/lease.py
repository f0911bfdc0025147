"""The lease of an import, which the process has that runs it. One import of an account runs at a time."""

import os
import socket
from datetime import datetime
from pathlib import Path
from uuid import UUID

from waypost import accounts
from waypost.database import Tx
from waypost.kit.clock import timestamp
from waypost.kit.errors import WaypostError
from waypost.resources.imports import store
from waypost.resources.imports.model import Import


class ImportRunning(WaypostError):
    """Another import of this account is running. Wait until it has finished."""


class LeaseLost(WaypostError):
    """Another process has continued this import."""


def holder() -> str:
    """Identify this process among all that ever run."""
    return f"{socket.gethostname()}:{os.getpid()}:{_start_time(os.getpid())}"


async def lock_unfinished(tx: Tx, account_id: UUID, now: datetime) -> list[Import]:
    """Return the imports that can be continued. No other starts until the transaction ends. Raises ImportRunning."""
    await accounts.lock_account(tx, account_id)
    unfinished = await store.find_unfinished(tx, account_id)
    for other in unfinished:
        if is_running(other, now):
            raise ImportRunning(
                f"An import from {other.source} is running for this account since {timestamp(other.created_at)}."
                " Wait until it has finished."
            )
    return unfinished


async def take(tx: Tx, account_id: UUID, import_id: UUID, name: str, now: datetime) -> None:
    """`name`: see `holder`. Raises ImportRunning."""
    await lock_unfinished(tx, account_id, now)
    await store.take_lease(tx, import_id, name, now)


def is_running(import_: Import, now: datetime) -> bool:
    """Whether a process has the lease. One that was killed on this machine counts as ended at once."""
    if import_.leased_by is None or import_.lease_until is None or import_.lease_until <= now:
        return False
    host, pid, started = import_.leased_by.rsplit(":", 2)
    return host != socket.gethostname() or _start_time(int(pid)) == started


def _start_time(pid: int) -> str:
    """Return when the process started, in clock ticks since boot; "" if there is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[19]
    except OSError:
        return ""
