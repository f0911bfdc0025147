"""Tables of second factors and recovery codes, and every statement on them.

A time step and a recovery code are accepted once: of two concurrent attempts one changes a row.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import (
    BigInteger,
    Column,
    ColumnElement,
    ForeignKey,
    String,
    Table,
    delete,
    exists,
    func,
    insert,
    select,
    update,
)

from waypost.accounts.second_factor import recovery_codes
from waypost.database import Ciphertext, Encrypted, Id, Instant, Tx, metadata

second_factors = Table(
    "second_factors",
    metadata,
    Column("person_id", Id, ForeignKey("people.id", ondelete="CASCADE"), primary_key=True),
    Column("secret", Encrypted, nullable=False),
    Column("last_step", BigInteger, nullable=False),  # the latest time step whose code was accepted
    Column("created_at", Instant, nullable=False),
)
codes = Table(
    "recovery_codes",
    metadata,
    Column("digest", String(64), primary_key=True),
    Column("person_id", Id, ForeignKey("people.id", ondelete="CASCADE"), nullable=False, index=True),
)
_factors, _codes = second_factors.c, codes.c


@dataclass(frozen=True, slots=True)
class SecondFactor:
    created_at: datetime
    codes_left: int
    """Unused recovery codes."""


def is_on_for(person_id: ColumnElement[Any]) -> ColumnElement[bool]:
    """SQL: whether the person has a second factor."""
    return exists().where(_factors.person_id == person_id)


async def is_on(tx: Tx, person_id: UUID) -> bool:
    return (await tx.execute(select(_factors.person_id).where(_factors.person_id == person_id))).first() is not None


async def find(tx: Tx, person_id: UUID) -> SecondFactor | None:
    left = select(func.count()).select_from(codes).where(_codes.person_id == person_id).scalar_subquery()
    return await tx.find(SecondFactor, select(_factors.created_at, left).where(_factors.person_id == person_id))


async def find_secret(tx: Tx, person_id: UUID) -> Ciphertext | None:
    return await tx.scalar(select(_factors.secret).where(_factors.person_id == person_id))


async def add(tx: Tx, person_id: UUID, secret: Ciphertext, step: int, now: datetime) -> None:
    """`step`: the time step whose code confirmed it."""
    row = {"person_id": person_id, "secret": secret, "last_step": step, "created_at": now}
    await tx.execute(insert(second_factors), row)


async def remove(tx: Tx, person_id: UUID) -> bool:
    """Return False if there is none."""
    await tx.execute(delete(codes).where(_codes.person_id == person_id))
    return (await tx.execute(delete(second_factors).where(_factors.person_id == person_id))).rowcount > 0


async def use_step(tx: Tx, person_id: UUID, step: int) -> bool:
    """Return False if this time step, or a later one, was used before."""
    statement = update(second_factors).where(_factors.person_id == person_id, _factors.last_step < step)
    return (await tx.execute(statement.values(last_step=step))).rowcount > 0


async def use_recovery_code(tx: Tx, person_id: UUID, code: str) -> bool:
    """Delete the code. Return False if the person does not have it, or has used it."""
    statement = delete(codes).where(_codes.digest == recovery_codes.digest(code), _codes.person_id == person_id)
    return (await tx.execute(statement)).rowcount > 0


async def replace_recovery_codes(tx: Tx, person_id: UUID, new: Sequence[str]) -> None:
    await tx.execute(delete(codes).where(_codes.person_id == person_id))
    rows = [{"digest": recovery_codes.digest(code), "person_id": person_id} for code in new]
    await tx.execute(insert(codes), rows)
