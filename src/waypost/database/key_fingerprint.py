"""The fingerprint of the secret key that the secrets in this database are encrypted with, so that no node uses another.

`waypost.secret_key.fingerprints` computes it.
"""

from sqlalchemy import Column, Integer, LargeBinary, Table, select, update

from waypost.database.engine import upsert
from waypost.database.tables import metadata
from waypost.database.transaction import Tx

secret_key_fingerprint = Table(
    "secret_key_fingerprint",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),  # always 1: there is one row
    Column("fingerprint", LargeBinary, nullable=False),
)


async def find_key_fingerprint(tx: Tx) -> bytes | None:
    return (await tx.execute(select(secret_key_fingerprint.c.fingerprint))).scalar_one_or_none()


async def add_key_fingerprint(tx: Tx, fingerprint: bytes) -> None:
    """Store it unless another node was first."""
    row = {"id": 1, "fingerprint": fingerprint}
    await tx.execute(upsert(tx, secret_key_fingerprint).on_conflict_do_nothing(), row)


async def replace_key_fingerprint(tx: Tx, fingerprint: bytes) -> None:
    await add_key_fingerprint(tx, fingerprint)
    await tx.execute(update(secret_key_fingerprint).values(fingerprint=fingerprint))
