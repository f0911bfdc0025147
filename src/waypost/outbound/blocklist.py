"""The operator's blocklist: a file of hosts and URLs that must not be shortened.

It works offline and is read again when it changes. One entry per line:
`bad.example`, `.bad.example` or `*.bad.example` (with all subdomains), `https://bad.example/page`. `#` starts a
comment.
"""

import asyncio
from pathlib import Path

import ada_url
import structlog

from waypost.kit.errors import SettingsError
from waypost.kit.urls import ANY_NAME, BadUrl, Url, canonical

log = structlog.get_logger(__name__)


class Blocklist:
    def __init__(self, path: Path) -> None:
        """Read the file. Raises SettingsError if it cannot be read; later, the last readable version stays in use."""
        self._path = path
        self._state = _state(path)
        self._entries = read_blocklist(path)
        self._reading = asyncio.Lock()

    async def has(self, url: Url) -> bool:
        async with self._reading:
            await self._refresh()
        labels = url.host.split(".")
        suffixes = (f".{'.'.join(labels[start:])}" for start in range(len(labels)))
        return not self._entries.isdisjoint([url.host, _key(url), *suffixes])

    async def _refresh(self) -> None:
        if (state := _state(self._path)) == self._state:
            return
        self._state = state  # set first: an unreadable version is logged once, not at every check
        try:
            self._entries = await asyncio.to_thread(read_blocklist, self._path)
        except SettingsError as error:
            log.warning("changed blocklist unreadable, previous version stays in use", error=str(error))


def read_blocklist(path: Path) -> frozenset[str]:
    """Read the file. Return hosts, suffixes (which start with a dot), and keys of URLs (which contain a slash)."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        cause = error.strerror if isinstance(error, OSError) else error
        raise SettingsError(f"WAYPOST_BLOCKLIST: {path} cannot be read: {cause}") from None
    entries = set()
    for number, line in enumerate(lines, 1):
        entry = f" {line}".partition(" #")[0].strip()
        try:
            if "://" in entry:
                entries.add(_key(canonical(entry, private=ANY_NAME)))
            elif entry.startswith((".", "*.")):
                entries.add(f".{_host(entry.lstrip('*').removeprefix('.'))}")
            elif entry:
                entries.add(_host(entry))
        except BadUrl as error:
            raise SettingsError(f"WAYPOST_BLOCKLIST: {path}, line {number}: {entry}: {error}") from None
    return frozenset(entries)


def _host(text: str) -> str:
    if "/" in text:
        raise BadUrl("start a URL with http:// or https://")
    return canonical(f"http://{text}/", private=ANY_NAME).host


def _key(url: Url) -> str:
    """Return a key that is the same for http and https, with or without fragment, and for all spellings of dots."""
    parsed = ada_url.URL(url.text)
    return f"{parsed.host}{parsed.pathname}{parsed.search}"


def _state(path: Path) -> tuple[int, ...]:
    try:
        status = path.stat()
    except OSError:
        return ()
    return status.st_mtime_ns, status.st_ino, status.st_size
