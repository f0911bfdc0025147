"""Migration 0073: links and aliases of before have near addresses, apart from slugs that look generated."""

from functools import partial
from importlib import import_module

import psycopg
import pytest
from alembic.migration import MigrationContext
from alembic.operations import Operations
from domains import domain
from people import START, new_person
from resources.links.added import add_links
from sqlalchemy import ColumnElement, Connection, null, select, update

from waypost.database import Database
from waypost.database.migrations import steps
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
    migration = import_module("waypost.database.migrations.versions.0073_fill_links")
    with Operations.context(MigrationContext.configure(connection)):
        migration.upgrade()


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
async def test_no_batch_keeps_a_lock(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    ada = await new_person(db, "ada")
    async with db.write() as tx:
        await add_links(tx, [Link(new_id(), ada.account_id, START, START, slug=slug) for slug in CHOSEN])
    monkeypatch.setattr(steps, "_BATCH", 4)
    changed: list[int] = []

    def change(connection: Connection, batch: ColumnElement[bool]) -> None:
        with psycopg.connect(db.url) as other:
            other.execute("LOCK TABLE links IN SHARE MODE NOWAIT")
        changed.append(connection.execute(update(links).where(batch).values(title="changed")).rowcount)

    def run(connection: Connection) -> None:
        with Operations.context(MigrationContext.configure(connection)):
            steps.in_batches(links.c.id, partial(change, connection))

    await db.run_sync(run)
    assert changed == [4, 4, 2]


async def test_folds_what_people_chose(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
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
    monkeypatch.setattr(steps, "_BATCH", 3)
    await db.run_sync(_migrate)
    async with db.read() as tx:
        found = {row.slug: row.folded_slug for row in await tx.execute(select(links.c.slug, links.c.folded_slug))}
        folded = {row.path: row.folded for row in await tx.execute(select(link_aliases.c.path, link_aliases.c.folded))}
    assert found == {slug: slug.lower() for slug in CHOSEN} | dict.fromkeys(GENERATED)
    assert folded == {path: folded_digest(path) for path in paths}
