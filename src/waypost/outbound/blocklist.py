"""The operator's blocklist: a file of hosts and URLs that must not be shortened.

It works offline and is read again when it changes. `block_rules` has its formats. A line that cannot be used is
reported and left out.
"""

import asyncio
from pathlib import Path

import structlog

from waypost.kit.errors import SettingsError, Unavailable
from waypost.kit.urls import Url
from waypost.outbound.block_rules import BlockRules

_UNREADABLE = "Destinations cannot be checked, because the administrator's blocklist cannot be read. Try again later."

log = structlog.get_logger(__name__)


class Blocklist:
    def __init__(self, path: Path) -> None:
        """Read the file. A version that cannot be read is logged, and the last one that could be stays in use."""
        self._path = path
        self._rules: BlockRules | None = None
        self._reading = asyncio.Lock()
        self._state = _state(path)
        self._read()

    async def has(self, url: Url) -> bool:
        """Raises Unavailable if the file could never be read."""
        async with self._reading:
            if self._rules is None or _state(self._path) != self._state:
                self._state = _state(self._path)  # first: an unreadable version is logged once, not at every check
                await asyncio.to_thread(self._read)
        if self._rules is None:
            raise Unavailable(_UNREADABLE)
        return self._rules.match(url)

    def _read(self) -> None:
        try:
            self._rules = read_blocklist(self._path)
        except SettingsError as error:
            if self._rules is None:
                log.error("blocklist unreadable, destinations are not accepted", error=str(error))
            else:
                log.warning("changed blocklist unreadable, previous version stays in use", error=str(error))
            return
        if self._rules.problems:
            first = self._rules.first_problem
            log.warning("lines of the blocklist left out", count=self._rules.problems, first=first)


def read_blocklist(path: Path) -> BlockRules:
    """Read the file. Raises SettingsError if it cannot be read, or has no line that can be used."""
    try:
        rules = BlockRules(path.read_text(encoding="utf-8-sig", errors="replace").splitlines())
    except OSError as error:
        raise SettingsError(f"WAYPOST_BLOCKLIST: {path} cannot be read: {error.strerror}") from None
    except MemoryError:
        raise SettingsError(f"WAYPOST_BLOCKLIST: {path} cannot be read: it needs too much memory") from None
    if rules.problems and not rules:  # the page of an error, or another kind of file
        raise SettingsError(f"WAYPOST_BLOCKLIST: {path} cannot be read: no line can be used; {rules.first_problem}")
    return rules


def _state(path: Path) -> tuple[int, ...]:
    try:
        status = path.stat()
    except OSError:
        return ()
    return status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_size
