"""Pages over HTTP without a browser: the application of a web process, and signed-in users."""

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import httpx
from jinja2 import BytecodeCache, Environment
from jinja2.bccache import Bucket
from people import FakeClock
from sqlalchemy import update

from waypost.accounts import Account, Person, create_account, get_person
from waypost.accounts.members import store as memberships
from waypost.accounts.model import Role
from waypost.accounts.sessions import store as sessions
from waypost.database import Database
from waypost.secret_key import with_secret_key
from waypost.settings import Settings
from waypost.web_app import open_full_app

BASE_URL = "http://app.test"
SAME_ORIGIN = {"Sec-Fetch-Site": "same-origin"}


class CompiledTemplates(BytecodeCache):
    """To compile the templates of a page takes each new application 0.1 s, so all of a process share them."""

    def __init__(self) -> None:
        self._compiled: dict[str, bytes] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        if bucket.key in self._compiled:
            bucket.bytecode_from_string(self._compiled[bucket.key])

    def dump_bytecode(self, bucket: Bucket) -> None:
        self._compiled[bucket.key] = bucket.bytecode_to_string()


COMPILED = CompiledTemplates()


@dataclass
class Browser:
    """The client of one user, with its cookies."""

    client: httpx.AsyncClient
    account: Account | None
    person: Person | None = None

    async def get(self, path: str, **rest: Any) -> httpx.Response:
        return await self.client.get(path, **rest)

    async def post(self, path: str, fields: dict[str, Any] | None = None, **rest: Any) -> httpx.Response:
        """Submit a form from a page of the service."""
        headers = SAME_ORIGIN | rest.pop("headers", {})
        if not fields and not rest:  # httpx sends no form then, but browsers do
            headers = {"Content-Type": "application/x-www-form-urlencoded"} | headers
        return await self.client.post(path, data=fields or {}, headers=headers, **rest)


@dataclass
class WebApp:
    """A service with a dashboard."""

    db: Database
    site: Any
    clock: FakeClock
    settings: Settings
    stack: contextlib.AsyncExitStack

    async def browser(self, email: str | None = None, *, plan: Any = "lifetime") -> Browser:
        """Signed in as somebody new, or without an address as nobody."""
        transport = httpx.ASGITransport(self.site)
        client = await self.stack.enter_async_context(httpx.AsyncClient(transport=transport, base_url=BASE_URL))
        if email is None:
            return Browser(client, None)
        now, name = self.clock(), email.partition("@")[0]
        account = await create_account(self.db, email=email, name=name, plan=plan, now=now, trial_days=14)
        person = await get_person(self.db, email)
        async with self.db.write() as tx:
            token = await sessions.create(tx, person.id, user_agent="a test", ip="127.0.0.1", now=now)
        client.cookies.set("waypost", token, domain="app.test")
        return Browser(client, account, person)

    async def member(self, email: str, account: Account, role: Role) -> Browser:
        """Signed in as a new member of the account, which the session shows."""
        browser = await self.browser(email)
        async with self.db.write() as tx:
            await memberships.add(tx, account.id, browser.person.id, role, self.clock())
            shown = update(sessions.sessions).where(sessions.sessions.c.person_id == browser.person.id)
            await tx.execute(shown.values(account_id=account.id))
        return Browser(browser.client, account, browser.person)

    async def authenticate_all(self) -> None:
        """Let each session count as recently authenticated."""
        async with self.db.write() as tx:
            await tx.execute(update(sessions.sessions).values(authenticated_at=self.clock()))


@contextlib.asynccontextmanager
async def open_place(database_url: str, tmp_path: Path, **settings: Any) -> AsyncIterator[WebApp]:
    """`database_url`: of a database with the current schema."""
    given = {"base_url": BASE_URL, "database_url": database_url, "data_dir": tmp_path / "data"} | settings
    chosen, clock = with_secret_key(Settings(**given)), FakeClock()
    async with contextlib.AsyncExitStack() as stack:
        stack.enter_context(mock.patch("jinja2.Environment", partial(Environment, bytecode_cache=COMPILED)))
        web = await stack.enter_async_context(open_full_app(chosen, clock=clock))
        yield WebApp(web.db, web.app, clock, chosen, stack)
