"""The dashboard of Ada, who has some of everything, and accounts with a signed-in member of each role."""

import contextlib
import re
import shutil
from collections.abc import AsyncIterator, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from ipaddress import ip_network
from pathlib import Path
from uuid import UUID

import httpx
from architecture.running import BASE_URL
from browser.furnished import HOSTS, PASSWORD, SeededService, furnish
from sqlalchemy import delete, insert

from waypost.accounts import create_account, create_key, get_person
from waypost.accounts.model import ROLES, Role, memberships, people
from waypost.accounts.sessions import store as sessions
from waypost.database import Database
from waypost.kit.clock import now
from waypost.kit.ids import new_id
from waypost.resources.domains.missed import store as missed_store
from waypost.resources.links.routing import store
from waypost.resources.links.routing.model import LinkRouting
from waypost.settings import Settings
from waypost.web.dashboard.pages import PageRoute
from waypost.web_app import open_full_app

EMPTY_FORM = {"Sec-Fetch-Site": "same-origin", "Content-Type": "application/x-www-form-urlencoded"}


@dataclass(frozen=True)
class Member:
    person: UUID
    email: str
    cookie: str


@dataclass(frozen=True)
class Team:
    account: UUID
    email: str
    """Of the account, unless one was given."""
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
            members[role] = Member(person, values["email"], cookie)
        former = members.pop("former")
        await tx.execute(delete(memberships).where(memberships.c.person_id == former.person))
    return Team(account, email, members, former)


@dataclass(frozen=True)
class Dashboard:
    client: httpx.AsyncClient
    db: Database
    routes: list[PageRoute]
    seeded: SeededService
    ids: Mapping[str, Mapping[str, str]]
    """By beginning of a path: the values of its parameters, of Ada's account. The longest beginning counts."""

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
            await add_routing(web.db, seeded)
            await add_view(client, seeded)
            await add_missed(web.db, seeded)
            yield Dashboard(client, web.db, routes, seeded, await ids_of(client, web.db, seeded))


async def ids_of(client: httpx.AsyncClient, db: Database, seeded: SeededService) -> dict[str, dict[str, str]]:
    missing, account = str(new_id()), seeded.ada.account
    return {
        "/account/": {"id": missing},
        "/account/members/": {"id": str((await get_person(db, account.email)).id)},
        "/account/members/invitations/": {"id": await add_invitation(client, seeded)},
        "/domains/": {"id": seeded.domains[0]},
        "/integrations/api/": {"id": seeded.key},
        "/invite/": {"token": "unknown"},
        "/links/": {"id": seeded.links[0], "alias_id": await add_alias(client, db, seeded)},
        "/links/bulk/": {"id": missing},
        "/links/import/": {"source": "csv"},
        "/links/imports/": {"id": seeded.imports[0]},
        "/operator/": {"id": str(account.id)},
        "/operator/links/": {"id": seeded.links[0]},
        "/stats/reports/": {"id": missing},
        "/stats/views/": {"id": missing},
        "/stats/reports/unsubscribe/": {"token": "unknown"},
        "/shares/": {"id": seeded.shares[0]},
        "/links/utm-templates/": {"id": seeded.utm_template},
        "/share/": {"token": "unknown", "signature": "unknown"},
        "/tags/": {"id": await find_tag(client, seeded)},
        "/pixels/": {"id": seeded.pixels[0]},
        "/webhooks/": {"id": seeded.webhook, "delivery": seeded.deliveries[0]},
    }


async def add_missed(db: Database, seeded: SeededService) -> None:
    async with db.write() as tx:
        await missed_store.add(tx, UUID(seeded.domains[0]), {"/sumer": 2}, now())


async def add_view(client: httpx.AsyncClient, seeded: SeededService) -> None:
    """Which all members see."""
    headers = {"Cookie": f"waypost={seeded.ada.cookie}", **EMPTY_FORM}
    fields = {"name": "Last week", "query": "period=7d", "members": "all"}
    assert (await client.post("/stats/views/new", headers=headers, data=fields)).status_code == 303


async def find_tag(client: httpx.AsyncClient, seeded: SeededService) -> str:
    page = await client.get("/tags", headers={"Cookie": f"waypost={seeded.ada.cookie}"})
    return re.findall(r'"/tags/([0-9a-f-]{36})"', page.text)[0]


async def add_invitation(client: httpx.AsyncClient, seeded: SeededService) -> str:
    headers = {"Cookie": f"waypost={seeded.ada.cookie}", **EMPTY_FORM}
    fields = {"email": "carol@example.com", "role": "viewer", "current_password": PASSWORD}
    await client.post("/account/members/invite", headers=headers, data=fields)
    members = await client.get("/account/members", headers=headers)
    return re.findall(r'"/account/members/invitations/([^"/]+)"', members.text)[0]


async def add_alias(client: httpx.AsyncClient, db: Database, seeded: SeededService) -> str:
    _, key = await create_key(
        db, account_id=seeded.ada.account.id, name="aliases", scopes=["links:write"], now=datetime.now(UTC)
    )
    body = {"hostname": next(iter(HOSTS)), "path": "sale"}
    path, headers = f"/api/v1/links/{seeded.links[0]}/aliases", {"Authorization": f"Bearer {key}"}
    answer = await client.post(path, json=body, headers=headers)
    assert answer.status_code == 201, answer.text
    return answer.json()["data"]["id"]


async def add_routing(db: Database, seeded: SeededService) -> None:
    """With a condition of each kind."""
    here = {"operator": "in"}
    conditions = [
        {"type": "platform", **here, "values": ["iOS", "Android"]},
        {"type": "query", "operator": "not_in", "name": "ref", "values": ["mail"]},
        {"type": "time", **here, "from": "2030-01-01T09:00:00Z", "to": None},
        {"type": "schedule", **here, "weekdays": [1, 5], "from": "09:00", "to": "17:00", "timezone": "Europe/Berlin"},
    ]
    urls = [f"https://www.example.com/{name}" for name in ("app", "b", "later")]
    now, link = datetime.now(UTC), UUID(seeded.links[0])
    routing = LinkRouting(
        link,
        seeded.ada.account.id,
        now,
        now,
        rules=[{"name": "Phones", "conditions": conditions, "destination_url": urls[0]}],
        variants=[{"name": "B", "destination_url": urls[1], "weight": 30}],
        fallback_url=urls[2],
        unsafe_urls=[urls[1]],
    )
    async with db.write() as tx:
        await store.save(tx, routing)


def named(route: PageRoute) -> str:
    return f"{'/'.join(sorted(route.methods - {'HEAD'}))} {route.path}"
