"""The database: transactions, column types, secrets at rest, migrations. Knows no room's tables."""

from waypost.database.engine import Database, PointRead, Tx
from waypost.database.lock import take
from waypost.database.secrets import KeyRing, Sealed
from waypost.database.tables import metadata
from waypost.database.types import Id, Instant, Json

__all__ = ["Database", "Id", "Instant", "Json", "KeyRing", "PointRead", "Sealed", "Tx", "metadata", "take"]
