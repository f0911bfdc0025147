"""Imports beside others: what is changed here meanwhile, leases, and imports that continue."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from domains import domain
from people import START, FakeClock, Person, new_person
from resources.imports.importing import Pages, link, new_deps, run
from resources.imports.test_importer import alias_paths, alice, stored
from sqlalchemy import func, select

from waypost.audit import Actor
from waypost.database import Database
from waypost.kit.ids import new_id
from waypost.resources.imports import lease, service, store
from waypost.resources.imports.lease import ImportRunning, LeaseLost
from waypost.resources.imports.model import imports
from waypost.resources.imports.run import ImportRun
from waypost.resources.imports.source import Address, SourceError
from waypost.resources.links import Link, aliases
from waypost.resources.links import store as link_store
from waypost.resources.links.aliases import Alias
from waypost.resources.links.model import COLUMNS, NOT_DELETED
from waypost.resources.links.model import links as link_rows

__all__ = ["alice"]


@pytest.mark.parametrize("what", ["slug taken", "alias taken", "link deleted", "link moved"])
async def test_decides_again_if_others_were_faster(
    db: Database, alice: Person, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    bob = await new_person(db, "bob")
    own = await domain(db, alice.account_id, "go.acme.example")
    deps, options = new_deps(db), {"domains": {"old.example": "go.acme.example"}}
    await run(deps, alice, Pages([[link("a"), link("b")]]), **options)
    before = await stored(db)
    find_links = store.find_links

    async def find_links_slowly(*arguments: Any) -> Any:
        found = await find_links(*arguments)
        monkeypatch.setattr(store, "find_links", find_links)
        if what == "slug taken":
            await run(deps, bob, Pages([[link("new")]]))
            return found
        async with db.write() as tx:
            match what:
                case "alias taken":
                    taken = Alias(new_id(), alice.account_id, before["b"].id, own, "go.acme.example", "x", START)
                    await aliases.add_many(tx, [taken])
                case "link deleted":
                    await link_store.hide(tx, [before["a"]], START)
                case "link moved":
                    await link_store.save(tx, [(before["a"], replace(before["a"], domain_id=None))])
        return found

    monkeypatch.setattr(store, "find_links", find_links_slowly)
    page = [link("a", title="New", other_addresses=[Address("old.example", "x")]), link("new")]
    report = await run(deps, alice, Pages([page]), **options)
    async with db.read() as tx:
        mine = {
            row.destination_url.rpartition("/")[2]: Link(*row)
            for row in await tx.execute(select(*COLUMNS).where(NOT_DELETED, link_rows.c.account_id == alice.account_id))
        }
    assert report.counts.created == (2 if what == "link deleted" else 1)
    assert report.warnings == (["A further address leads to another link already (a)"] if what == "alias taken" else [])
    assert (mine["new"].slug == "new") == (what != "slug taken")
    assert await alias_paths(db, mine["new"].id) == ([("go.acme.example", "new")] if what == "slug taken" else [])
    expected = {"alias taken": [], "link moved": ["a", "x"]}.get(what, ["x"])
    assert [path for _, path in await alias_paths(db, mine["a"].id)] == expected
    assert mine["a"].title == "New"


async def test_continues_after_the_last_stored_page(db: Database, alice: Person) -> None:
    deps = new_deps(db)
    source = Pages([[link("a")], [link("b")], [link("bad", destination_url="x"), link("c")]])
    import_ = await service.create(deps, Actor.system(alice.account_id), "dub", {})
    killed = ImportRun(deps, source, import_, "elsewhere:1:1")
    await killed.start()
    assert await killed.step()
    clock = FakeClock(START + timedelta(minutes=2))  # the lease has run out
    report = await run(new_deps(db, clock), alice, source)
    assert source.asked == [None, "1", "2"]
    assert (report.counts.found, report.counts.created, report.counts.refused) == (4, 3, 1)
    with pytest.raises(LeaseLost):
        await killed.step()
    async with db.read() as tx:
        assert await tx.scalar(select(func.count()).select_from(imports)) == 1


async def test_a_second_import_at_once_is_refused(db: Database, alice: Person) -> None:
    deps = new_deps(db)
    first = await service.create(deps, Actor.system(alice.account_id), "dub", {})
    running = ImportRun(deps, Pages([[link("a")], [link("b")]]), first, lease.holder())
    await running.start()
    with pytest.raises(ImportRunning, match="An import from dub is running"):
        await service.create(deps, Actor.system(alice.account_id), "csv", {})
    assert await running.step()
    await running.stop(SourceError("The quota is used up."))
    stopped = await service.get(deps.db, alice.account_id, first.id)
    assert (stopped.state, stopped.message, stopped.cursor) == (
        "stopped",
        "The quota is used up.",
        {"phase": "links", "at": "1"},
    )
    await service.create(deps, Actor.system(alice.account_id), "csv", {})


async def test_a_killed_process_of_this_machine_gives_its_lease_back(db: Database, alice: Person) -> None:
    deps = new_deps(db)
    first = await service.create(deps, Actor.system(alice.account_id), "dub", {})
    host, _, _ = lease.holder().rsplit(":", 2)
    await ImportRun(deps, Pages([[]]), first, f"{host}:4194305:1").start()  # no process has such an id
    assert (await service.create(deps, Actor.system(alice.account_id), "dub", {})).id == first.id
