"""Files for the service's own user alone, whatever the umask and whatever was there before (R33)."""

import contextlib
import os
import secrets
import stat
from pathlib import Path

_OTHERS = 0o077


def restrict_new_files() -> None:
    """Called first by every process: what it creates gets mode 0600, and directories 0700."""
    os.umask(_OTHERS)


def make_directory(path: Path) -> None:
    """Closes one that is there to other users. Raises OSError when it cannot be made."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & _OTHERS:
        with contextlib.suppress(OSError):  # it is another user's, and doctor reports it
            path.chmod(mode & ~_OTHERS)


def write(path: Path, text: str) -> None:
    """Whole or not at all, in place of an older file. Raises OSError."""
    make_directory(path.parent)
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def open_to_others(directory: Path) -> list[Path]:
    """Of the directory and all below it, what its mode lets other users read, change or list. Raises OSError."""
    found = [Path(parent, name) for parent, below, files in os.walk(directory) for name in (*below, *files)]
    return [path for path in (directory, *found) if _is_open(path)]


def _is_open(path: Path) -> bool:
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:  # the service runs meanwhile
        return False
    return bool(mode & _OTHERS) and not stat.S_ISLNK(mode)
