"""Files of images that were read from the database: bounded, and shared by the processes of this machine.

Nothing is lost with them, so they are not synced to disk. Each hit compares the content with its digest: a file that a
crash or a full disk left damaged is read from the database again.
"""

import errno
import fcntl
import hashlib
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from waypost.kit.file_locks import try_lock
from waypost.resources.links.images.media import NAME

_SIZE_FILE = ".size"
_AFTER_EVICTION = 7 / 8  # of the limit, so that not every new image evicts another


class PreviewCache:
    def __init__(self, directory: Path, *, limit: int) -> None:
        """`limit`: bytes. A new file evicts the least recently used ones."""
        self._directory = directory
        self._limit = limit

    def find(self, name: str, digest: bytes) -> Path | None:
        path = self._directory / name
        try:
            with path.open("rb") as file:
                is_intact = hashlib.file_digest(file, "sha256").digest() == digest
                # the access time is set here: file systems mostly do not. The other one is in the response's headers.
                os.utime(path, ns=(time.time_ns(), os.fstat(file.fileno()).st_mtime_ns))
        except OSError:  # missing, or the disk is failing
            return None
        return path if is_intact else None

    def add(self, name: str, content: bytes, *, modified_at: float) -> Path:
        """Write the file. `modified_at`: its modification time, in seconds since 1970. Raises OSError."""
        self._directory.mkdir(parents=True, exist_ok=True)
        path, part = self._directory / name, self._directory / f".{name}.part"
        with self._space_for(len(content)):
            part.write_bytes(content)
            os.utime(part, (time.time(), modified_at))
            part.replace(path)
        return path

    def remove(self, name: str) -> None:
        """Raises OSError."""
        (self._directory / name).unlink(missing_ok=True)

    def names(self) -> list[str]:
        return [path.name for path in self._directory.glob("*.*") if NAME.fullmatch(path.name)]

    @contextmanager
    def _space_for(self, size: int) -> Iterator[None]:
        """Evict files until there is space for `size` bytes more. Other processes wait.

        The size of all files is kept in a file, which is written first: after a crash it is too large, and the next
        eviction corrects it.
        """
        descriptor = os.open(self._directory / _SIZE_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            if not try_lock(descriptor, fcntl.LOCK_EX, seconds=1.0):
                raise BlockingIOError(errno.EAGAIN, "another process has locked the cache for long")
            used = os.pread(descriptor, 8, 0)
            after = int.from_bytes(used) + size
            if not used or after > self._limit:
                after = self._evict(round(self._limit * _AFTER_EVICTION) - size) + size
            os.pwrite(descriptor, after.to_bytes(8), 0)
            yield
        finally:
            os.close(descriptor)  # also unlocks it

    def _evict(self, target: int) -> int:
        """Remove the least recently used files until the others have at most `target` bytes. Return their bytes."""
        files = []
        for path in self._directory.iterdir():
            if NAME.fullmatch(path.name):
                stat = path.stat()
                files.append((stat.st_atime_ns, stat.st_size, path))
            elif path.suffix == ".part":  # of a process that was killed: others wait for the lock
                path.unlink()
        used = sum(size for _, size, _ in files)
        for _, size, path in sorted(files):
            if used <= target:
                break
            path.unlink(missing_ok=True)
            used -= size
        return used
