"""Aliases in bulk, as imports write and exports read them."""

from dataclasses import replace
from datetime import UTC, datetime

from waypost.database import Database
from waypost.kit.ids import new_id
from waypost.resources.domains import store as domain_store
from waypost.resources.domains.deletion import delete_rows
from waypost.resources.domains.model import Domain
from waypost.resources.links import aliases
from waypost.resources.links.aliases import Alias

NOW = datetime(2026, 11, 23, tzinfo=UTC)
PATHS = ["sale", "Sale", "a/b", 'quo"te\\', "{braces},", "😀", "é", "e\u0301", "100%", " ", "x" * 1024, "😀" * 1024]


async def test_writes_and_finds_aliases_of_any_path(db: Database) -> None:
    account, domain = new_id(), Domain.new(new_id(), "go.example.com", NOW)
    links = {(domain.id, path): new_id() for path in PATHS}
    rows = [Alias(new_id(), account, link, domain.id, domain.hostname, path, NOW) for (_, path), link in links.items()]
    async with db.write() as tx:
        await domain_store.add(tx, domain)
        await aliases.add_many(tx, rows[:6])
        assert await aliases.find_links(tx, links) == dict(list(links.items())[:6])
        others = [Alias(new_id(), account, new_id(), domain.id, domain.hostname, path, NOW) for path in PATHS[:6]]
        await aliases.add_many(tx, [*others, *rows[6:]])
    async with db.read() as tx:
        assert await aliases.find_links(tx, links) == links
        assert await aliases.find_links(tx, [(new_id(), path) for path in PATHS]) == {}
        assert await aliases.find_of_links(tx, list(links.values())) == {row.link_id: [row] for row in rows}
    async with db.write() as tx:
        await aliases.delete_of_links(tx, list(links.values())[:5])
        assert len(await aliases.find_links(tx, links)) == len(PATHS) - 5


async def test_hides_and_deletes_aliases_of_a_deleted_domain(db: Database) -> None:
    domain, link = Domain.new(new_id(), "go.example.com", NOW), new_id()
    async with db.write() as tx:
        await domain_store.add(tx, domain)
        rows = [Alias(new_id(), new_id(), link, domain.id, domain.hostname, path, NOW) for path in ("a", "b", "C")]
        assert await aliases.add_many(tx, rows) == 3
        assert await aliases.add_many(tx, [replace(rows[0], id=new_id())]) == 0
        await delete_rows(tx, domain.id)
        assert await aliases.find_of_links(tx, [link]) == {}
        assert await aliases.count(tx, link) == 0
        found = await aliases.find_of_domain(tx, domain.id, 2)
        assert list(found.values()) == [link, link]
        await aliases.delete(tx, found)
        assert len(await aliases.find_of_domain(tx, domain.id, 2)) == 1
