"""Exports an account itself, with its keys and members."""

import json
from collections.abc import AsyncIterator
from datetime import datetime

from waypost.accounts import list_keys
from waypost.accounts.data.archive.parts import Files, Part
from waypost.accounts.keys import schemas
from waypost.accounts.members import store as memberships
from waypost.accounts.model import Account
from waypost.context import Context
from waypost.kit.clock import timestamp


def export(context: Context, account: Account, now: datetime) -> Files:
    return {"account.json": _account(context, account, now)}


async def _account(context: Context, account: Account, now: datetime) -> AsyncIterator[Part]:
    db = context.db
    async with db.read() as tx:
        members = await memberships.list_of_account(tx, account.id)
    shown = {
        "id": str(account.id),
        "email": account.email,
        "name": account.name,
        "plan": schemas.plan_to_json(account.plan, now),
        "created_at": timestamp(account.created_at),
        "api_keys": [schemas.key_to_json(key) for key in await list_keys(db, account.id)],
        "members": [
            {"name": member.person.name, "email": member.person.email, "role": member.role} for member in members
        ],
    }
    yield Part((json.dumps(shown, ensure_ascii=False, indent=2) + "\n").encode())
