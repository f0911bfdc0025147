"""Checks of `waypost doctor` in the file system: data directory, secret key, file modes, free space, spool."""

import contextlib
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

from waypost import private_files, secret_key
from waypost.installation import Finding
from waypost.settings import PREFIX, Settings

_MB = 1 << 20


def check_files(settings: Settings) -> Iterator[Finding]:
    directory = settings.data_dir
    if not directory.is_dir():
        yield Finding("data directory", "failed", f"{directory} is missing", "Start waypost serve once to create it.")
        return
    yield _writable(directory)
    yield _key(settings)
    yield _modes(directory)
    yield _disk(directory)
    yield _spool(directory / "spool", settings.spool_limit_mb)


def _writable(directory: Path) -> Finding:
    try:
        with tempfile.TemporaryFile(dir=directory) as file:
            file.write(b"x")
    except OSError as error:
        advice = f"Make {directory} writable for the user that runs waypost."
        return Finding("data directory", "failed", f"{directory}: {error.strerror}", advice)
    return Finding("data directory", "ok", f"{directory} is writable")


def _key(settings: Settings) -> Finding:
    path = settings.data_dir / secret_key.FILE
    if settings.secret_key:
        return _key_from_setting(settings.secret_key.get_secret_value())
    if not path.exists():
        advice = "Start waypost serve once, or restore a backup. Nodes with --role redirect need it for pixels only."
        return Finding("secret key", "failed", f"{path} is missing", advice)
    mode = path.stat().st_mode & 0o777
    if mode & 0o077:
        return Finding("secret key", "failed", f"{path} has mode {mode:o}: others can read it", f"chmod 600 {path}")
    return Finding("secret key", "ok", f"{path}, mode {mode:o}")


def _modes(directory: Path) -> Finding:
    """Report readable files in a private directory as a warning: they are safe until its mode changes."""
    directory = directory.resolve()
    exposed = private_files.open_to_others(directory)
    if not exposed:
        return Finding("file modes", "ok", f"private to this user in {directory}")
    mode = exposed[0].lstat().st_mode & 0o777
    message = f"{len(exposed)} files or directories are accessible to other users, such as {exposed[0]} (mode {mode:o})"
    return Finding(
        "file modes", "failed" if exposed[0] == directory else "warning", message, f"chmod -R go= {directory}"
    )


def _key_from_setting(keys: str) -> Finding:
    if any(map(secret_key.is_short, keys.split(","))):
        message = f"an old key of WAYPOST_SECRET_KEY has fewer than {secret_key.MIN_LENGTH} characters"
        return Finding("secret key", "warning", message, "Run waypost secrets rotate, then remove that key.")
    return Finding("secret key", "ok", "from WAYPOST_SECRET_KEY")


def check_secret_files(files: Mapping[str, Path]) -> Finding:
    for setting, path in files.items():
        with contextlib.suppress(OSError):  # an error of the settings says so
            mode = path.stat().st_mode & 0o777
            if mode & 0o004:
                name = f"{PREFIX}{setting.upper()}_FILE"
                message = f"{name}: {path} has mode {mode:o}: all users of this machine can read it"
                return Finding("secret files", "warning", message, f"chmod o= {path}")
    return Finding("secret files", "ok", ", ".join(map(str, files.values())))


def _disk(directory: Path) -> Finding:
    free = shutil.disk_usage(directory).free // _MB
    advice = "Free some space: a full disk prevents creating links and storing clicks."
    state: Literal["ok", "warning", "failed"] = "ok" if free >= 1024 else "warning" if free >= 100 else "failed"
    return Finding("disk", state, f"{free} MB free", "" if state == "ok" else advice)


def _spool(directory: Path, limit: int) -> Finding:
    size = 0
    for path in directory.rglob("*"):
        with contextlib.suppress(FileNotFoundError):  # drained and deleted concurrently
            size += path.stat().st_size
    size //= _MB
    if size > limit // 2:
        advice = "Clicks are not drained: check that the worker runs, and its log."
        return Finding("spool", "failed", f"{size} MB of {limit} MB", advice)
    return Finding("spool", "ok", f"{size} MB of {limit} MB")
