"""The text of an API key: `wp_live_`, 32 random base62 characters, and a CRC32 of these as 6 base62 characters.

The checksum lets scanners and the server detect a mistyped key without a query.
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
_RANDOM_LENGTH = 32
_CHECKSUM_LENGTH = 6
_FORMAT = re.compile(rf"{PREFIX}[0-9A-Za-z]{{{_RANDOM_LENGTH + _CHECKSUM_LENGTH}}}")


def generate() -> str:
    body = PREFIX + "".join(secrets.choice(_ALPHABET) for _ in range(_RANDOM_LENGTH))
    return body + _checksum(body)


def is_wellformed(text: str) -> bool:
    return _FORMAT.fullmatch(text) is not None and text[-_CHECKSUM_LENGTH:] == _checksum(text[:-_CHECKSUM_LENGTH])


def digest(text: str) -> str:
    """Return the digest that is stored of a key or token. 190 random bits need no slow hash."""
    return hashlib.sha256(text.encode()).hexdigest()


def _checksum(body: str) -> str:
    number = zlib.crc32(body.encode())
    digits = ""
    for _ in range(_CHECKSUM_LENGTH):
        number, digit = divmod(number, len(_ALPHABET))
        digits = _ALPHABET[digit] + digits
    return digits
