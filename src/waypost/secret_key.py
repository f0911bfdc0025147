"""The secret key, which encrypts and derives other keys: the operator's, or one created at the first start."""

import contextlib
import errno
import hmac
import os
import secrets
from pathlib import Path

from pydantic import SecretStr

from waypost import private_files
from waypost.settings import Settings, SettingsError

FILE = "secret.key"
_DATABASE = ("waypost.db", "waypost.db-wal", "waypost.db-shm", "waypost.db-lock", "waypost.db-callers")
_ENTRIES = (*_DATABASE, FILE, "spool", "run", "media", "mail", "cache")
"""Of the data directory, which a command that root ran may have created. A mounted one has others, too."""
_MIN_SPACE = 2 << 20  # bytes
MIN_LENGTH = 32
"""Characters: the length of `openssl rand -hex 16`. Keys created here have 64."""


def with_secret_key(settings: Settings) -> Settings:
    """Return the settings with `secret_key` set. Create the data directory and the key if they are missing."""
    make_data_dir(settings.data_dir)
    existing = with_existing_key(settings)
    if existing.secret_key:
        return existing
    return settings.model_copy(update={"secret_key": SecretStr(_create(settings.data_dir / FILE))})


def with_existing_key(settings: Settings) -> Settings:
    """Return the settings with `secret_key` set, or None in it if there is no key. Create none."""
    if settings.secret_key and settings.secret_key.get_secret_value():
        return settings
    path = settings.data_dir / FILE
    try:
        keys = _read(path)
    except OSError as error:
        raise SettingsError(f"{path}: {error.strerror}") from None
    if keys:
        _refuse_empty(keys, str(path))
    return settings.model_copy(update={"secret_key": SecretStr(keys) if keys else None})


def fingerprints(settings: Settings) -> list[bytes]:
    """Return what identifies each key and reveals none of them. Empty without a key."""
    return derived_keys(settings, "fingerprint") if settings.secret_key else []


def derived_key(settings: Settings, purpose: str) -> bytes:
    """Return 32 bytes that reveal neither the secret key nor keys derived for other purposes."""
    return derived_keys(settings, purpose)[0]


def derived_keys(settings: Settings, purpose: str) -> list[bytes]:
    """Return a key for each secret key, in order: a signature is valid until its key is removed."""
    return [hmac.digest(key.strip().encode(), purpose.encode(), "sha256") for key in secret_text(settings).split(",")]


def secret_text(settings: Settings) -> str:
    """Return the secret keys as they are configured, separated by commas."""
    return settings.secret_key.get_secret_value() if settings.secret_key else ""


def make_data_dir(path: Path) -> None:
    """Raise SettingsError if it cannot be created, and if its file system is full."""
    try:
        private_files.make_directory(path)
    except OSError as error:
        raise SettingsError(f"WAYPOST_DATA_DIR: {path} cannot be created: {error.strerror}") from None
    try:
        private_files.reserve(path, _MIN_SPACE)
    except OSError as error:
        is_full = error.errno in {errno.ENOSPC, errno.EDQUOT}
        advice = "its file system is full. Free some space, then start again" if is_full else error.strerror
        raise SettingsError(f"WAYPOST_DATA_DIR: {path} cannot be used: {advice}") from None


def check_data_dir(path: Path) -> None:
    """Raise SettingsError if it can be neither used nor created, or if files in it cannot be used. Change nothing."""
    absolute = path.absolute()
    existing = next(parent for parent in (absolute, *absolute.parents) if os.path.lexists(parent))
    if not existing.is_dir():
        raise SettingsError(f"WAYPOST_DATA_DIR: {path} cannot be used: {existing} is not a directory")
    if not os.access(existing, os.R_OK | os.W_OK | os.X_OK):
        raise SettingsError(f"WAYPOST_DATA_DIR: {path} cannot be used: {_why_not_writable(existing, absolute)}")
    for name in _ENTRIES:
        entry = path / name
        if entry.exists() and not os.access(entry, os.R_OK if name == FILE else os.R_OK | os.W_OK):
            raise SettingsError(f"WAYPOST_DATA_DIR: {path} cannot be used: {_why_not_writable(entry, absolute)}")


def _why_not_writable(existing: Path, data_dir: Path) -> str:
    """Return the reason and the command that helps. `data_dir` is the data directory."""
    if os.statvfs(existing).f_flag & os.ST_RDONLY:
        return f"the file system of {existing} is read-only. Mount it writable, or choose another directory"
    user, group = os.getuid(), os.getgid()
    reason = f"{existing} is not {'readable' if existing.name == FILE else 'writable'} for user {user}. As root, run: "
    if not data_dir.is_dir():
        return f"{reason}install -d -m 700 -o {user} -g {group} {data_dir}"
    mounted = " (in a container: on the host, with the directory mounted there)" if data_dir.is_mount() else ""
    return f"{reason}chown -R {user}:{group} {data_dir}{mounted}"


def check(settings: Settings) -> None:
    """Raise SettingsError if the first key, which encrypts, is guessable. Create none.

    Shorter keys may follow it, so that they can be rotated.
    """
    path = settings.data_dir / FILE
    try:
        keys = settings.secret_key.get_secret_value() if settings.secret_key else _read(path)
    except OSError as error:
        raise SettingsError(f"{path}: {error.strerror}") from None
    source = "WAYPOST_SECRET_KEY:" if settings.secret_key else f"{path}"
    if keys:
        _refuse_empty(keys, source)
        if is_short(keys.partition(",")[0]):
            advice = "Create one with openssl rand -base64 48 and put it before the current one: new,old"
            raise SettingsError(f"{source} the first key has fewer than {MIN_LENGTH} characters. {advice}")


def is_short(key: str) -> bool:
    return len(key.strip()) < MIN_LENGTH


def _refuse_empty(keys: str, source: str) -> None:
    if not all(part.strip() for part in keys.split(",")):
        raise SettingsError(f"{source} has an empty key: remove the extra comma")


def _read(path: Path) -> str:
    try:
        return path.read_text().strip()
    except FileNotFoundError:
        return ""
    except UnicodeDecodeError:
        raise SettingsError(f"{path} is not a key: restore the key from a backup") from None


def _create(path: Path) -> str:
    """Create a key, unless another process was first, and return the stored one."""
    try:
        with contextlib.suppress(FileExistsError), private_files.new_file(path) as file:
            file.write(f"{secrets.token_urlsafe(48)}\n".encode())
        key = _read(path)
    except OSError as error:
        raise SettingsError(f"{path}: {error.strerror}") from None
    if not key:
        raise SettingsError(f"{path} is empty: delete it, or restore the key from a backup")
    return key
