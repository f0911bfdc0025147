"""Writes a ZIP file to a stream: no more than one part of it is in memory. The manifest comes last."""

import asyncio
import hashlib
import json
import zipfile
from collections.abc import AsyncGenerator, Mapping
from typing import Any, BinaryIO

from waypost.accounts.data.archive.parts import MANIFEST, Files

_COMPRESSION_LEVEL = 3
"""The next one takes twice the time for a tenth less."""


async def write_zip(files: Files, manifest: Mapping[str, Any]) -> AsyncGenerator[bytes, None]:
    """Yield the ZIP file. Its manifest is `manifest` with rows, bytes and checksum of each file."""
    buffer = Buffer()
    listed: dict[str, dict[str, Any]] = {}
    options = {"compression": zipfile.ZIP_DEFLATED, "compresslevel": _COMPRESSION_LEVEL}
    with zipfile.ZipFile(buffer, "w", **options) as zip_file:  # type: ignore[call-overload]  # write() will do
        for name, parts in files.items():
            rows, size, digest = 0, 0, hashlib.sha256()
            with zip_file.open(name, "w", force_zip64=True) as file:
                async for part in parts:
                    await asyncio.to_thread(_write, file, digest, part.content)
                    rows, size = rows + part.rows, size + len(part.content)
                    yield buffer.take()
            listed[name] = {"rows": rows, "bytes": size, "sha256": digest.hexdigest()}
        content = json.dumps({**manifest, "files": listed}, ensure_ascii=False, indent=2) + "\n"
        zip_file.writestr(MANIFEST, content)
    yield buffer.take()


def _write(file: BinaryIO, digest: "hashlib._Hash", content: bytes) -> None:
    digest.update(content)
    file.write(content)


class Buffer:
    """A file that cannot seek, so the ZIP file states sizes after each of its files."""

    def __init__(self) -> None:
        self._written = bytearray()

    def write(self, data: bytes) -> int:
        self._written += data
        return len(data)

    def flush(self) -> None:
        """Required by `ZipFile`."""

    def take(self) -> bytes:
        taken, self._written = bytes(self._written), bytearray()
        return taken
