"""The text of recovery codes: 24 characters with 120 random bits. Only the digest is stored."""

import base64
import secrets

from waypost.accounts.keys import format as key_format

COUNT = 10
_SIZE = 15  # bytes
_GROUP = 6  # characters


def new_codes() -> list[str]:
    return [_new_code() for _ in range(COUNT)]


def digest(code: str) -> str:
    return key_format.digest(f"recovery code {normalize(code)}")


def normalize(text: str) -> str:
    """Return what people typed without the separators, which are only there to read it."""
    return "".join(text.split()).replace("-", "").lower()


def _new_code() -> str:
    text = base64.b32encode(secrets.token_bytes(_SIZE)).decode().lower()
    return "-".join(text[start : start + _GROUP] for start in range(0, len(text), _GROUP))
