"""The database: transactions, column types, secrets at rest, migrations. It knows no other package's tables."""

from waypost.database.engine import Database, PointRead, Tx, take_advisory_lock
from waypost.database.secrets import Encrypted, KeyRing, Sealed, Undecipherable
from waypost.database.tables import Id, Instant, Json, metadata

__all__ = [
    "Database",
    "Encrypted",
    "Id",
    "Instant",
    "Json",
    "KeyRing",
    "PointRead",
    "Sealed",
    "Tx",
    "Undecipherable",
    "metadata",
    "take_advisory_lock",
]
