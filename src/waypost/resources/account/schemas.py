"""How an account and its keys are shown. Never a key's text or its digest."""

from datetime import datetime
from typing import Any

from waypost.auth import REQUESTS_PER_MINUTE, ApiKey, KeyHolder, Plan, is_live
from waypost.kit.clock import timestamp


def me(caller: KeyHolder, shared_domain: str, now: datetime) -> dict[str, Any]:
    account = caller.account
    return {
        "id": str(account.id),
        "name": account.name,
        "email": account.email,
        "created_at": timestamp(account.created_at),
        "plan": plan(account.plan, now),
        "token": {name: value for name, value in token(caller.key).items() if name != "revoked_at"},
        "limits": {"requests_per_minute": REQUESTS_PER_MINUTE},
        "shared_domain": shared_domain,
    }


def plan(plan: Plan, now: datetime) -> dict[str, Any]:
    return {
        "type": plan.type,
        "status": plan.status,
        "active": is_live(plan, now),
        "trial_ends_at": _moment(plan.trial_ends_at),
        "renews_at": _moment(plan.renews_at),
    }


def token(key: ApiKey) -> dict[str, Any]:
    return {
        "id": str(key.id),
        "name": key.name,
        "prefix": key.prefix,
        "scopes": list(key.scopes),
        "last_used_at": _moment(key.last_used_at),
        "expires_at": _moment(key.expires_at),
        "revoked_at": _moment(key.revoked_at),
        "created_at": timestamp(key.created_at),
    }


def _moment(at: datetime | None) -> str | None:
    return None if at is None else timestamp(at)
