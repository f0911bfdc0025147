"""Secrets at rest: AES-256-GCM, bound to table, column and row. The first key of the ring encrypts, all decrypt.

An `Encrypted` column takes only what a `KeyRing` has sealed, never plain text.
"""

import hashlib
import os
from typing import Any, Self
from uuid import UUID

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from sqlalchemy import Column, Dialect, LargeBinary
from sqlalchemy.types import TypeDecorator

_VERSION = b"\x01"
_KEY_ID = 4
_NONCE = 12


class Undecipherable(Exception):
    """The value was sealed for another row, under a key that is not in the ring, or was altered."""


class Sealed(bytes):
    """version (1) · key id (4) · nonce (12) · ciphertext with tag."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "Sealed(…)"


class Encrypted(TypeDecorator[Sealed]):
    impl = LargeBinary
    cache_ok = True

    def process_bind_param(self, value: Sealed | None, _dialect: Dialect) -> bytes | None:
        if value is not None and not isinstance(value, Sealed):
            raise TypeError("an Encrypted column takes only what KeyRing.seal returned")
        return value

    def process_result_value(self, value: bytes | None, _dialect: Dialect) -> Sealed | None:
        return None if value is None else Sealed(value)


class KeyRing:
    def __init__(self, secrets: list[str]) -> None:
        """`secrets`: as in WAYPOST_SECRET_KEY."""
        if not secrets or not all(secrets):
            raise ValueError("a key ring needs at least one non-empty secret")
        self._keys = {_fingerprint(secret): AESGCM(derive(secret, b"column encryption")) for secret in secrets}
        self._writing = _fingerprint(secrets[0])

    @classmethod
    def from_setting(cls, text: str) -> Self:
        return cls([part.strip() for part in text.split(",")])

    def seal(self, column: Column[Any], row: UUID, text: str) -> Sealed:
        nonce = os.urandom(_NONCE)
        sealed = self._keys[self._writing].encrypt(nonce, text.encode(), _binding(column, row))
        return Sealed(_VERSION + self._writing + nonce + sealed)

    def open(self, column: Column[Any], row: UUID, sealed: Sealed) -> str:
        """Raise Undecipherable, also for a value sealed for another row."""
        key = self._keys.get(sealed[1 : 1 + _KEY_ID])
        start = 1 + _KEY_ID + _NONCE
        if key is None or sealed[:1] != _VERSION:
            raise Undecipherable
        try:
            return key.decrypt(sealed[1 + _KEY_ID : start], sealed[start:], _binding(column, row)).decode()
        except InvalidTag:
            raise Undecipherable from None

    def is_current(self, sealed: Sealed) -> bool:
        """Whether the first key sealed it. Otherwise the value is still to be rotated."""
        return sealed[1 : 1 + _KEY_ID] == self._writing


def derive(secret: str, purpose: bytes) -> bytes:
    """Derive a 32-byte key for one purpose, so that no two uses share key material."""
    return HKDF(SHA256(), 32, salt=None, info=b"waypost " + purpose).derive(secret.encode())


def _fingerprint(secret: str) -> bytes:
    return hashlib.sha256(derive(secret, b"key id")).digest()[:_KEY_ID]


def _binding(column: Column[Any], row: UUID) -> bytes:
    return f"{column.table.name}.{column.name}.{row}".encode()
