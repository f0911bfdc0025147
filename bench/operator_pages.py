"""The operator's pages with 10,000 accounts and as many reported links, measured like the pages of `bench.pages`."""

import asyncio
import contextlib
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import insert, select, update

from bench.click_store import vacuum
from bench.client import percentile
from bench.pages import Page, page_times
from bench.report import Row, measured
from bench.run import Run
from bench.seed import add_links, new_account
from bench.servers import on_all_cores, waypost
from waypost.accounts import operators
from waypost.accounts.model import accounts, memberships, people
from waypost.accounts.sessions import store as sessions
from waypost.database import Database
from waypost.database.migrations import migrate
from waypost.kit.clock import now
from waypost.kit.ids import new_id
from waypost.redirect.report_pages import LinkReport
from waypost.resources.reports import store as reports

_ACCOUNTS = 10_000
_REPORT = LinkReport("phishing", "It asks for the password of my bank.", "")
_BATCH = 1_000


@dataclass(frozen=True)
class _Installation:
    database: str
    url: str
    account: UUID
    link: UUID
    cookie: str


def measure(run: Run) -> list[Row]:
    with on_all_cores():
        seeded = [asyncio.run(_seed(name, run.new_url(name))) for name in ("SQLite", "PostgreSQL")]
    return [row for installation in seeded for row in _rows(run, installation)]


def _rows(run: Run, installation: _Installation) -> list[Row]:
    with waypost(installation, run.new_directory()) as server:
        return [
            measured(
                f"operator's page: {page.name}, p95 on {installation.database}",
                percentile(times, 95),
                f"{_ACCOUNTS:,} accounts, {_ACCOUNTS:,} reported links; p50 {percentile(times, 50):.1f} ms",
                " ms",
            )
            for page in _pages(installation)
            if (times := page_times(server.port, installation.cookie, page))
        ]


def _pages(installation: _Installation) -> list[Page]:
    return [
        Page("/operator", "newest accounts"),
        Page(f"/operator?after={installation.account}", "accounts, middle page"),
        Page("/operator?sort=email", "accounts by email"),
        Page("/operator?sort=links", "accounts by links"),
        Page("/operator?search=user+042", "accounts, search matching few"),
        Page("/operator?search=nobody", "accounts, search matching none"),
        Page("/operator/reports", "reports"),
        Page(f"/operator/links/{installation.link}", "a link"),
    ]


async def _seed(name: str, url: str) -> _Installation:
    db = Database(url)
    await migrate(db)
    account = await new_account(db, "operator")
    links = await add_links(db, account, _ACCOUNTS)
    await _add_accounts(db)
    for start in range(0, len(links), _BATCH):
        async with db.write() as tx:
            for offset, link in enumerate(links[start : start + _BATCH]):
                await reports.add(tx, link, account, _REPORT, now() + timedelta(milliseconds=start + offset))
    person = await operators.set_operator(db, "operator@example.com", now(), is_operator=True)
    async with db.write() as tx:
        token = await sessions.create(tx, person.id, user_agent="bench", ip="127.0.0.1", now=now())
    async with db.read() as tx:
        middle = (await tx.scalars(select(accounts.c.id).order_by(accounts.c.id).offset(_ACCOUNTS // 2).limit(1))).one()
    await db.close()
    with contextlib.suppress(ValueError):
        vacuum(url)
    return _Installation(name, url, middle, links[0], f"waypost={token}")


async def _add_accounts(db: Database) -> None:
    at = now() - timedelta(days=1)
    for start in range(1, _ACCOUNTS, _BATCH):
        async with db.write() as tx:
            rows = [_row(number, at + timedelta(seconds=number)) for number in range(start, start + _BATCH)]
            await tx.execute(insert(people), [{**row, "is_operator": False} for row in rows])
            await tx.execute(insert(accounts), [{**row, "plan_type": "lifetime"} for row in rows])
            members = [(row["id"], row["created_at"]) for row in rows]
            await tx.execute(
                insert(memberships),
                [{"account_id": id_, "person_id": id_, "role": "owner", "created_at": at} for id_, at in members],
            )
    async with db.write() as tx:
        await tx.execute(update(accounts).values(updated_at=at))


def _row(number: int, at: Any) -> dict[str, Any]:
    dates = {"created_at": at, "updated_at": at}
    return {"id": new_id(), "email": f"user{number:05}@example.com", "name": f"User {number:05}", **dates}
