"""The JSON of an account and its keys, without the keys' text or digest."""

from datetime import datetime
from typing import cast

from typing_extensions import TypedDict

from waypost.accounts import REQUESTS_PER_MINUTE, ApiCaller, ApiKey, Plan, Scope, is_plan_active
from waypost.accounts.model import PlanType
from waypost.kit.clock import timestamp
from waypost.kit.fields import EmailText, IdText, TimestampText


class PlanJson(TypedDict):
    type: PlanType
    status: str | None
    active: bool
    trial_ends_at: TimestampText | None
    renews_at: TimestampText | None


class ApiKeyJson(TypedDict):
    id: IdText
    name: str
    prefix: str
    scopes: list[Scope]
    last_used_at: TimestampText | None
    expires_at: TimestampText | None
    created_at: TimestampText


class ListedApiKeyJson(ApiKeyJson):
    revoked_at: TimestampText | None


class LimitsJson(TypedDict):
    requests_per_minute: int


class MeJson(TypedDict):
    id: IdText
    name: str
    email: EmailText
    created_at: TimestampText
    plan: PlanJson
    token: ApiKeyJson
    limits: LimitsJson
    shared_domain: str


def me_to_json(caller: ApiCaller, shared_domain: str, now: datetime) -> MeJson:
    account = caller.account
    key = {name: value for name, value in key_to_json(caller.key).items() if name != "revoked_at"}
    return {
        "id": str(account.id),
        "name": account.name,
        "email": account.email,
        "created_at": timestamp(account.created_at),
        "plan": plan_to_json(account.plan, now),
        "token": cast("ApiKeyJson", key),
        "limits": {"requests_per_minute": REQUESTS_PER_MINUTE},
        "shared_domain": shared_domain,
    }


def plan_to_json(plan: Plan, now: datetime) -> PlanJson:
    return {
        "type": plan.type,
        "status": plan.status,
        "active": is_plan_active(plan, now),
        "trial_ends_at": _moment(plan.trial_ends_at),
        "renews_at": _moment(plan.renews_at),
    }


def key_to_json(key: ApiKey) -> ListedApiKeyJson:
    return {
        "id": str(key.id),
        "name": key.name,
        "prefix": key.prefix,
        "scopes": cast("list[Scope]", list(key.scopes)),
        "last_used_at": _moment(key.last_used_at),
        "expires_at": _moment(key.expires_at),
        "revoked_at": _moment(key.revoked_at),
        "created_at": timestamp(key.created_at),
    }


def _moment(at: datetime | None) -> str | None:
    return None if at is None else timestamp(at)
