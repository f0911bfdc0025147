"""The routing of links as it is stored, and as redirects read it."""

from dataclasses import replace
from datetime import UTC, datetime

from sqlalchemy import insert, select

from waypost.database import Database
from waypost.kit.ids import new_id
from waypost.resources.links import routing
from waypost.resources.links.model import link_clicks
from waypost.resources.links.routing import LinkRouting, RouteColumns, read_route_columns

NOW = datetime(2026, 11, 23, tzinfo=UTC)
CONDITION = {"type": "query", "operator": "in", "name": "é", "values": ['quo"te\\', "{x},", "😀", "NULL", ""]}


def example() -> LinkRouting:
    return LinkRouting(
        link_id=new_id(),
        account_id=new_id(),
        updated_at=NOW,
        checked_at=NOW,
        rules=[
            {"name": "iPhone", "conditions": [CONDITION], "destination_url": "https://a.example/"},
            {"name": "b", "conditions": [CONDITION], "destination_url": "https://b.example/"},
        ],
        variants=[{"name": "B", "destination_url": "https://b.example/", "weight": 50}],
        fallback_url="https://c.example/",
        password_hash="$argon2id$x",
        password_version=2**40,
    )


async def test_stores_and_replaces_a_routing(db: Database) -> None:
    first = example()
    empty = LinkRouting(first.link_id, first.account_id, NOW, NOW)
    for stored in (first, replace(first, unsafe_urls=["https://b.example/"]), empty):
        async with db.write() as tx:
            await routing.save(tx, stored)
            assert normal(await routing.find(tx, first.link_id)) == normal(stored)
    assert "argon2" not in repr(first)


async def test_stores_many_and_deletes_those_of_links(db: Database) -> None:
    many = [example(), replace(example(), rules=[], fallback_url=None, password_hash=None, password_version=None)]
    ids = [one.link_id for one in many]
    async with db.write() as tx:
        await routing.add_many(tx, [replace(many[0], rules=[]), many[1]])
        await routing.add_many(tx, many)
    async with db.write() as tx:
        found = await routing.find_of_links(tx, [*ids, new_id()])
        assert {id_: normal(one) for id_, one in found.items()} == {one.link_id: normal(one) for one in many}
        await routing.delete_of_links(tx, ids[:1])
        assert (await routing.find_of_links(tx, ids)).keys() == set(ids[1:])


async def test_a_route_gets_no_unsafe_destinations(db: Database) -> None:
    stored, plain = replace(example(), unsafe_urls=["https://b.example/", "https://c.example/"]), new_id()
    counters = [{"link_id": id_, "account_id": stored.account_id, "clicks": 0} for id_ in (stored.link_id, plain)]
    query = routing.join_routing(select(link_clicks.c.link_id), link_clicks.c.link_id)
    async with db.write() as tx:
        await tx.execute(insert(link_clicks), counters)
        await routing.save(tx, stored)
        found = {row[0]: read_route_columns(row[1:-1]) for row in await tx.execute(query)}
    assert found == {
        stored.link_id: RouteColumns(stored.rules[:1], [], None, 2**40),
        plain: RouteColumns([], [], None, None),
    }


def normal(stored: LinkRouting | None) -> LinkRouting | None:
    return stored and replace(
        stored, rules=list(stored.rules), variants=list(stored.variants), unsafe_urls=list(stored.unsafe_urls)
    )
