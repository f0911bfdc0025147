"""The JSON of an account and its keys, without the keys' text or digest."""

from datetime import datetime
from typing import Annotated, cast

from typing_extensions import TypedDict

from waypost.accounts import REQUESTS_PER_MINUTE, ApiCaller, ApiKey, Plan, Scope
from waypost.accounts.model import PlanType
from waypost.kit.clock import timestamp
from waypost.kit.docs import doc
from waypost.kit.fields import EmailText, IdText, TimestampText


class PlanJson(TypedDict):
    type: Annotated[PlanType, doc("Type of the plan", "lifetime")]
    status: Annotated[str | None, doc("Status of the subscription; null for other plans", None, "active")]
    active: Annotated[bool, doc("Whether the plan permits requests to the API", True)]
    trial_ends_at: Annotated[
        TimestampText | None, doc("End of the trial; null for other plans", None, "2026-12-04T00:00:00.000000Z")
    ]
    renews_at: Annotated[
        TimestampText | None,
        doc("When the subscription renews; null if it does not", None, "2026-12-20T00:00:00.000000Z"),
    ]


class ApiKeyJson(TypedDict):
    id: Annotated[IdText, doc("ID", "01a1fbb2-1d20-7b6e-9a55-3f0c8e7d6b54")]
    name: Annotated[str, doc("Name", "Deployment")]
    prefix: Annotated[str, doc("First characters of the key", "wp_3fA9")]
    scopes: Annotated[list[Scope], doc("What the key may do", ["links:read", "links:write"])]
    last_used_at: Annotated[
        TimestampText | None, doc("Last request with the key; null if it was never used", "2026-11-23T09:14:02.551203Z")
    ]
    expires_at: Annotated[
        TimestampText | None, doc("Time of expiry; null for never", None, "2030-01-31T12:00:00.000000Z")
    ]
    created_at: Annotated[TimestampText, doc("Time of creation", "2026-11-20T02:56:16.123456Z")]


class ListedApiKeyJson(ApiKeyJson):
    revoked_at: Annotated[
        TimestampText | None, doc("When the key was revoked; null if it is valid", None, "2026-11-22T08:00:00.000000Z")
    ]


class LimitsJson(TypedDict):
    requests_per_minute: Annotated[int, doc("Requests per minute and key", 60)]


class MeJson(TypedDict):
    id: Annotated[IdText, doc("ID", "01a1fbb1-f3a2-7d4f-b0c9-8e7f6a5b4c3d")]
    name: Annotated[str, doc("Name", "Ada Lovelace")]
    email: Annotated[EmailText, doc("Email of the account", "ada@example.com")]
    created_at: Annotated[TimestampText, doc("Time of creation", "2026-11-20T02:56:16.123456Z")]
    plan: Annotated[PlanJson, doc("Plan of the account")]
    token: Annotated[ApiKeyJson, doc("The key of this request")]
    limits: Annotated[LimitsJson, doc("Limits of the account")]
    shared_domain: Annotated[str, doc("Domain of links without a custom domain", "go.example.com")]


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
        "active": plan.is_active(now),
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
