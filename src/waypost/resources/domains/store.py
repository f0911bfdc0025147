"""SQL for the API and the commands. The unique index decides who has a hostname."""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Select, delete, func, select, update
from sqlalchemy.dialects import postgresql, sqlite

from waypost.auth import email_of
from waypost.database import Tx
from waypost.kit.pagination import PageRequest
from waypost.resources.domains.model import Domain, domains

_DOMAIN = select(*(domains.c[name] for name in Domain.__dataclass_fields__))


async def add(tx: Tx, domain: Domain) -> bool:
    """False when the hostname is taken. A concurrent insert of it waits for our transaction's end."""
    insert = postgresql.insert if tx.dialect.name == "postgresql" else sqlite.insert
    added = insert(domains).values(asdict(domain)).on_conflict_do_nothing(index_elements=[domains.c.hostname])
    return (await tx.execute(added.returning(domains.c.id))).one_or_none() is not None


async def count(tx: Tx, account_id: UUID) -> int:
    return (await tx.execute(_counted(account_id))).scalar_one()


async def count_not_live(tx: Tx, account_id: UUID) -> int:
    return (await tx.execute(_counted(account_id).where(~domains.c.is_live))).scalar_one()


async def find(tx: Tx, account_id: UUID, domain_id: UUID) -> Domain | None:
    return _domain((await tx.execute(_DOMAIN.where(*_is(account_id, domain_id)))).one_or_none())


async def find_for_change(tx: Tx, account_id: UUID, domain_id: UUID) -> Domain | None:
    """Locked: nobody else changes it, or counts a link onto it, until the transaction ends."""
    return _domain((await tx.execute(_DOMAIN.where(*_is(account_id, domain_id)).with_for_update())).one_or_none())


async def find_named_for_change(tx: Tx, hostname: str) -> Domain | None:
    """Of any account. Locked."""
    return _domain((await tx.execute(_DOMAIN.where(domains.c.hostname == hostname).with_for_update())).one_or_none())


async def is_registered(tx: Tx, hostname: str) -> bool:
    """To any account."""
    return (await tx.execute(select(domains.c.id).where(domains.c.hostname == hostname))).first() is not None


async def page(tx: Tx, account_id: UUID, request: PageRequest) -> tuple[list[Domain], int]:
    """(domains of the page, number of domains on all pages), newest first."""
    newest = _DOMAIN.where(domains.c.account_id == account_id)
    newest = newest.order_by(domains.c.created_at.desc(), domains.c.id.desc())
    rows = await tx.execute(newest.limit(request.per_page).offset(request.offset))
    return [Domain(*row) for row in rows], await count(tx, account_id)


async def list_all(tx: Tx) -> list[tuple[str, Domain]]:
    """(the owner's email address, the domain), by name."""
    owned = _DOMAIN.add_columns(email_of(domains.c.account_id).label("email"))
    rows = await tx.execute(owned.order_by(domains.c.hostname))
    return [(row[-1], Domain(*row[:-1])) for row in rows]


async def save_target_urls(tx: Tx, domain: Domain) -> None:
    values = {name: getattr(domain, name) for name in ("root_url", "not_found_url", "updated_at")}
    await tx.execute(update(domains).where(domains.c.id == domain.id).values(values))


async def save_claim(tx: Tx, domain: Domain) -> None:
    values = {name: getattr(domain, name) for name in ("unverified_since", "needs_txt")}
    await tx.execute(update(domains).where(domains.c.id == domain.id).values(values))


async def request_check(tx: Tx, domain_id: UUID, at: datetime) -> None:
    """A check that is in flight continues; its lease is not changed."""
    requested = {"status": "verifying", "check_at": at, "updated_at": at}
    await tx.execute(update(domains).where(domains.c.id == domain_id).values(requested))


async def remove(tx: Tx, domain_id: UUID) -> None:
    await tx.execute(delete(domains).where(domains.c.id == domain_id))


def _counted(account_id: UUID) -> Select[int]:
    return select(func.count()).select_from(domains).where(domains.c.account_id == account_id)


def _is(account_id: UUID, domain_id: UUID) -> Sequence[ColumnElement[bool]]:
    return domains.c.id == domain_id, domains.c.account_id == account_id


def _domain(row: Sequence[Any] | None) -> Domain | None:
    return None if row is None else Domain(*row)
