"""The text of an API key: `wp_live_`, 32 random base62 characters, and a CRC32 of these as 6 base62 characters.

The checksum lets scanners and the server refuse a mistyped key without a look-up.
"""

import hashlib
import re
import secrets
import string
import zlib

PREFIX = "wp_live_"
PREFIX_LENGTH = 12
"""First characters, stored for display."""

_ALPHABET = string.digits + string.ascii_uppercase + string.ascii_lowercase
_RANDOM = 32
_CHECKSUM = 6
_FORM = re.compile(rf"{PREFIX}[0-9A-Za-z]{{{_RANDOM + _CHECKSUM}}}")


def generate() -> str:
    body = PREFIX + "".join(secrets.choice(_ALPHABET) for _ in range(_RANDOM))
    return body + _checksum(body)


def is_wellformed(text: str) -> bool:
    return _FORM.fullmatch(text) is not None and text[-_CHECKSUM:] == _checksum(text[:-_CHECKSUM])


def digest(text: str) -> str:
    """What is stored of a key or token. A fast hash is enough: nobody can guess 190 random bits."""
    return hashlib.sha256(text.encode()).hexdigest()


def _checksum(body: str) -> str:
    number = zlib.crc32(body.encode())
    digits = ""
    for _ in range(_CHECKSUM):
        number, digit = divmod(number, len(_ALPHABET))
        digits = _ALPHABET[digit] + digits
    return digits
