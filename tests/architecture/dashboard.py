"""The dashboard of Ada, who has some of everything, and accounts with a signed-in member of each role."""

import contextlib
import shutil
from collections.abc import AsyncIterator
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from ipaddress import ip_network
from pathlib import Path
from uuid import UUID

import httpx
from architecture.running import BASE_URL
from browser.furnished import SeededService, furnish
from sqlalchemy import delete, insert, update

from waypost.auth import create_account, get_person, sessions
from waypost.auth.model import ROLES, Role, memberships, people
from waypost.database import Database
from waypost.kit.ids import new_id
from waypost.settings import Settings
from waypost.web.dashboard.pages import PageRoute
from waypost.web_app import open_full_app

EMPTY_FORM = {"Sec-Fetch-Site": "same-origin", "Content-Type": "application/x-www-form-urlencoded"}


@dataclass(frozen=True)
class Member:
    person: UUID
    cookie: str


@dataclass(frozen=True)
class Team:
    account: UUID
    members: dict[Role, Member]
    former: Member


async def new_team(db: Database, account: UUID | None = None) -> Team:
    """In a new account unless one is given."""
    now, email = datetime.now(UTC), f"{new_id()}@example.com"
    made = await create_account(db, email=email, name="Template", plan="lifetime", now=now, trial_days=14)
    account = account or made.id
    template = await get_person(db, email)
    members = {}
    async with db.write() as tx:
        for role in (*ROLES, "former"):
            person = new_id()
            values = asdict(replace(template, id=person, email=f"{person}@example.com", name=f"A {role}"))
            await tx.execute(insert(people).values(values))
            row = {"account_id": account, "person_id": person, "role": role, "created_at": now}
            await tx.execute(insert(memberships), row)
            cookie = await sessions.create(tx, person, account_id=account, user_agent="a test", ip="127.0.0.1", now=now)
            members[role] = Member(person, cookie)
        former = members.pop("former")
        await tx.execute(delete(memberships).where(memberships.c.person_id == former.person))
    return Team(account, members, former)


async def set_role(db: Database, account: UUID, person: UUID, role: Role) -> None:
    of = memberships.c
    async with db.write() as tx:
        await tx.execute(update(memberships).where(of.account_id == account, of.person_id == person).values(role=role))


class Dashboard:
    def __init__(self, client: httpx.AsyncClient, db: Database, routes: list[PageRoute], seeded: SeededService) -> None:
        self.client = client
        self.db = db
        self.routes = routes
        self.seeded = seeded

    async def ask(self, route: PageRoute, path: str, member: Member | None) -> httpx.Response:
        (method,) = route.methods - {"HEAD"}
        cookie = {"Cookie": f"waypost={member.cookie}"} if member else {}
        return await self.client.request(method, path, headers=EMPTY_FORM | cookie)


@contextlib.asynccontextmanager
async def open_dashboard(directory: Path, template: Path) -> AsyncIterator[Dashboard]:
    shutil.copy(template, directory / "waypost.db")
    seeded = await furnish(directory, BASE_URL)
    settings = Settings(
        data_dir=directory, base_url=BASE_URL, outbound_allow=[ip_network("127.0.0.0/8")], secret_key="a key"
    )
    async with open_full_app(settings) as web:
        transport = httpx.ASGITransport(web.app)
        async with httpx.AsyncClient(transport=transport, base_url=BASE_URL) as client:
            routes = [route for route in web.app.app.dashboard.routes if isinstance(route, PageRoute)]
            yield Dashboard(client, web.db, routes, seeded)


def named(route: PageRoute) -> str:
    return f"{'/'.join(sorted(route.methods - {'HEAD'}))} {route.path}"
