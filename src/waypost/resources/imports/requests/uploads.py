"""Uploaded files, which arrive in pieces and are kept until their import has ended.

On SQLite, a file of the data directory. On PostgreSQL, rows, because each piece may reach another node, and the worker
of any node may run the import: it copies them to a file of its own.
"""

import asyncio
import contextlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Protocol, TypeVar
from uuid import UUID

from sqlalchemy import delete, func, select

from waypost.database import Database, Tx, upsert
from waypost.kit.errors import Unavailable
from waypost.kit.ids import parse_id
from waypost.private_files import make_directory, replacing
from waypost.resources.imports.model import import_file_pieces
from waypost.resources.imports.source import SourceError

MAX_PIECE = 1 << 20
"""Bytes. The incomplete requests of a process share 12 MiB, and a body may take 30 seconds."""
MAX_FILE = 256 << 20
"""Bytes."""
_NOT_STORED = "The file could not be stored. Try again in a moment, or ask the administrator to free disk space."
_GONE = "The file is not on the server any more. Give up this import, and start a new one with the file."

T = TypeVar("T")
_piece = import_file_pieces.c


class Uploads(Protocol):
    async def add(self, import_id: UUID, start: int, content: bytes) -> int:
        """Store a piece, which may be repeated. Return the size of the file so far: where the next one begins.

        A piece that begins later is not stored. Raises Unavailable.
        """

    async def find(self, import_id: UUID) -> Path:
        """Return the complete file, whose name is the id. Raises Unavailable, SourceError if it is gone."""

    async def delete(self, import_id: UUID) -> None:
        """Delete the file, if there is one."""

    async def list_ids(self) -> set[UUID]:
        """Return the imports that this machine has a file of."""


class UploadedFiles:
    def __init__(self, directory: Path) -> None:
        self._directory = directory

    async def add(self, import_id: UUID, start: int, content: bytes) -> int:
        return await _on_disk(lambda: _write_at(self.path(import_id), start, content))

    async def find(self, import_id: UUID) -> Path:
        if not await asyncio.to_thread(self.path(import_id).exists):
            raise SourceError(_GONE)
        return self.path(import_id)

    async def delete(self, import_id: UUID) -> None:
        await asyncio.to_thread(self.path(import_id).unlink, missing_ok=True)

    async def list_ids(self) -> set[UUID]:
        names = await asyncio.to_thread(lambda: [path.name for path in self._directory.glob("*")])
        return {import_id for name in names if (import_id := parse_id(name))}

    def path(self, import_id: UUID) -> Path:
        return self._directory / str(import_id)


class UploadedRows(UploadedFiles):
    def __init__(self, db: Database, directory: Path) -> None:
        super().__init__(directory)
        self._db = db

    async def add(self, import_id: UUID, start: int, content: bytes) -> int:
        row = {"import_id": import_id, "start": start, "content": content}
        async with self._db.write() as tx:
            size = await _read_size(tx, import_id)
            if start != size:  # a repeated piece, or one is missing before it
                return size
            is_new = (await tx.execute(upsert(tx, import_file_pieces).on_conflict_do_nothing(), row)).rowcount
        return size + len(content) if is_new else size

    async def find(self, import_id: UUID) -> Path:
        path = self.path(import_id)
        async with self._db.read() as tx:
            size = await _read_size(tx, import_id)
        if not size:
            raise SourceError(_GONE)
        if not path.exists() or path.stat().st_size != size:
            await self._copy(import_id, path)
        return path

    async def delete(self, import_id: UUID) -> None:
        async with self._db.write() as tx:
            await tx.execute(delete(import_file_pieces).where(_piece.import_id == import_id))
        await super().delete(import_id)

    async def _copy(self, import_id: UUID, path: Path) -> None:
        await _on_disk(lambda: make_directory(path.parent))
        with contextlib.ExitStack() as stack:
            file = await _on_disk(lambda: stack.enter_context(replacing(path)))
            end = 0
            while content := await self._read(import_id, end):
                await _on_disk(lambda data=content: file.write(data))  # type: ignore[misc]  # a default is no argument
                end += len(content)

    async def _read(self, import_id: UUID, start: int) -> bytes | None:
        query = select(_piece.content).where(_piece.import_id == import_id, _piece.start == start)
        async with self._db.read() as tx:
            return (await tx.execute(query)).scalar_one_or_none()


def new_uploads(db: Database, data_dir: Path) -> Uploads:
    directory = data_dir / "imports"
    return UploadedFiles(directory) if db.dialect == "sqlite" else UploadedRows(db, directory)


async def _read_size(tx: Tx, import_id: UUID) -> int:
    query = select(func.coalesce(func.sum(func.length(_piece.content)), 0)).where(_piece.import_id == import_id)
    return int((await tx.execute(query)).scalar_one())


def _write_at(path: Path, start: int, content: bytes) -> int:
    make_directory(path.parent)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    with os.fdopen(descriptor, "r+b") as file:
        size = os.fstat(descriptor).st_size
        if start > size:
            return size
        file.seek(start)
        file.write(content)
        file.flush()
        os.fsync(descriptor)
        return os.fstat(descriptor).st_size


async def _on_disk(work: Callable[[], T]) -> T:
    try:
        return await asyncio.to_thread(work)
    except OSError as error:
        raise Unavailable(_NOT_STORED) from error
