"""Files that only the service's own user can access, regardless of the umask and earlier modes."""

import contextlib
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

_OTHERS_MODE = 0o077


def restrict_new_files() -> None:
    """Create files with mode 0600 and directories with 0700 from now on. Every process calls this first."""
    os.umask(_OTHERS_MODE)


def make_directory(path: Path) -> None:
    """Create the directory, or remove other users' access to an existing one. Raise OSError."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & _OTHERS_MODE:
        with contextlib.suppress(OSError):  # it belongs to another user, which doctor reports
            path.chmod(mode & ~_OTHERS_MODE)


def write(path: Path, text: str) -> None:
    """Replace the file atomically, in a directory of the service. Raise OSError."""
    make_directory(path.parent)
    replace(path, text.encode())


def replace(path: Path, content: bytes) -> None:
    """Replace the file atomically, or create it. Raise OSError."""
    with replacing(path) as file:
        file.write(content)


def reserve(directory: Path, size: int) -> None:
    """Raise OSError if a file of `size` bytes cannot be created in the directory."""
    path = directory / f".space.{secrets.token_hex(4)}"
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        os.posix_fallocate(fd, 0, size)
    finally:
        os.close(fd)
        path.unlink()


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Open a file that replaces another, or gets its name, once it is complete. Raise OSError."""
    with _draft(path) as (draft, file):
        yield file
        _sync(file)
        draft.replace(path)


@contextlib.contextmanager
def new_file(path: Path) -> Iterator[BinaryIO]:
    """Open a file that gets its name once it is complete, and never replaces another. Raise OSError."""
    with _draft(path) as (draft, file):
        yield file
        _sync(file)
        try:
            os.link(draft, path)  # unlike a rename, fails if the name exists
        except FileExistsError:
            raise
        except OSError:  # no hard links, as on FAT and some network file systems
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
            draft.replace(path)


@contextlib.contextmanager
def _draft(path: Path) -> Iterator[tuple[Path, BinaryIO]]:
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            yield draft, file
    finally:
        draft.unlink(missing_ok=True)


def _sync(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())


def sync_directory(path: Path) -> None:
    """Have the names of its files on disk as they are now. Raise OSError."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def open_to_others(directory: Path) -> list[Path]:
    """Return the directory and everything in it that its mode opens to other users. Raise OSError."""
    paths = [Path(parent, name) for parent, below, files in os.walk(directory) for name in (*below, *files)]
    return [path for path in (directory, *paths) if _is_open(path)]


def _is_open(path: Path) -> bool:
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:  # deleted concurrently
        return False
    return bool(mode & _OTHERS_MODE) and not stat.S_ISLNK(mode)
