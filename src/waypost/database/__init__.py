"""The database: transactions, column types, secrets at rest, migrations. It knows no other package's tables."""

from waypost.database.engine import Database, Tx, after_commit, share_advisory_lock, take_advisory_lock, upsert
from waypost.database.key_fingerprint import add_key_fingerprint, find_key_fingerprint, replace_key_fingerprint
from waypost.database.point_read import PointRead, RowQuery
from waypost.database.secrets import Ciphertext, DecryptionFailed, Encrypted, KeyRing
from waypost.database.tables import Id, Instant, Json, metadata

__all__ = [
    "Ciphertext",
    "Database",
    "DecryptionFailed",
    "Encrypted",
    "Id",
    "Instant",
    "Json",
    "KeyRing",
    "PointRead",
    "RowQuery",
    "Tx",
    "add_key_fingerprint",
    "after_commit",
    "find_key_fingerprint",
    "metadata",
    "replace_key_fingerprint",
    "share_advisory_lock",
    "take_advisory_lock",
    "upsert",
]
