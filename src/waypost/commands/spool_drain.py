"""`waypost spool drain`: moves the visits that a node left behind to the database.

The node may even run: positions move by compare-and-set, so each visit is counted once.
"""

import os
from collections.abc import Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

from waypost.commands.key_check import check_key
from waypost.database import Database
from waypost.kit.errors import Invalid, WaypostError
from waypost.redirect.spool import UnknownFormat, bytes_of, is_finished, read_lines, segments
from waypost.resources.clicks.backends import new_click_store
from waypost.resources.clicks.intake.build import intake_settings
from waypost.secret_key import with_existing_key
from waypost.settings import Settings


class SpoolFailed(WaypostError):
    """The spool could not be drained."""


@dataclass(frozen=True, slots=True)
class DrainedSpool:
    visits: int
    segments: int
    """Drained and removed."""
    problems: list[str]
    """Why segments are left, one line each."""


def find_spool(directory: Path) -> Path:
    """Return the spool: the directory itself, or the one in a data directory. Raises Invalid."""
    if not directory.is_dir():
        raise Invalid({"directory": [f"{directory} is not a directory."]})
    spool = directory / "spool" if (directory / "spool").is_dir() else directory
    is_spool = spool.name == "spool" or segments(spool) or not any(spool.iterdir())
    if not is_spool:
        problem = f"{directory} is not a spool: it has neither segments (*.visits) nor a directory spool."
        raise Invalid({"directory": [problem]})
    for path in (spool, *segments(spool)):
        if not os.access(path, os.R_OK | os.W_OK):
            raise Invalid({"directory": [f"{path} cannot be read and written by this user."]})
    return spool


async def drain(settings: Settings, db: Database, directory: Path) -> DrainedSpool:
    """Drain a spool and remove its segments. Raises SpoolFailed, SettingsError, and Unavailable: then run it again.

    Segments that are still being written are drained up to what they have now, and stay.
    """
    own = with_existing_key(settings)
    if own.secret_key is None:
        raise SpoolFailed("WAYPOST_SECRET_KEY is not set: run this with the settings of the service.")
    await check_key(db, own)
    names = {path.name for path in segments(directory)}
    size = sum(bytes_of(segments(directory)))
    async with AsyncExitStack() as stack:
        store = new_click_store(own)
        stack.push_async_callback(store.close)
        drainer = store.new_drainer(db, directory, intake_settings(own))
        stack.push_async_callback(drainer.close)
        drainer.keeps_positions = True
        while drainer.drained_bytes < size and await drainer.step():  # a running node adds visits all the time
            pass
        await drainer.remove_drained()
    left = segments(directory)
    return DrainedSpool(drainer.drained_clicks, len(names - {path.name for path in left}), list(_problems(left)))


def _problems(left: list[Path]) -> Iterator[str]:
    for path in left:
        try:
            read_lines(path, 0, 0)
            if not is_finished(path):
                yield f"{path.name} is still being written: its node runs. Stop it, then run this again."
            else:
                yield f"{path.name} has more visits: run this again."
        except FileNotFoundError:  # the node's own worker has drained it
            continue
        except UnknownFormat:
            yield f"{path.name} has an unknown format: drain it with the version of Waypost that wrote it."
