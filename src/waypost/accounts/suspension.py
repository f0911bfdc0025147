"""Suspended accounts: their links do not redirect and their keys are refused, but nothing is deleted."""

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Column, ColumnElement, func, literal, select, update

from waypost.accounts.model import Account, accounts
from waypost.accounts.store import ACCOUNT, account_from
from waypost.database import Instant, Tx
from waypost.kit.errors import Invalid, or_not_found

MAX_REASON = 500

NOT_SUSPENDED = "NOT EXISTS (SELECT 1 FROM accounts WHERE accounts.id = {} AND accounts.suspended_at IS NOT NULL)"
"""SQL condition for statements that are written as text, with the column of the account's id for `{}`."""


def is_suspended(account_id: Column[Any]) -> ColumnElement[bool]:
    """SQL condition: the account with this id is suspended."""
    return select(accounts.c.id).where(accounts.c.id == account_id, accounts.c.suspended_at.is_not(None)).exists()


def check_reason(text: str) -> str:
    """Return the reason that members and owners of links see. Raises Invalid."""
    reason = text.strip()
    if not reason or len(reason) > MAX_REASON or not reason.isprintable():
        raise Invalid({"reason": [f"This must be a line of 1 to {MAX_REASON} characters."]})
    return reason


def message(account: Account, contact: str) -> str:
    """Return the message for members of the account and users of its keys. `contact`: an email address, or empty."""
    whom = f"Contact {contact}." if contact else "Contact the administrator of this service."
    reason = account.suspended_reason or ""
    return f"This account is suspended: {reason}{'' if reason.endswith(('.', '!', '?')) else '.'} {whom}"


async def suspend(tx: Tx, account_id: UUID, reason: str, now: datetime) -> Account:
    """Suspend the account, or change the reason. Raises NotFound. Call it in `changing_callers`."""
    since = func.coalesce(accounts.c.suspended_at, literal(now, Instant))
    return await _change(tx, account_id, suspended_at=since, suspended_reason=reason)


async def resume(tx: Tx, account_id: UUID) -> Account:
    """Raises NotFound. Call it in `changing_callers`."""
    return await _change(tx, account_id, suspended_at=None, suspended_reason=None)


async def _change(tx: Tx, account_id: UUID, **values: Any) -> Account:
    statement = update(accounts).where(accounts.c.id == account_id, accounts.c.deleted_at.is_(None)).values(values)
    return or_not_found(await tx.find(account_from, statement.returning(*ACCOUNT)))
