"""Operators: the people who may see and change all accounts of this installation."""

from datetime import datetime

from sqlalchemy import select

from waypost.accounts.model import Person
from waypost.accounts.model import people as table
from waypost.accounts.people import store as people
from waypost.accounts.people.store import PERSON
from waypost.accounts.rules import normalize_email
from waypost.database import Database, Tx
from waypost.kit.errors import or_not_found


async def set_operator(db: Database, email: str, now: datetime, *, is_operator: bool) -> Person:
    """Make the person an operator, or no longer. Raises NotFound."""
    async with db.write() as tx:
        person = or_not_found(await people.find_by_email(tx, normalize_email(email)))
        if person.is_operator == is_operator:
            return person
        return or_not_found(await people.change(tx, person.id, now, is_operator=is_operator))


async def list_operators(tx: Tx) -> list[Person]:
    rows = await tx.execute(select(*PERSON).where(table.c.is_operator).order_by(table.c.email))
    return [Person(*row) for row in rows]
