"""Every statement on `provider_sessions`: which sessions are connected with one at an OpenID Connect provider."""

from dataclasses import asdict
from uuid import UUID

from sqlalchemy import (
    Column,
    ColumnElement,
    Exists,
    ForeignKey,
    Select,
    String,
    Table,
    Text,
    delete,
    exists,
    insert,
    select,
)

from waypost.accounts.model import ProviderSession
from waypost.database import Id, Tx, metadata

provider_sessions = Table(
    "provider_sessions",
    metadata,
    Column("session_id", Id, ForeignKey("sessions.id", ondelete="CASCADE"), primary_key=True),
    Column("issuer", Text, nullable=False),
    Column("subject", String(255), nullable=False, index=True),
    Column("id", String(255), index=True),  # of the provider's session, if it has said
    Column("id_token", Text, nullable=False),  # expired; names the session when it ends
)
_provider_sessions = provider_sessions.c


async def connect(tx: Tx, session_id: UUID, provider: ProviderSession) -> None:
    """Let the session end with the one at the provider."""
    await tx.execute(delete(provider_sessions).where(_provider_sessions.session_id == session_id))
    await tx.execute(insert(provider_sessions).values(session_id=session_id, **asdict(provider)))


async def find(tx: Tx, session_id: UUID) -> ProviderSession | None:
    query = select(*(_provider_sessions[name] for name in ProviderSession.__dataclass_fields__))
    return await tx.find(ProviderSession, query.where(_provider_sessions.session_id == session_id))


def exists_for(session_id: ColumnElement[UUID]) -> Exists:
    """SQL condition: the session is connected with one at a provider."""
    return exists().where(_provider_sessions.session_id == session_id)


def select_session_ids(issuer: str, *, subject: str | None, session_id: str | None) -> Select[UUID]:
    """Subquery: our sessions of one session at the provider; without `session_id`, all of the subject's."""
    conditions = [_provider_sessions.issuer == issuer]
    if subject is not None:
        conditions.append(_provider_sessions.subject == subject)
    if session_id is not None:
        conditions.append(_provider_sessions.id == session_id)
    return select(_provider_sessions.session_id).where(*conditions)
