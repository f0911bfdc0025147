"""Which accounts have ever verified a hostname. Kept permanently, also when the domain and the account are deleted.

A CNAME record names no account: one that a former owner left in place would verify the hostname for anybody. So a
hostname that another account has verified is verified by a TXT record only.
"""

import hashlib
from uuid import UUID

from sqlalchemy import Column, ColumnElement, String, Table, select
from sqlalchemy.dialects import postgresql, sqlite

from waypost.database import Tx, metadata
from waypost.resources.domains.model import NAME

_verified = Table(
    "verified_names",
    metadata,
    Column("hostname", NAME, primary_key=True),
    Column("account_digest", String(64), primary_key=True),
    sqlite_with_rowid=False,
)
_V = _verified.c


async def remember(tx: Tx, account_id: UUID, hostname: str) -> None:
    row = {"hostname": hostname, "account_digest": digest(account_id, hostname)}
    insert = postgresql.insert if tx.dialect.name == "postgresql" else sqlite.insert
    await tx.execute(insert(_verified).values(row).on_conflict_do_nothing())


async def is_of(tx: Tx, account_id: UUID, hostname: str) -> bool:
    """Whether this account has ever verified it."""
    return await _exists(tx, hostname, _V.account_digest == digest(account_id, hostname))


async def is_of_another(tx: Tx, account_id: UUID, hostname: str) -> bool:
    """Whether another account has ever verified it."""
    return await _exists(tx, hostname, _V.account_digest != digest(account_id, hostname))


def digest(account_id: UUID, hostname: str) -> str:
    """Identifies the account for one hostname. Reveals nothing about an account that was deleted."""
    return hashlib.sha256(account_id.bytes + hostname.encode()).hexdigest()


async def _exists(tx: Tx, hostname: str, condition: ColumnElement[bool]) -> bool:
    found = select(_V.hostname).where(_V.hostname == hostname, condition).limit(1)
    return (await tx.execute(found)).first() is not None
