"""A lock on PostgreSQL that one transaction at a time holds until it ends. SQLite admits one writer anyway."""

from sqlalchemy import text

from waypost.database.engine import Tx

# Whoever waits too long gets an error as from an outage, and whoever holds it and does nothing loses it: a machine that
# was paused or cut off would otherwise stop all others for hours, until TCP gives it up.
_TAKE = text(
    "SELECT set_config('lock_timeout', '10s', TRUE), set_config('idle_in_transaction_session_timeout', '60s', TRUE),"
    " pg_advisory_xact_lock(:key)"
)


async def take(tx: Tx, key: int) -> None:
    """Also bounds, until the transaction ends, how long it waits for any lock. The wait's end becomes Unavailable."""
    if tx.dialect.name == "postgresql":
        await tx.execute(_TAKE, {"key": key})
