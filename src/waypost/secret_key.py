"""The key that encrypts, and of which others are derived: the operator's, or one made at the first start and kept."""

import hmac
import os
import secrets
from pathlib import Path

from pydantic import SecretStr

from waypost import private_files
from waypost.settings import Settings, SettingsError

FILE = "secret.key"


def with_secret_key(settings: Settings) -> Settings:
    """The same settings with `secret_key` set; makes the data directory and the key where they are missing."""
    make_data_dir(settings.data_dir)
    if settings.secret_key and settings.secret_key.get_secret_value():
        return settings
    return settings.model_copy(update={"secret_key": SecretStr(_kept_or_made(settings.data_dir / FILE))})


def derived_key(settings: Settings, purpose: str) -> bytes:
    """32 bytes that tell nothing of the key itself, nor of what is derived for another purpose."""
    return derived_keys(settings, purpose)[0]


def derived_keys(settings: Settings, purpose: str) -> list[bytes]:
    """One of each key, in their order: what was signed under a key counts until that key is removed."""
    secret = settings.secret_key.get_secret_value() if settings.secret_key else ""
    return [hmac.digest(key.strip().encode(), purpose.encode(), "sha256") for key in secret.split(",")]


def make_data_dir(path: Path) -> None:
    try:
        private_files.make_directory(path)
    except OSError as error:
        raise SettingsError(f"WAYPOST_DATA_DIR: {path} cannot be made: {error.strerror}") from None


def _kept_or_made(path: Path) -> str:
    try:
        key = _read(path) or _make(path)
    except OSError as error:
        raise SettingsError(f"{path}: {error.strerror}") from None
    if not all(part.strip() for part in key.split(",")):
        raise SettingsError(f"{path} has an empty key: remove the comma that is too much")
    return key


def _read(path: Path) -> str:
    try:
        return path.read_text().strip()
    except FileNotFoundError:
        return ""


def _make(path: Path) -> str:
    """Linking fails when another process was first; then its key is the key, whole because it was linked whole."""
    draft = path.with_name(f"{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(secrets.token_urlsafe(48) + "\n")
            file.flush()
            os.fsync(descriptor)
        os.link(draft, path)
    except FileExistsError:
        pass
    finally:
        draft.unlink()
    key = _read(path)
    if not key:
        raise SettingsError(f"{path} is empty: delete it, or put the key back from a backup")
    return key
