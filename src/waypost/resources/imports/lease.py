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
from waypost.resources.imports.states import CONTINUE


class ImportRunning(WaypostError):
    """Another import of this account is running. Wait until it has finished."""


class LeaseLost(WaypostError):
    """Another process has continued or ended this import."""


def holder() -> str:
    """Identify this process among all that ever run."""
    return f"{socket.gethostname()}:{os.getpid()}:{_start_time(os.getpid())}"


async def lock_begun(tx: Tx, account_id: UUID, now: datetime) -> list[Import]:
    """Return the imports that can be continued. No other starts until the transaction ends. Raises ImportRunning."""
    await accounts.lock_account(tx, account_id)
    begun = await store.find_begun(tx, account_id)
    for other in begun:
        if is_running(other, now):
            raise ImportRunning(
                f"An import from {other.source} is running for this account since {timestamp(other.created_at)}."
                " Wait until it has finished."
            )
    return begun


async def take(tx: Tx, import_: Import, name: str, now: datetime) -> Import:
    """Return the import as it is now. `name`: see `holder`. Raises ImportRunning, LeaseLost."""
    await lock_begun(tx, import_.account_id, now)
    values = {"leased_by": name, "lease_until": now + store.LEASE}
    current = await store.switch(tx, import_.id, CONTINUE, now, **values)
    if current is None:
        raise LeaseLost
    return current


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
