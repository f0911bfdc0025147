"""Reads an archive. All of it is verified before the first row is used, and nothing is unpacked to files."""

import asyncio
import hashlib
import json
import zipfile
import zlib
from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager
from datetime import date
from itertools import islice
from pathlib import Path
from typing import IO, Any, Self

from waypost.resources.imports.archive.format import FORMAT, FORMAT_VERSION, MANIFEST
from waypost.resources.imports.source import SourceError

_MAX_MANIFEST = 1 << 20  # bytes
_MAX_LINE = 16 << 20
"""Bytes. The statistics of a day may have thousands of referrers."""
_MAX_RATIO = 200
"""Ours is below 30; deflate can reach 1,000."""
_CHUNK = 1 << 20
_UNREADABLE = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError, OSError, ValueError)


class BadArchive(SourceError):
    """The file is refused, and nothing was changed."""


class Archive:
    name = "waypost"

    def __init__(self, zip_file: zipfile.ZipFile, size: int, manifest: dict[str, Any]) -> None:
        self._zip = zip_file
        self._size = size
        self._manifest = manifest
        self._is_verified = False

    @classmethod
    def open(cls, path: Path) -> Self:
        """Raises BadArchive. Call `check` before anything else."""
        try:
            zip_file = zipfile.ZipFile(path)
        except FileNotFoundError:
            raise BadArchive(f"There is no file {path}.") from None
        except _UNREADABLE:
            raise BadArchive(
                f"{path.name} is not a complete ZIP file. If it was downloaded or copied, do that again."
            ) from None
        with _translating_errors(MANIFEST):
            try:
                with zip_file.open(MANIFEST) as file:
                    content = file.read(_MAX_MANIFEST + 1)
            except KeyError:
                raise _not_an_export(path) from None
            manifest = json.loads(content) if len(content) <= _MAX_MANIFEST else None
        if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
            raise _not_an_export(path)
        version = manifest.get("version")
        if not isinstance(version, int) or version > FORMAT_VERSION:
            by = manifest.get("created_by")
            raise BadArchive(f"The export has version {version} of the format ({by}). Import it with that version.")
        return cls(zip_file, path.stat().st_size, manifest)

    def close(self) -> None:
        self._zip.close()

    @property
    def unpacked_size(self) -> int:
        """In bytes, as the file says."""
        return sum(entry.file_size for entry in self._zip.infolist())

    @property
    def shared_domain(self) -> str:
        return str(self._manifest.get("shared_domain", ""))

    @property
    def clicks_since(self) -> date | None:
        """The first day of which clicks are in the archive. None: all days."""
        text = self._manifest.get("clicks_since")
        return date.fromisoformat(text) if text else None

    def count_rows(self, name: str) -> int:
        return int(self._listed().get(name, {}).get("rows", 0))

    async def check(self) -> None:
        """Compare every file with the manifest, once. Raises BadArchive."""
        if self._is_verified:
            return
        with _translating_errors(MANIFEST):
            _ = self.clicks_since
            entries = {name: self._entry(name) for name in self._listed()}
            names = self._zip.namelist()
        if len(set(names)) < len(names) or sum(entry.compress_size for entry in entries.values()) > self._size:
            raise BadArchive("The ZIP file has several entries of the same name or place. It was not made by Waypost.")
        for name, entry in entries.items():
            await asyncio.to_thread(self._verify, name, entry)
        self._is_verified = True

    async def read(self, name: str, batch_size: int, start: int = 0) -> AsyncGenerator[list[dict[str, Any]], None]:
        """Yield the rows of a file in batches, from this one on; an empty one for a row that is no object."""
        rows = self._rows(name, start)
        while batch := await asyncio.to_thread(lambda: list(islice(rows, batch_size))):
            yield batch

    @contextmanager
    def open_file(self, name: str) -> Iterator[IO[bytes]]:
        """Raises BadArchive."""
        if name not in self._listed():
            raise BadArchive(f"The export has no {name}. It is incomplete.")
        with _translating_errors(name), self._zip.open(name) as file:
            yield file

    def _listed(self) -> dict[str, dict[str, Any]]:
        files: dict[str, dict[str, Any]] = self._manifest.get("files", {})
        return files

    def _entry(self, name: str) -> zipfile.ZipInfo:
        try:
            entry = self._zip.getinfo(name)
        except KeyError:
            raise BadArchive(f"The export has no {name}, which its manifest lists. It is incomplete.") from None
        if entry.file_size > _MAX_RATIO * entry.compress_size + _CHUNK:
            raise BadArchive(f"{name} grows to {entry.file_size:,} bytes: it was not made by Waypost.")
        return entry

    def _verify(self, name: str, entry: zipfile.ZipInfo) -> None:
        digest, listed = hashlib.sha256(), self._listed()[name]
        with self.open_file(name) as file:
            while chunk := file.read(_CHUNK):
                digest.update(chunk)
        if (entry.file_size, digest.hexdigest()) != (listed.get("bytes"), listed.get("sha256")):
            raise BadArchive(f"{name} differs from its checksum: the file is damaged or was changed. Export again.")

    def _rows(self, name: str, start: int) -> Iterator[dict[str, Any]]:
        if name not in self._listed():
            return
        with self.open_file(name) as file:
            for _ in range(start):
                file.readline(_MAX_LINE)
            while line := file.readline(_MAX_LINE):
                row = _parse(line)
                yield row if isinstance(row, dict) else {}


@contextmanager
def _translating_errors(name: str) -> Iterator[None]:
    try:
        yield
    except SourceError:
        raise
    except _UNREADABLE as error:
        raise BadArchive(f"{name} cannot be read: the file is damaged. Copy or export it again.") from error


def _not_an_export(path: Path) -> BadArchive:
    return BadArchive(f"{path.name} is not an export of Waypost: it has no {MANIFEST} of one.")


def _parse(line: bytes) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None
