"""Every statement on `people`."""

from collections.abc import Collection
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Column, delete, exists, insert, select, update

from waypost.accounts.model import Person, PersonWithHash, memberships, people
from waypost.database import Tx
from waypost.kit.errors import NotFound
from waypost.kit.preferences import DEFAULT, Preferences, stored_preferences

_people = people.c
PERSON: tuple[Column[Any], ...] = tuple(_people[name] for name in Person.__dataclass_fields__)


async def add(tx: Tx, person: Person, password_hash: str | None) -> None:
    """Raises IntegrityError if there is a person with this email."""
    values = {name: getattr(person, name) for name in Person.__dataclass_fields__}
    await tx.execute(insert(people).values(**values, password_hash=password_hash))


async def find(tx: Tx, person_id: UUID) -> Person | None:
    return await tx.find(Person, select(*PERSON).where(_people.id == person_id))


async def find_by_email(tx: Tx, email: str) -> Person | None:
    return await tx.find(Person, select(*PERSON).where(_people.email == email))


async def find_preferences(tx: Tx, email: str) -> Preferences:
    """Return those of the person with an email, for what is sent to it."""
    person = await find_by_email(tx, email)
    return person.preferences if person else DEFAULT


async def list_preferences(tx: Tx, ids: Collection[UUID]) -> dict[UUID, Preferences]:
    """Return those of people by id."""
    query = select(_people.id, _people.timezone, _people.date_format, _people.number_format)
    rows = await tx.execute(query.where(_people.id.in_(ids)))
    return {id_: stored_preferences(*chosen) for id_, *chosen in rows}


async def exist(tx: Tx) -> bool:
    return bool(await tx.scalar(select(exists(people.select()))))


async def find_with_password(tx: Tx, email: str) -> PersonWithHash:
    """Return (person, password hash)."""
    row = (await tx.execute(select(*PERSON, _people.password_hash).where(_people.email == email))).one_or_none()
    return (None, None) if row is None else (Person(*row[:-1]), row[-1])


async def find_password_hash(tx: Tx, person_id: UUID) -> str | None:
    return await tx.scalar(select(_people.password_hash).where(_people.id == person_id))


async def replace_password_hash(tx: Tx, person_id: UUID, hashed: str, *, before: str) -> None:
    """Replace the hash if it is still `before`."""
    statement = update(people).where(_people.id == person_id, _people.password_hash == before)
    await tx.execute(statement.values(password_hash=hashed))


async def lock(tx: Tx, person_id: UUID) -> None:
    """Lock the person until the transaction ends, against deletion and concurrent changes. Raises NotFound."""
    query = select(_people.id).where(_people.id == person_id).with_for_update(key_share=True)
    if (await tx.execute(query)).first() is None:
        raise NotFound


async def change(tx: Tx, person_id: UUID, now: datetime, **values: Any) -> Person | None:
    """Return the changed person; None if there is none. Raises IntegrityError for an email of another person."""
    statement = update(people).where(_people.id == person_id).values(updated_at=now, **values)
    return await tx.find(Person, statement.returning(*PERSON))


async def delete_members_of(tx: Tx, account_id: UUID) -> list[UUID]:
    """Delete the people who are members of this account and of no other, with their credentials and sessions.

    Operators stay. Return the ids of those who were deleted.
    """
    other = memberships.alias()
    is_elsewhere = exists().where(other.c.person_id == memberships.c.person_id, other.c.account_id != account_id)
    here_only = select(memberships.c.person_id).where(memberships.c.account_id == account_id, ~is_elsewhere)
    statement = delete(people).where(_people.id.in_(here_only), _people.is_operator.is_(False))
    return list((await tx.execute(statement.returning(_people.id))).scalars())


async def remove(tx: Tx, person_id: UUID) -> None:
    """Delete the person, with their credentials, sessions and invitations."""
    await tx.execute(delete(people).where(_people.id == person_id))
