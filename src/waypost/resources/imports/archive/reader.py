"""Reads an archive. All of it is verified before the first row is used, and nothing is unpacked to files.

An archive is a file of a stranger. What is built from it is bounded before it is built: the directory of the ZIP file,
the dictionaries of its compression, lines, and values in a line.
"""

import asyncio
import hashlib
import io
import json
import re
import zipfile
import zlib
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import IO, Annotated, Any, Literal, Self

from pydantic import BaseModel, Field, ValidationError

from waypost.accounts.data.archive.parts import FORMAT, FORMAT_VERSION, MANIFEST
from waypost.kit import bounded_json
from waypost.resources.imports import batches
from waypost.resources.imports.archive.rows import Rows, reason_of
from waypost.resources.imports.source import SourceError

_MAX_MANIFEST = 1 << 20  # bytes
_MAX_LINE = 256 << 10  # bytes
_MAX_LINES = dict.fromkeys(("links.ndjson", "app_links.ndjson", "logos.ndjson"), 1 << 20)
_MAX_LINES["old_statistics.ndjson"] = 16 << 20
"""Bytes of lines that may be longer: routing has up to 100,000 characters, and a day may have many referrers."""
_MAX_VALUES = 100_000
"""In a line."""
_MAX_DAY_VALUES = 500_000
"""In a line of old statistics."""
_MAX_BATCH = 32 << 20
"""Bytes of memory. Of a batch of rows, some more than the limit for the last of them."""
_VALUE = 64
"""Bytes of memory that a value takes beside its text, about."""
_MAX_READ = 3 << 20
"""Bytes, more than an image has. The directory of a ZIP file is read at once, and takes ten times as much memory."""
_MAX_ENTRIES = 100
_METHODS = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}
"""Of compression. LZMA takes as much memory as an entry says, up to 4 GiB."""
_MAX_RATIO = 200
"""Ours is below 30; deflate can reach 1,000."""
_MAX_NAME = 100
"""Characters of what a file says that an error repeats."""
_CHUNK = 1 << 20
_UNREADABLE = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError, OSError, ValueError)
_UNSTORABLE = re.compile(r"[\ud800-\udfff]|(?<!\\)(?:\\\\)*\\u0000")
"""Halves of surrogate pairs, and NUL as JSON writes it. Databases refuse both."""


class BadArchive(SourceError):
    """The file is refused, and nothing was changed."""


class _ListedFile(BaseModel):
    rows: Annotated[int, Field(ge=0, lt=1 << 31)]
    bytes: Annotated[int, Field(ge=0)]
    sha256: str


class _Manifest(BaseModel):
    format: Literal["waypost-export"]
    version: int
    shared_domain: str = ""
    clicks_since: date | None = None
    """The first day of which clicks are in the archive. None: all days."""
    files: Mapping[str, _ListedFile]


class Archive:
    def __init__(self, file: IO[bytes], zip_file: zipfile.ZipFile, size: int) -> None:
        """Raises BadArchive. Call `check` before anything else."""
        self._file = file
        self._zip = zip_file
        self._size = size
        self._manifest = _read_manifest(zip_file)
        self._is_verified = False
        self._reading: tuple[str, int, AsyncGenerator[Rows, None]] | None = None
        """A file, the row that `read_batch` gets next if it goes on, and the batches from there on."""

    @classmethod
    def open(cls, path: Path) -> Self:
        """Raises BadArchive. Call `check` before anything else."""
        try:
            file = _BoundedReads(io.FileIO(path))
        except FileNotFoundError:
            raise BadArchive(f"There is no file {path}.") from None
        except OSError as error:
            raise BadArchive(f"{path.name} cannot be read: {error.strerror}.") from None
        try:
            return cls(file, _open_zip(file, path.name), path.stat().st_size)
        except BaseException:
            file.close()
            raise

    def close(self) -> None:
        self._zip.close()
        self._file.close()

    @property
    def unpacked_size(self) -> int:
        """In bytes, as the file says."""
        return sum(entry.file_size for entry in self._zip.infolist())

    @property
    def shared_domain(self) -> str:
        return self._manifest.shared_domain

    @property
    def clicks_since(self) -> date | None:
        """The first day of which clicks are in the archive. None: all days."""
        return self._manifest.clicks_since

    def count_rows(self, name: str) -> int:
        listed = self._manifest.files.get(name)
        return listed.rows if listed else 0

    async def check(self) -> None:
        """Compare every file with the manifest, once. Raises BadArchive."""
        if self._is_verified:
            return
        entries = {name: _find_entry(self._zip, name) for name in self._manifest.files}
        names = self._zip.namelist()
        if len(set(names)) < len(names) or sum(entry.compress_size for entry in entries.values()) > self._size:
            raise BadArchive("The ZIP file has several entries of the same name or place. It was not made by Waypost.")
        for name, entry in entries.items():
            await asyncio.to_thread(self._verify, name, entry)
        self._is_verified = True

    async def read_batch(self, name: str, size: int, start: int) -> Rows:
        """Return rows of a file from this one on; none at its end. Raises BadArchive."""
        if self._reading is None or self._reading[:2] != (name, start):
            await self.stop_reading()
            self._reading = name, start, self.read(name, size, start)
        batches = self._reading[2]
        rows: Rows = await anext(batches, [])
        self._reading = (name, start + len(rows), batches) if rows else None
        return rows

    async def stop_reading(self) -> None:
        if self._reading:
            await self._reading[2].aclose()
            self._reading = None

    async def read(self, name: str, batch_size: int, start: int = 0) -> AsyncGenerator[Rows, None]:
        """Yield the rows of a file from this one on, in batches that fit into memory. Raises BadArchive."""
        rows = self._rows(name, start)
        is_last = False
        while not is_last:
            batch, is_last = await asyncio.to_thread(batches.take, rows, batch_size, lambda found: found[1], _MAX_BATCH)
            if batch:
                yield [row for row, _ in batch]

    @contextmanager
    def open_file(self, name: str) -> Iterator[IO[bytes]]:
        """Raises BadArchive."""
        if name not in self._manifest.files:
            raise BadArchive(f"The export has no {name}. It is incomplete.")
        with _translating_errors(name), self._zip.open(_find_entry(self._zip, name)) as file:
            yield file

    def _verify(self, name: str, entry: zipfile.ZipInfo) -> None:
        digest, listed = hashlib.sha256(), self._manifest.files[name]
        with self.open_file(name) as file:
            while chunk := file.read(_CHUNK):
                digest.update(chunk)
        if (entry.file_size, digest.hexdigest()) != (listed.bytes, listed.sha256):
            raise BadArchive(f"{name} differs from its checksum: the file is damaged or was changed. Export again.")

    def _rows(self, name: str, start: int) -> Iterator[tuple[dict[str, Any], int]]:
        """Yield each row and the memory that it takes, about."""
        if name not in self._manifest.files:
            return
        limit, number = _MAX_LINES.get(name, _MAX_LINE), 0
        max_values = _MAX_DAY_VALUES if name == "old_statistics.ndjson" else _MAX_VALUES
        with self.open_file(name) as file:
            while line := file.readline(limit + 1):
                number += 1
                if len(line) > limit:
                    raise damaged(name, number, f"It has more than {limit >> 10} KiB")
                if number > start:
                    yield _parse(line, max_values, name, number), len(line) + _VALUE * bounded_json.count_values(line)


class _BoundedReads(io.BufferedReader):
    def read(self, size: int | None = -1, /) -> bytes:
        if size is not None and size > _MAX_READ:
            raise zipfile.BadZipFile("its directory is too large")
        return super().read(_MAX_READ if size is None or size < 0 else size)


def damaged(name: str, row: int, problem: str) -> BadArchive:
    """`row`: from 1 on. `problem`: a sentence without its end."""
    return BadArchive(f"{name} is damaged in row {row:,}. {problem}. Export again.")


def _open_zip(file: IO[bytes], name: str) -> zipfile.ZipFile:
    try:
        zip_file = zipfile.ZipFile(file)
    except _UNREADABLE:
        raise BadArchive(
            f"{name} is not a complete ZIP file of an export. If it was downloaded or copied, do that again."
        ) from None
    if len(zip_file.namelist()) > _MAX_ENTRIES:
        raise BadArchive(f"{name} has more than {_MAX_ENTRIES} entries. It was not made by Waypost.")
    return zip_file


def _read_manifest(zip_file: zipfile.ZipFile) -> _Manifest:
    if MANIFEST not in zip_file.namelist():
        raise _not_an_export()
    with _translating_errors(MANIFEST):
        with zip_file.open(_find_entry(zip_file, MANIFEST)) as file:
            content = file.read(_MAX_MANIFEST + 1)
        found = bounded_json.loads(content, max_values=_MAX_VALUES) if len(content) <= _MAX_MANIFEST else None
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise _not_an_export()
    version = found.get("version")
    if not isinstance(version, int) or version > FORMAT_VERSION:
        version, by = (str(found.get(name))[:_MAX_NAME] for name in ("version", "created_by"))
        raise BadArchive(f"The export has version {version} of the format ({by}). Import it with that version.")
    try:
        return _Manifest.model_validate(found)
    except ValidationError as error:
        raise BadArchive(f"{MANIFEST} is damaged. {reason_of(error)}. Export again.") from None


def _find_entry(zip_file: zipfile.ZipFile, name: str) -> zipfile.ZipInfo:
    try:
        entry = zip_file.getinfo(name)
    except KeyError:
        raise BadArchive(f"The export has no {name[:_MAX_NAME]}, which its manifest lists. It is incomplete.") from None
    if entry.file_size > _MAX_RATIO * entry.compress_size + _CHUNK:
        raise BadArchive(f"{name} grows to {entry.file_size:,} bytes: it was not made by Waypost.")
    if entry.compress_type not in _METHODS:
        raise BadArchive(f"{name} is compressed by another method than those of exports. It was not made by Waypost.")
    return entry


@contextmanager
def _translating_errors(name: str) -> Iterator[None]:
    try:
        yield
    except SourceError:
        raise
    except _UNREADABLE as error:
        raise BadArchive(f"{name} cannot be read: the file is damaged. Copy or export it again.") from error


def _not_an_export() -> BadArchive:
    return BadArchive(f"This file is not an export of Waypost: it has no {MANIFEST} of one.")


def _parse(line: bytes, max_values: int, name: str, number: int) -> dict[str, Any]:
    try:
        row = bounded_json.loads(line, max_values=max_values)
    except ValueError as error:
        raise damaged(name, number, str(error)) from None
    if not isinstance(row, dict):
        raise damaged(name, number, "It is not an object")
    if b"\\u" in line and _UNSTORABLE.search(json.dumps(row, ensure_ascii=False)):
        raise damaged(name, number, "It has characters that cannot be stored")
    return row
