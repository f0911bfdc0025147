"""Migration 0064: links and aliases of before have near addresses, apart from slugs that look generated."""

from importlib import import_module

from alembic.migration import MigrationContext
from alembic.operations import Operations
from domains import domain
from people import START, new_person
from resources.links.added import add_links
from sqlalchemy import Connection, null, select, update

from waypost.database import Database
from waypost.kit.ids import new_id
from waypost.resources.links import Link, aliases
from waypost.resources.links.aliases.model import Alias, link_aliases
from waypost.resources.links.aliases.rules import folded_digest
from waypost.resources.links.model import links

CHOSEN = [
    "Sale",
    "sale-24",
    "SUMMERS",
    "summers",
    "Summers",
    "summer2",
    "SALE234",
    "sOmethinglong",
    "foo_bar",
    "x1Il0Oa",
]
GENERATED = ["aB3dEfG", "Xk9mPq2", "MyEvent", "aB3dEfGh", "a2b3c4d"]


def _migrate(connection: Connection) -> None:
    migration = import_module("waypost.database.migrations.versions.0064_near_addresses")
    with Operations.context(MigrationContext.configure(connection)):
        migration._fold_slugs(is_postgresql=connection.dialect.name == "postgresql")
        migration._fold_aliases()


async def test_folds_what_people_chose(db: Database) -> None:
    ada = await new_person(db, "ada")
    domain_id = await domain(db, ada.account_id, "go.brand.test")
    made = [Link(new_id(), ada.account_id, START, START, slug=slug) for slug in CHOSEN + GENERATED]
    paths = ["Straße", "summer/SALE"] + [f"A{number}" for number in range(5)]
    async with db.write() as tx:
        await add_links(tx, made)
        new = [Alias(new_id(), ada.account_id, made[0].id, domain_id, "go.brand.test", path, START) for path in paths]
        await aliases.add_many(tx, new)
        await tx.execute(update(links).values(folded_slug=null()))
        await tx.execute(update(link_aliases).values(folded=null()))
    import_module("waypost.database.migrations.versions.0064_near_addresses")._BATCH = 3
    await db.run_sync(_migrate)
    async with db.read() as tx:
        found = {row.slug: row.folded_slug for row in await tx.execute(select(links.c.slug, links.c.folded_slug))}
        folded = {row.path: row.folded for row in await tx.execute(select(link_aliases.c.path, link_aliases.c.folded))}
    assert found == {slug: slug.lower() for slug in CHOSEN} | dict.fromkeys(GENERATED)
    assert folded == {path: folded_digest(path) for path in paths}
