"""Lists of links: exact ones, bounded ones, and the plans that find them."""

from datetime import timedelta
from typing import Any, get_args
from uuid import UUID

import pytest
from resources.links.env import Env
from sqlalchemy import Select, update

from waypost.database import Database
from waypost.kit.ids import new_id
from waypost.kit.pagination import PageRequest
from waypost.resources.links.lists import listing, trigrams
from waypost.resources.links.lists.query import (
    AccessPath,
    LinkFilter,
    ListPlan,
    ListQuery,
    ListStatistics,
    Order,
    plan_list,
)
from waypost.resources.links.model import Link, link_clicks

FILTERS = [
    LinkFilter(),
    LinkFilter(search="PAGE"),
    LinkFilter(search="Number 3"),
    LinkFilter(search="nowhere"),
    LinkFilter(search="r "),
    LinkFilter(search="3"),
    LinkFilter(search="q!"),
    LinkFilter(search="3", tag="all"),
    LinkFilter(tag="all"),
    LinkFilter(tag="few"),
    LinkFilter(tag="none"),
    LinkFilter(status="active"),
    LinkFilter(status="inactive"),
    LinkFilter(hostname="go.elsewhere.example"),
    LinkFilter(on_shared_domain=True),
    LinkFilter(search="number", tag="all", status="active", on_shared_domain=True),
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


async def all_links(env: Env, db: Database, filter_: LinkFilter, order: Order = "newest") -> list[Link]:
    """The exact list of the API, sorted in Python."""
    async with db.read() as tx:
        page = await listing.list_with_total(tx, env.alice.account_id, filter_, PageRequest(1, 100), env.clock())
    assert page.total == len(page.items)
    found = list(page.items)
    if order == "clicks":
        found.sort(key=lambda link: (link.clicks, link.id), reverse=True)
    if order == "title":
        found.sort(key=lambda link: link.search_text[:64])
    return found


@pytest.mark.parametrize(  # on SQLite, few links are searched without its index of trigrams
    ("database_url", "scanned", "far"),
    [("sqlite", -1, 5_000), ("sqlite", 5_000, 1), ("postgresql", 5_000, 5_000), ("postgresql", 5_000, 1)],
    indirect=["database_url"],
)
async def test_bounded_pages_hold_the_links_of_exact_lists(
    env: Env, db: Database, scanned: int, far: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trigrams, "_MAX_SCANNED_LINKS", scanned)
    monkeypatch.setattr(listing, "_FAR", far)
    await fill(env, db)
    for filter_ in FILTERS:
        for order in get_args(Order):
            expected = await all_links(env, db, filter_, order)
            for number, limit in ((1, 3), (2, 100), (9, 3)):
                given = env.alice.account_id, filter_, PageRequest(number, 3), env.clock(), order
                async with db.read() as tx:
                    page = await listing.list_with_capped_total(tx, *given, limit=limit)
                assert page.items == expected[number * 3 - 3 : number * 3], (filter_, order, number)
                assert page.total == len(expected) or page.total > limit, (filter_, order, number)


async def test_pages_of_exact_lists_follow_each_other(env: Env, db: Database) -> None:
    await fill(env, db)
    for filter_ in FILTERS:
        expected = await all_links(env, db, filter_)
        for number in (1, 2, 9):
            async with db.read() as tx:
                request = PageRequest(number, 3)
                page = await listing.list_with_total(tx, env.alice.account_id, filter_, request, env.clock())
            assert (page.items, page.total) == (expected[number * 3 - 3 : number * 3], len(expected)), filter_


@pytest.mark.parametrize("limit", [3, 8])
async def test_bounded_pages_count_no_further_than_their_limit(env: Env, db: Database, limit: int) -> None:
    await fill(env, db)
    async with db.read() as tx:
        for filter_ in (LinkFilter(tag="all"), LinkFilter(search="page"), LinkFilter(on_shared_domain=True)):
            given = env.alice.account_id, filter_, PageRequest(1, 2), env.clock(), "newest"
            assert (await listing.list_with_capped_total(tx, *given, limit=limit)).total == min(8, limit + 1)


async def test_ranked_links_come_first_and_the_others_follow(env: Env, db: Database) -> None:
    await fill(env, db)
    everything = await all_links(env, db, LinkFilter())
    ranked = [everything[at].id for at in (4, 1, 6)] + [new_id()]
    for filter_ in FILTERS:
        newest = await all_links(env, db, filter_)
        by_id = {link.id: link for link in newest}
        first = [by_id[id_] for id_ in ranked if id_ in by_id]
        expected = first + [link for link in newest if link not in first]
        for number in (1, 2, 3):
            given = env.alice.account_id, filter_, PageRequest(number, 3), env.clock(), ranked
            async with db.read() as tx:
                page = await listing.list_ranked(tx, *given, limit=100)
            assert (page.items, page.total) == (expected[number * 3 - 3 : number * 3], len(expected)), filter_


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize("filter_", [LinkFilter(), LinkFilter(tag="all", status="active")])
async def test_ranked_links_are_looked_up_by_their_ids(env: Env, db: Database, filter_: LinkFilter) -> None:
    query = ListQuery(env.alice.account_id, filter_, ListStatistics(), env.clock(), "sqlite").among([new_id()])
    async with db.read() as tx:
        compiled = query.compile(dialect=tx.dialect, compile_kwargs={"render_postcompile": True})
        nothing = (None,) * len(compiled.params)
        rows = await tx.exec_driver_sql(f"EXPLAIN QUERY PLAN {compiled}", nothing)
        steps = [row.detail for row in rows]
    assert "SEARCH links USING INDEX sqlite_autoindex_links_1 (id=?)" in steps
    assert not [step for step in steps if step.startswith("SCAN links")]


ALL = {"search": "x", "tag": "a", "hostname": "a.example"}


@pytest.mark.parametrize(
    ("filters", "statistics", "access_path"),
    [
        ({}, ListStatistics(), "newest"),
        ({"status": "active"}, ListStatistics(), "newest"),
        ({"tag": "a"}, ListStatistics(), "newest"),
        ({"hostname": "a.example"}, ListStatistics(), "domain"),
        (ALL, ListStatistics(), "search"),
        (ALL, ListStatistics(is_tag_rare=True), "tag"),
        (ALL, ListStatistics(candidates=[1], is_tag_rare=True), "candidates"),
    ],
)
def test_the_most_selective_filter_chooses_the_access_path(
    filters: dict[str, Any], statistics: ListStatistics, access_path: AccessPath
) -> None:
    filter_ = LinkFilter(**filters)
    assert plan_list(filter_, statistics, "newest", is_match_common=False) == ListPlan(
        access_path, is_sorted_afterwards=False
    )
    for order in ("clicks", "title"):
        plan = plan_list(filter_, statistics, order, is_match_common=False)
        assert plan == ListPlan(access_path, is_sorted_afterwards=True)
        is_selective = access_path in {"candidates", "tag"}
        plan = plan_list(filter_, statistics, order, is_match_common=True)
        assert plan == ListPlan(access_path if is_selective else order, is_sorted_afterwards=is_selective)


async def sqlite_plan(db: Database, statement: Select[Any]) -> list[str]:
    async with db.read() as tx:
        compiled = statement.compile(dialect=tx.dialect)
        nothing = (None,) * len(compiled.params)
        return [row.detail for row in await tx.exec_driver_sql(f"EXPLAIN QUERY PLAN {compiled}", nothing)]


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)  # PostgreSQL reads so few rows all
@pytest.mark.parametrize("order", get_args(Order))
@pytest.mark.parametrize("filter_", [LinkFilter(), LinkFilter(tag="all"), LinkFilter(status="active")])
async def test_common_matches_are_read_in_order_of_an_index(
    env: Env, db: Database, order: Order, filter_: LinkFilter
) -> None:
    query = ListQuery(env.alice.account_id, filter_, ListStatistics(), env.clock(), "sqlite")
    steps = await sqlite_plan(db, query.ids(order, is_match_common=True))
    assert steps
    assert not [step for step in steps if "TEMP B-TREE" in step]


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize("filter_", [LinkFilter(), LinkFilter(tag="all")])
async def test_far_pages_by_clicks_read_no_links(env: Env, db: Database, filter_: LinkFilter) -> None:
    query = ListQuery(env.alice.account_id, filter_, ListStatistics(), env.clock(), "sqlite", is_far=True)
    steps = await sqlite_plan(db, query.ids("clicks", is_match_common=True))
    assert "SEARCH counters USING COVERING INDEX ix_link_clicks_most (account_id=?)" in steps
    assert not [step for step in steps if " links " in f"{step} " or "CORRELATED" in step or "TEMP B-TREE" in step]


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize("order", get_args(Order))
@pytest.mark.parametrize(
    "filter_",
    [LinkFilter(search="rare"), LinkFilter(search="rare", tag="all"), LinkFilter(search="rare", hostname="a.example")],
)
async def test_rare_candidates_are_read_by_id(env: Env, db: Database, order: Order, filter_: LinkFilter) -> None:
    statistics = ListStatistics(candidates=[1])
    query = ListQuery(env.alice.account_id, filter_, statistics, env.clock(), "sqlite")
    of_links = [step for step in await sqlite_plan(db, query.ids(order)) if " links " in f"{step} "]
    assert {*of_links} == {"SEARCH links USING INDEX sqlite_autoindex_links_1 (id=?)"}
