import secrets
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from identity_provider import CLIENT_ID, CLIENT_SECRET, IdentityProvider, identity_provider, parameters
from people import BASE_URL, FakeClock

from waypost.accounts.auth_deps import new_deps as new_auth_deps
from waypost.accounts.oidc import flow
from waypost.accounts.oidc.deps import Deps, new_deps
from waypost.database import Database
from waypost.secret_key import with_secret_key
from waypost.settings import Settings


@dataclass
class SignIn:
    """A browser on its way."""

    deps: Deps
    http: httpx.AsyncClient
    secret: bytes

    async def start(self, purpose: flow.FlowPurpose = "sign_in", next_path: str = "/links") -> dict[str, str]:
        """Return the parameters with which the provider sends the browser back."""
        url = await flow.start(self.deps, self.secret, purpose, next_path)
        return parameters((await self.http.get(url)).headers["location"])

    async def finish(self, query: dict[str, str]) -> flow.Completed:
        return await flow.finish(self.deps, self.secret, query)

    async def through(self, purpose: flow.FlowPurpose = "sign_in") -> flow.Completed:
        return await self.finish(await self.start(purpose))


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
async def provider(clock: FakeClock) -> AsyncIterator[IdentityProvider]:
    async with identity_provider(clock) as found:
        yield found


@pytest.fixture
def deps(db: Database, provider: IdentityProvider, clock: FakeClock, tmp_path: Path) -> Deps:
    return deps_of(provider, db, clock, tmp_path)


def deps_of(provider: IdentityProvider, db: Database, clock: FakeClock, directory: Path) -> Deps:
    settings = with_secret_key(
        Settings(
            base_url=BASE_URL,
            data_dir=directory,
            oidc_issuer=provider.issuer,
            oidc_client_id=CLIENT_ID,
            oidc_client_secret=CLIENT_SECRET,  # type: ignore[arg-type]
            oidc_roles=["marketing=editor", "it=admin", "cn=boss=owner"],
            oidc_account="owner@example.com",
        )
    )
    return new_deps(settings, new_auth_deps(settings, db, clock))


@pytest.fixture
async def sign_in(deps: Deps) -> AsyncIterator[SignIn]:
    async with httpx.AsyncClient(trust_env=False, timeout=60) as http:
        yield SignIn(deps, http, secrets.token_bytes(32))
