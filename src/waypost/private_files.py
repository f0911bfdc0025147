"""Files that only the service's own user can access, regardless of the umask and earlier modes (R33)."""

import contextlib
import os
import secrets
import stat
from pathlib import Path

_OTHERS = 0o077


def restrict_new_files() -> None:
    """Create files with mode 0600 and directories with 0700 from now on. Every process calls this first."""
    os.umask(_OTHERS)


def make_directory(path: Path) -> None:
    """Create the directory, or remove other users' access to an existing one. Raise OSError."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & _OTHERS:
        with contextlib.suppress(OSError):  # it belongs to another user, which doctor reports
            path.chmod(mode & ~_OTHERS)


def write(path: Path, text: str) -> None:
    """Replace the file atomically. Raise OSError."""
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
    """Return the directory and everything in it that its mode opens to other users. Raise OSError."""
    found = [Path(parent, name) for parent, below, files in os.walk(directory) for name in (*below, *files)]
    return [path for path in (directory, *found) if _is_open(path)]


def _is_open(path: Path) -> bool:
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:  # deleted meanwhile
        return False
    return bool(mode & _OTHERS) and not stat.S_ISLNK(mode)
