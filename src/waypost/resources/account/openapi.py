"""What the OpenAPI document tells of an account and its keys. Describes; no request comes here."""

from datetime import datetime
from uuid import UUID

from pydantic import BaseModel

from waypost.auth import Scope
from waypost.auth.model import PlanType
from waypost.web.openapi import One, endpoint


class Plan(BaseModel):
    type: PlanType
    status: str | None
    active: bool
    trial_ends_at: datetime | None
    renews_at: datetime | None


class Key(BaseModel):
    id: UUID
    name: str
    prefix: str
    scopes: list[Scope]
    last_used_at: datetime | None
    expires_at: datetime | None
    created_at: datetime


class ListedKey(Key):
    revoked_at: datetime | None


class Limits(BaseModel):
    requests_per_minute: int


class Me(BaseModel):
    id: UUID
    name: str
    email: str
    created_at: datetime
    plan: Plan
    token: Key
    limits: Limits
    shared_domain: str


ME = endpoint("Get the account", "With its plan, and the key that asks.", shows=One[Me])
TOKENS = endpoint(
    "List API keys",
    "Newest first, expired and revoked ones included. The keys themselves are never shown again.",
    shows=One[list[ListedKey]],
)
