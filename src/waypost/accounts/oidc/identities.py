"""Every statement on `identities`: who people are at an OpenID Connect provider. A person has at most one identity."""

from datetime import datetime
from uuid import UUID

from sqlalchemy import Column, ForeignKey, String, Table, Text, UniqueConstraint, delete, insert, select, update

from waypost.accounts.model import Person, people
from waypost.accounts.people.store import PERSON
from waypost.database import Id, Instant, Tx, metadata

identities = Table(
    "identities",
    metadata,
    Column("person_id", Id, ForeignKey("people.id", ondelete="CASCADE"), primary_key=True),
    Column("issuer", Text, nullable=False),
    Column("subject", String(255), nullable=False),
    Column("email", String(254), nullable=False),  # what the provider said last; the person's own may be another
    Column("created_at", Instant, nullable=False),
    Column("used_at", Instant, nullable=False),
    UniqueConstraint("issuer", "subject"),
)
_identities = identities.c


async def find_person(tx: Tx, issuer: str, subject: str) -> Person | None:
    query = select(*PERSON).join_from(identities, people, _identities.person_id == people.c.id)
    return await tx.find(Person, query.where(_identities.issuer == issuer, _identities.subject == subject))


async def find(tx: Tx, person_id: UUID) -> tuple[str, str] | None:
    """Return (issuer, email) of the person's identity."""
    query = select(_identities.issuer, _identities.email).where(_identities.person_id == person_id)
    row = (await tx.execute(query)).one_or_none()
    return None if row is None else (row.issuer, row.email)


async def find_email(tx: Tx, person_id: UUID, issuer: str) -> str | None:
    """Return the email of the person's identity at the provider; None without one."""
    query = select(_identities.email).where(_identities.person_id == person_id, _identities.issuer == issuer)
    return await tx.scalar(query)


async def is_connected(tx: Tx, person_id: UUID, issuer: str, subject: str) -> bool:
    person = await find_person(tx, issuer, subject)
    return person is not None and person.id == person_id


async def connect(tx: Tx, person_id: UUID, issuer: str, subject: str, email: str, now: datetime) -> None:
    """Replace the person's identity. Raises IntegrityError if it is another person's."""
    await tx.execute(delete(identities).where(_identities.person_id == person_id))
    values = {"issuer": issuer, "subject": subject, "email": email, "created_at": now, "used_at": now}
    await tx.execute(insert(identities).values(person_id=person_id, **values))


async def find_subject(tx: Tx, person_id: UUID, issuer: str) -> str | None:
    """Return the subject of the person's identity at the provider; None without one."""
    query = select(_identities.subject).where(_identities.person_id == person_id, _identities.issuer == issuer)
    return await tx.scalar(query)


async def disconnect(tx: Tx, person_id: UUID) -> bool:
    """Return False if the person has no identity."""
    return (await tx.execute(delete(identities).where(_identities.person_id == person_id))).rowcount > 0


async def record_use(tx: Tx, person_id: UUID, email: str, now: datetime) -> None:
    await tx.execute(update(identities).where(_identities.person_id == person_id).values(email=email, used_at=now))
