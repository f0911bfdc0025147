"""Every statement on `accounts`."""

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import BindParameter, Column, ColumnElement, ScalarSelect, Select, insert, select, update

from waypost.accounts.model import Account, Plan, RequiredFactor, accounts
from waypost.database import Tx
from waypost.kit.errors import NotFound

_accounts = accounts.c
_PLAN: tuple[Column[Any], ...] = (
    _accounts.plan_type,
    _accounts.plan_status,
    _accounts.trial_ends_at,
    _accounts.renews_at,
)
ACCOUNT: tuple[Column[Any], ...] = (
    _accounts.id,
    _accounts.email,
    _accounts.name,
    *_PLAN,
    _accounts.created_at,
    _accounts.updated_at,
    _accounts.suspended_at,
    _accounts.suspended_reason,
)


async def add_account(tx: Tx, account: Account) -> None:
    values = {name: getattr(account, name) for name in ("id", "email", "name", "created_at", "updated_at")}
    await tx.execute(insert(accounts).values(**values, **_plan_values(account.plan)))


async def find_by_email(tx: Tx, email: str) -> Account | None:
    return await tx.find(account_from, select(*ACCOUNT).where(_accounts.email == email))


async def find_account(tx: Tx, account_id: UUID) -> Account | None:
    """Return the account unless it is deleted."""
    return await tx.find(account_from, select(*ACCOUNT).where(*_where_not_deleted(account_id)))


async def list_accounts(tx: Tx) -> list[Account]:
    query = select(*ACCOUNT).where(_accounts.deleted_at.is_(None))
    rows = await tx.execute(query.order_by(_accounts.created_at.desc(), _accounts.id.desc()))
    return [account_from(*row) for row in rows]


def email_subquery(account_id: ColumnElement[UUID]) -> ScalarSelect[str]:
    """Scalar subquery: the email of the account."""
    return select(_accounts.email).where(_accounts.id == account_id).scalar_subquery()


def select_account_ids() -> Select[UUID]:
    """Subquery: ids of all accounts, deleted ones included."""
    return select(_accounts.id)


async def find_email(tx: Tx, account_id: UUID) -> str | None:
    return await tx.scalar(select(_accounts.email).where(_accounts.id == account_id))


async def find_required_factor(tx: Tx, account_id: UUID) -> RequiredFactor:
    query = select(_accounts.required_factor).where(_accounts.id == account_id)
    factor: RequiredFactor = (await tx.execute(query)).scalar_one()
    return factor


async def find_next_account_id(tx: Tx, account_id: UUID) -> UUID | None:
    """Return the next id in order; None at the end."""
    query = select(_accounts.id).where(_accounts.id > account_id).order_by(_accounts.id).limit(1)
    return await tx.scalar(query)


async def lock_account(tx: Tx, account_id: UUID) -> None:
    """Lock the account, so that it is not deleted before the transaction ends. Raises NotFound if it is deleted.

    Whatever adds rows to an account locks it or counts them there: rows of a deleted account would stay forever.
    """
    lock_query = select(_accounts.id).where(*_where_not_deleted(account_id)).with_for_update(key_share=True)
    if (await tx.execute(lock_query)).first() is None:
        raise NotFound


async def change(tx: Tx, account_id: UUID, now: datetime, **values: Any) -> Account | None:
    """Return the changed account; None if it is deleted. Raises IntegrityError for an email of another account."""
    statement = update(accounts).where(*_where_not_deleted(account_id)).values(updated_at=now, **values)
    return await tx.find(account_from, statement.returning(*ACCOUNT))


async def change_plan(tx: Tx, account_id: UUID, plan: Plan, now: datetime) -> Account | None:
    statement = update(accounts).where(_accounts.id == account_id).values(updated_at=now, **_plan_values(plan))
    return await tx.find(account_from, statement.returning(*ACCOUNT))


# usage of an account: links update it in their transactions


def links_count_subquery(account_id: UUID | ColumnElement[UUID] | BindParameter[UUID]) -> ScalarSelect[int]:
    """Scalar subquery: the number of links of the account."""
    return select(_accounts.links_count).where(_accounts.id == account_id).scalar_subquery()


async def count_links(tx: Tx, account_id: UUID) -> int:
    return await tx.scalar(select(_accounts.links_count).where(_accounts.id == account_id)) or 0


async def adjust_links_count(tx: Tx, account_id: UUID, difference: int) -> bool:
    """Return False if the account is deleted."""
    statement = (
        update(accounts).where(*_where_not_deleted(account_id)).values(links_count=_accounts.links_count + difference)
    )
    return (await tx.execute(statement)).rowcount > 0


async def count_label_changes(tx: Tx, account_id: UUID) -> int:
    return await tx.scalar(select(_accounts.label_changes).where(_accounts.id == account_id)) or 0


async def add_label_change(tx: Tx, account_id: UUID) -> None:
    """Call it where links with clicks get other tags, hostnames or UTM parameters, near the end of the transaction."""
    statement = update(accounts).where(_accounts.id == account_id).values(label_changes=_accounts.label_changes + 1)
    await tx.execute(statement)


async def count_image_bytes(tx: Tx, account_id: UUID) -> int:
    row = (await tx.execute(select(_accounts.image_bytes).where(_accounts.id == account_id))).one_or_none()
    return row.image_bytes if row else 0


async def adjust_image_bytes(tx: Tx, account_id: UUID, difference: int, *, limit: int) -> bool:
    """Return False if the total would exceed `limit`, also for concurrent uploads.

    A transaction updates the account's row last: transactions that have locked links or domains wait for it.
    """
    if difference == 0:
        return True
    condition = _accounts.id == account_id
    if difference > 0:
        condition &= _accounts.image_bytes + difference <= limit
    statement = update(accounts).where(condition).values(image_bytes=_accounts.image_bytes + difference)
    return (await tx.execute(statement)).rowcount > 0


def account_from(account_id: UUID, email: str, name: str, *columns: Any) -> Account:
    """Make an account of the columns `ACCOUNT`."""
    plan, others = columns[: len(_PLAN)], columns[len(_PLAN) :]
    return Account(account_id, email, name, Plan(*plan), *others)


def _where_not_deleted(account_id: UUID) -> tuple[ColumnElement[bool], ...]:
    return _accounts.id == account_id, _accounts.deleted_at.is_(None)


def _plan_values(plan: Plan) -> dict[str, Any]:
    times = {"trial_ends_at": plan.trial_ends_at, "renews_at": plan.renews_at}
    return {"plan_type": plan.type, "plan_status": plan.status, **times}
