"""Lists whose length is counted only so far, as pages show them."""

from datetime import timedelta
from typing import Any, get_args
from uuid import UUID

import pytest
from resources.links.env import Env
from sqlalchemy import Select, update

from waypost.database import Database
from waypost.kit.pagination import PageRequest
from waypost.resources.links import lists, trigrams
from waypost.resources.links.lists import Wanted
from waypost.resources.links.model import link_clicks
from waypost.resources.links.rules import Order

WANTED = [
    Wanted(),
    Wanted(search="PAGE"),
    Wanted(search="Number 3"),
    Wanted(search="nowhere"),
    Wanted(tag="all"),
    Wanted(tag="few"),
    Wanted(tag="none"),
    Wanted(status="active"),
    Wanted(status="inactive"),
    Wanted(hostname="go.elsewhere.example"),
    Wanted(on_shared_domain=True),
    Wanted(search="number", tag="all", status="active", on_shared_domain=True),
]


async def fill(env: Env, db: Database) -> None:
    for number in range(8):
        link = await env.make(
            title=f"Number {number * 5 % 8}",
            tags=["all", "few"] if number % 4 == 0 else ["all"],
            status="inactive" if number % 4 == 1 else "active",
            expires_at=(env.clock() + timedelta(hours=1)).isoformat() if number % 4 == 2 else None,
        )
        if number % 3:
            async with db.write() as tx:
                its = update(link_clicks).where(link_clicks.c.link_id == UUID(link["id"]))
                await tx.execute(its.values(clicks=number % 5))
        env.clock.move(timedelta(minutes=number % 2))
    await env.make(env.bob, title="Number 3", tags=["all", "few"])
    gone = await env.make(title="Number 9", tags=["all", "few"])
    assert (await env.delete(gone)).status_code == 204
    env.clock.move(timedelta(hours=2))


@pytest.mark.parametrize(  # on SQLite, few links are searched without its index of trigrams
    ("database_url", "scanned"),
    [("sqlite", -1), ("sqlite", 5_000), ("postgresql", 5_000)],
    indirect=["database_url"],
)
async def test_they_hold_what_lists_hold_that_are_counted_to_their_end(
    env: Env, db: Database, scanned: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trigrams, "_SCANNED", scanned)
    await fill(env, db)
    account = env.alice.account_id
    for wanted in WANTED:
        for order in get_args(Order):
            for request in (PageRequest(1, 3), PageRequest(2, 3), PageRequest(9, 3)):
                given = account, wanted, request, env.clock(), order
                async with db.read() as tx:
                    found, total = await lists.page(tx, *given)
                    for most in (3, 100):
                        shown, counted = await lists.page(tx, *given, most)
                        assert shown == found
                        assert counted == total or counted > most, (wanted, order, request)


@pytest.mark.parametrize("number", [3, 8])
async def test_what_is_counted_is_bounded(env: Env, db: Database, number: int) -> None:
    await fill(env, db)
    async with db.read() as tx:
        for wanted, total in ((Wanted(tag="all"), 8), (Wanted(search="page"), 8), (Wanted(on_shared_domain=True), 8)):
            given = env.alice.account_id, wanted, PageRequest(1, 2), env.clock()
            assert (await lists.page(tx, *given, most=number))[1] == min(total, number + 1)
            assert (await lists.page(tx, *given))[1] == total


async def plan(db: Database, statement: Select[Any]) -> list[str]:
    """SQLite's."""
    async with db.read() as tx:
        compiled = statement.compile(dialect=tx.dialect)
        nothing = (None,) * len(compiled.params)
        return [row.detail for row in await tx.exec_driver_sql(f"EXPLAIN QUERY PLAN {compiled}", nothing)]


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)  # PostgreSQL reads so few rows all
@pytest.mark.parametrize("order", get_args(Order))
@pytest.mark.parametrize("wanted", [Wanted(), Wanted(tag="all"), Wanted(status="active")])
async def test_nothing_is_sorted(env: Env, db: Database, order: Order, wanted: Wanted) -> None:
    given = env.alice.account_id, wanted, env.clock(), "sqlite"
    ids = lists._Ids(*given, tag_leads=False, rarest=[], searched=None, are_common=True)
    steps = await plan(db, ids.ordered(order))
    assert steps
    assert not [step for step in steps if "TEMP B-TREE" in step]


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize("order", get_args(Order))
@pytest.mark.parametrize(
    "wanted", [Wanted(search="rare"), Wanted(search="rare", tag="all"), Wanted(search="rare", hostname="a.example")]
)
async def test_what_is_searched_for_leads_where_it_is_rare(
    env: Env, db: Database, order: Order, wanted: Wanted
) -> None:
    ids = lists._Ids(env.alice.account_id, wanted, env.clock(), "sqlite", tag_leads=False, rarest=[], searched=[1])
    of_links = [step for step in await plan(db, ids.ordered(order)) if " links " in f"{step} "]
    assert {*of_links} == {"SEARCH links USING INDEX sqlite_autoindex_links_1 (id=?)"}
