"""Secrets at rest: AES-256-GCM, bound to table, column and row. The first key of the ring encrypts, all decrypt.

An `Encrypted` column takes only what a `KeyRing` has encrypted, never plain text.
"""

import hashlib
import hmac
import os
from typing import TYPE_CHECKING, Any, Self
from uuid import UUID

from sqlalchemy import Column, Dialect, LargeBinary
from sqlalchemy.types import TypeDecorator

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

_VERSION = b"\x01"
_KEY_ID_SIZE = 4
_NONCE_SIZE = 12


class DecryptionFailed(Exception):
    """The value was encrypted for another row, under a key that is not in the ring, or was altered."""


class Ciphertext(bytes):
    """version (1) · key id (4) · nonce (12) · ciphertext with tag."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "Ciphertext(…)"


class Encrypted(TypeDecorator[Ciphertext]):
    impl = LargeBinary
    cache_ok = True

    def __init__(self, bound_to: str | None = None) -> None:
        """`bound_to`: table and column that the values were encrypted for, if these are called otherwise now."""
        super().__init__()
        self.bound_to = bound_to

    def process_bind_param(self, value: Ciphertext | None, _dialect: Dialect) -> bytes | None:
        if value is not None and not isinstance(value, Ciphertext):
            raise TypeError("an Encrypted column takes only what KeyRing.encrypt returned")
        return value

    def process_result_value(self, value: bytes | None, _dialect: Dialect) -> Ciphertext | None:
        return None if value is None else Ciphertext(value)


class KeyRing:
    def __init__(self, secrets: list[str]) -> None:
        """`secrets`: as in WAYPOST_SECRET_KEY."""
        if not secrets or not all(secrets):
            raise ValueError("a key ring needs at least one non-empty secret")
        self._keys = {_key_id(secret): derive(secret, b"column encryption") for secret in secrets}
        self._first = _key_id(secrets[0])

    @classmethod
    def from_setting(cls, text: str) -> Self:
        return cls([part.strip() for part in text.split(",")])

    def encrypt(self, column: Column[Any], row: UUID, text: str) -> Ciphertext:
        nonce = os.urandom(_NONCE_SIZE)
        ciphertext = _cipher(self._keys[self._first]).encrypt(nonce, text.encode(), _associated_data(column, row))
        return Ciphertext(_VERSION + self._first + nonce + ciphertext)

    def decrypt(self, column: Column[Any], row: UUID, ciphertext: Ciphertext) -> str:
        """Raise DecryptionFailed, also for a value of another row."""
        from cryptography.exceptions import InvalidTag  # noqa: PLC0415  # see `_cipher`

        key = self._keys.get(ciphertext[1 : 1 + _KEY_ID_SIZE])
        start = 1 + _KEY_ID_SIZE + _NONCE_SIZE
        if key is None or ciphertext[:1] != _VERSION:
            raise DecryptionFailed
        try:
            return (
                _cipher(key)
                .decrypt(ciphertext[1 + _KEY_ID_SIZE : start], ciphertext[start:], _associated_data(column, row))
                .decode()
            )
        except InvalidTag:
            raise DecryptionFailed from None

    def position(self, key_id: bytes) -> int | None:
        """Return which key of the ring has this id. None: no key of the ring has it."""
        return list(self._keys).index(key_id) if key_id in self._keys else None

    def is_current(self, ciphertext: Ciphertext) -> bool:
        """Whether it was encrypted with the first key. Otherwise it is still to be rotated."""
        return ciphertext[1 : 1 + _KEY_ID_SIZE] == self._first


def derive(secret: str, purpose: bytes) -> bytes:
    """Derive a 32-byte key for one purpose, so that no two uses share key material.

    HKDF with SHA-256 and no salt (RFC 5869), of which 32 bytes are the first block.
    """
    pseudorandom = hmac.digest(bytes(32), secret.encode(), "sha256")
    return hmac.digest(pseudorandom, b"waypost " + purpose + b"\x01", "sha256")


def _cipher(key: bytes) -> "AESGCM":
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415  # 8 MB, only for secrets

    return AESGCM(key)


def _key_id(secret: str) -> bytes:
    return hashlib.sha256(derive(secret, b"key id")).digest()[:_KEY_ID_SIZE]


def _associated_data(column: Column[Any], row: UUID) -> bytes:
    assert isinstance(column.type, Encrypted)  # noqa: S101
    return f"{column.type.bound_to or f'{column.table.name}.{column.name}'}.{row}".encode()
