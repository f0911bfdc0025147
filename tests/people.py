"""Alice and Bob, each with an account and a key: what most tests of the API begin with."""

import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

import httpx
from starlette.routing import BaseRoute

from waypost.accounts import PlanChoice, create_account, create_key, open_limiters
from waypost.database import Database, KeyRing
from waypost.web import Guard, new_api
from waypost.web.endpoint import Group

BASE_URL = "http://app.test"
KEY_RING = KeyRing(["a secret key of the tests"])
START = datetime(2030, 1, 1, 12, tzinfo=UTC)


class FakeClock:
    """A clock for tests that only moves when it is set."""

    def __init__(self, at: datetime = START) -> None:
        self.at = at

    def __call__(self) -> datetime:
        return self.at

    def move(self, by: timedelta) -> None:
        self.at += by


@dataclass(frozen=True)
class Person:
    account_id: UUID
    key_id: UUID
    key: str

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.key}", "Accept": "application/json"}


async def new_person(
    db: Database,
    name: str,
    *,
    plan: PlanChoice = "lifetime",
    scopes: Sequence[str] = (),
    now: datetime = START,
    expires_at: datetime | None = None,
) -> Person:
    """`new_person(db, "alice")`: alice@example.com with a key; no scope named means all."""
    email = f"{name.lower()}@example.com"
    account = await create_account(db, email=email, name=name, plan=plan, now=now, trial_days=14)
    return await new_key(db, account.id, scopes=scopes, now=now, expires_at=expires_at)


async def new_key(
    db: Database,
    account_id: UUID,
    *,
    scopes: Sequence[str] = (),
    now: datetime = START,
    expires_at: datetime | None = None,
) -> Person:
    key, text = await create_key(db, account_id=account_id, name="tests", scopes=scopes, expires_at=expires_at, now=now)
    return Person(account_id, key.id, text)


@contextlib.asynccontextmanager
async def new_client(
    db: Database,
    data_dir: Path,
    *groups: Group,
    routes: Sequence[BaseRoute] = (),
    clock: Callable[[], datetime] = FakeClock(),  # noqa: B008  # nobody moves it
    base_url: str = BASE_URL,
) -> AsyncIterator[httpx.AsyncClient]:
    """A client of an API with these endpoints, without a socket between."""
    limiters = open_limiters(db, data_dir)
    app = new_api(Guard(db, limiters, KEY_RING, base_url=base_url, clock=clock), groups, routes)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=base_url) as client:
        yield client
    await limiters.close()
