"""A file of hosts and URLs that must not be shortened; works offline and is read again when it changes.

One entry a line: `bad.example`, `.bad.example` or `*.bad.example` (with all below it), `https://bad.example/page`.
`#` starts a comment.
"""

import asyncio
from dataclasses import dataclass
from pathlib import Path

import ada_url
import structlog

from waypost.kit.errors import SettingsError
from waypost.kit.urls import BadUrl, Url, canonical

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Entries:
    hosts: frozenset[str]
    suffixes: frozenset[str]
    urls: frozenset[str]

    def has(self, url: Url) -> bool:
        if url.host in self.hosts or _key(url) in self.urls:
            return True
        labels = url.host.split(".")
        return any(".".join(labels[start:]) in self.suffixes for start in range(len(labels)))


class Blocklist:
    def __init__(self, path: Path) -> None:
        """Raises SettingsError when the file cannot be read. Later on, the last readable state counts."""
        self._path = path
        self._state = _state(path)
        self._entries = read(path)
        self._reading = asyncio.Lock()

    async def has(self, url: Url) -> bool:
        async with self._reading:
            await self._refresh()
        return self._entries.has(url)

    async def _refresh(self) -> None:
        if (state := _state(self._path)) == self._state:
            return
        self._state = state  # noted first: an unreadable state is complained of once, not at every check
        try:
            self._entries = await asyncio.to_thread(read, self._path)
        except SettingsError as error:
            log.warning("the blocklist changed and cannot be read; the last one stays in force", error=str(error))


def read(path: Path) -> Entries:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        cause = error.strerror if isinstance(error, OSError) else error
        raise SettingsError(f"WAYPOST_BLOCKLIST: {path} cannot be read: {cause}") from None
    hosts, suffixes, urls = set(), set(), set()
    for number, line in enumerate(lines, 1):
        entry = f" {line}".partition(" #")[0].strip()
        try:
            if "://" in entry:
                urls.add(_key(canonical(entry)))
            elif entry.startswith((".", "*.")):
                suffixes.add(_host(entry.lstrip("*").removeprefix(".")))
            elif entry:
                hosts.add(_host(entry))
        except BadUrl as error:
            raise SettingsError(f"WAYPOST_BLOCKLIST: {path}, line {number}: {entry!r}: {error}") from None
    return Entries(frozenset(hosts), frozenset(suffixes), frozenset(urls))


def _host(text: str) -> str:
    if "/" in text:
        raise BadUrl("write a URL with its http:// or https://")
    return canonical(f"http://{text}/").host


def _key(url: Url) -> str:
    """The same for http and https, with and without fragment, and for every way to write the path's dots."""
    parsed = ada_url.URL(url.text)
    return f"{parsed.host}{parsed.pathname}{parsed.search}"


def _state(path: Path) -> tuple[int, ...]:
    try:
        found = path.stat()
    except OSError:
        return ()
    return found.st_mtime_ns, found.st_ino, found.st_size
