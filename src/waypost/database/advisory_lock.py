"""An advisory lock of PostgreSQL, held by one transaction until it ends. SQLite has only one writer anyway."""

from sqlalchemy import text

from waypost.database.engine import Tx

# A waiting transaction fails after 10 s, and an idle one that holds the lock loses it after 60 s: a machine that was
# paused or disconnected would otherwise block all others for hours, until TCP closes its connection.
_TAKE = text(
    "SELECT set_config('lock_timeout', '10s', TRUE), set_config('idle_in_transaction_session_timeout', '60s', TRUE),"
    " pg_advisory_xact_lock(:key)"
)


async def take_advisory_lock(tx: Tx, key: int) -> None:
    """Raise Unavailable after 10 s. The limit holds for every lock until the transaction ends."""
    if tx.dialect.name == "postgresql":
        await tx.execute(_TAKE, {"key": key})
