"""The database: transactions, column types, secrets at rest, migrations. It knows no other package's tables."""

from waypost.database.advisory_lock import take_advisory_lock
from waypost.database.engine import Database, PointRead, Tx
from waypost.database.secrets import Encrypted, KeyRing, Sealed, Undecipherable
from waypost.database.tables import metadata
from waypost.database.types import Id, Instant, Json

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
