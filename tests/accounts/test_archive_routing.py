"""The routing of links in archives: rules and limits arrive, and no link is opened that was protected."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from accounts.archived import IPHONE, NOW, exported, previewed, restored, rows, with_links
from people import START, Person, new_person
from resources.clicks.visited import new_link
from resources.links.added import add_links

from waypost.database import Database
from waypost.kit.ids import new_id
from waypost.resources.domains import store as domain_store
from waypost.resources.domains.model import Domain
from waypost.resources.imports.fitting import NO_ARCHIVED_PASSWORD
from waypost.resources.links import Link, aliases, routing, store
from waypost.resources.links.aliases import Alias
from waypost.resources.links.routing import LinkRouting, RuleJson
from waypost.resources.links.rules import LOOP

RULE: RuleJson = {"name": "iPhone", "conditions": [IPHONE], "destination_url": "https://example.com/ios"}
OTHER_RULE: RuleJson = {**RULE, "destination_url": "https://example.com/new"}


async def put(db: Database, link: Link, **fields: Any) -> Link:
    """Make a link, with routing if there are fields of it."""
    async with db.write() as tx:
        await add_links(tx, [link])
        if fields:
            await routing.save(tx, LinkRouting(link.id, link.account_id, START, START, **fields))
    return link


async def change(db: Database, link: Link, routed: LinkRouting | None = None, **fields: Any) -> Link:
    async with db.write() as tx:
        after = replace(link, **fields)
        await store.save(tx, [(link, after)])
        if routed:
            await routing.save(tx, routed)
    return after


async def found(db: Database, who: Person, link: Link) -> tuple[Link, LinkRouting | None]:
    async with db.read() as tx:
        return await store.get(tx, who.account_id, link.id), await routing.find(tx, link.id)


async def test_follows_changes_of_the_routing_alone(source: Database, db: Database, tmp_path: Path) -> None:
    ada, bea = await new_person(source, "Ada"), await new_person(db, "Bea")
    link = await put(source, new_link(ada.account_id, slug="spring", click_limit=9), rules=[RULE])
    before = LinkRouting(link.id, ada.account_id, START, START, [RULE])

    async def moved() -> tuple[str, list[str], Link, LinkRouting | None]:
        changes: list[str] = []
        archive = await exported(source, tmp_path, "ada@example.com")
        planned = await previewed(db, tmp_path, bea, archive)
        report = await restored(db, tmp_path, bea, archive, changes)
        assert (planned.counts, planned.warnings) == (report.counts, report.warnings)
        [count] = [name for name in ("created", "updated", "unchanged") if getattr(report.counts, name)]
        return count, changes, *await found(db, bea, link)

    what, changes, here, routed = await moved()
    assert (what, changes, here.click_limit) == ("created", ["spring", "~spring"], 9)
    assert routed
    assert (routed.rules, routed.updated_at) == ([RULE], START)
    assert routed.checked_at < START, "its destinations are due"
    assert (await moved())[:2] == ("unchanged", [])

    here = await change(db, here, replace(routed, unsafe_urls=[RULE["destination_url"]]), title="Ours")
    link = await change(source, link, replace(before, variants=[]), click_limit=20)
    what, changes, here, routed = await moved()
    assert (what, changes, here.click_limit, here.title) == ("updated", ["spring"], 20, "Ours")
    assert routed
    assert routed.unsafe_urls == [RULE["destination_url"]]
    link = await change(source, link, replace(before, rules=[OTHER_RULE]))
    _, _, _, routed = await moved()
    assert routed
    assert (routed.rules, routed.unsafe_urls) == ([OTHER_RULE], [])

    link = await change(source, link, click_limit=None)
    async with source.write() as tx:
        await routing.delete_of_links(tx, [link.id])
    what, changes, here, routed = await moved()
    assert (what, changes, here.click_limit, here.is_enabled, routed) == ("updated", ["spring"], None, True, None)


async def test_a_link_with_a_password_is_disabled_until_it_has_one_here(
    source: Database, db: Database, tmp_path: Path
) -> None:
    ada, bea = await new_person(source, "Ada"), await new_person(db, "Bea")
    protected = {"password_hash": "theirs", "password_version": 1}
    link = await put(source, new_link(ada.account_id, slug="spring"), rules=[RULE], **protected)
    theirs = LinkRouting(link.id, ada.account_id, START, START, [RULE], **protected)
    archive = await exported(source, tmp_path, "ada@example.com")
    assert b"theirs" not in archive
    for do in (previewed, restored):
        report = await do(db, tmp_path, bea, archive)
        assert report.warnings == [f"{NO_ARCHIVED_PASSWORD} (spring)"]
    here, routed = await found(db, bea, link)
    assert routed
    assert (here.is_enabled, routed.rules, routed.password_hash) == (False, [RULE], None)

    link = await change(source, link, title="Summer")
    await restored(db, tmp_path, bea, await exported(source, tmp_path, "ada@example.com"))
    here, routed = await found(db, bea, link)
    assert routed
    assert (here.is_enabled, here.title) == (False, "Summer")

    await change(db, here, replace(routed, password_hash="ours", password_version=7), is_enabled=True)
    link = await change(source, link, replace(theirs, rules=[OTHER_RULE]), title="Autumn")
    report = await restored(db, tmp_path, bea, await exported(source, tmp_path, "ada@example.com"))
    here, routed = await found(db, bea, link)
    assert routed
    assert (here.is_enabled, here.title, report.warnings) == (True, "Autumn", [])
    assert (routed.rules, routed.password_hash, routed.password_version) == ([OTHER_RULE], "ours", 7)

    async with source.write() as tx:
        await routing.delete_of_links(tx, [link.id])
    await restored(db, tmp_path, bea, await exported(source, tmp_path, "ada@example.com"))
    here, routed = await found(db, bea, link)
    assert routed
    assert (here.is_enabled, routed.rules, routed.password_hash) == (True, [], "ours")


UNUSABLE: dict[str, tuple[Any, str]] = {
    "list": ([], "It is not an object"),
    "field": ({"rules": 5}, "rules: This must be a list"),
    "condition": ({"rules": [RULE | {"conditions": [{"type": "moon"}]}]}, "rules.0.conditions.0.type"),
    "URL": ({"fallback_url": "javascript:1"}, "fallback_url: "),
    "private": ({"rules": [RULE | {"destination_url": "http://127.0.0.1/"}]}, "rules.0.destination_url: "),
    "shared domain": (
        {"variants": [{"name": "B", "destination_url": "http://go.test/b", "weight": 1}]},
        "variants.0.destination_url: ",
    ),
    "own domain": ({"fallback_url": "https://go.example.com/b"}, f"fallback_url: {LOOP.rstrip('.')}"),
    "password": ({"has_password": "yes"}, "has_password: "),
}


async def test_links_whose_routing_cannot_be_used_are_disabled(source: Database, tmp_path: Path) -> None:
    ada, bea = await new_person(source, "Ada"), await new_person(source, "Bea")
    async with source.write() as tx:
        await domain_store.add(tx, Domain.new(bea.account_id, "go.example.com", START))
    for title in UNUSABLE:
        await put(source, new_link(ada.account_id, title=title))
    archive = with_links(
        await exported(source, tmp_path, "ada@example.com"), lambda row: row.update(routing=UNUSABLE[row["title"]][0])
    )
    planned = await previewed(source, tmp_path, bea, archive)
    report = await restored(source, tmp_path, bea, archive)
    assert (report.counts.created, report.counts.refused) == (len(UNUSABLE), 0)
    assert planned.warnings == report.warnings
    advice = "The routing cannot be used: the link is disabled. Set its routing, then enable the link. "
    reasons = [warning.removeprefix(advice) for warning in report.warnings if warning.startswith(advice)]
    assert len(reasons) == len(UNUSABLE)
    for _, expected in UNUSABLE.values():
        assert [reason for reason in reasons if reason.startswith(expected)], expected
    imported = rows(await exported(source, tmp_path, "bea@example.com"))["links.ndjson"]
    assert [(row["is_enabled"], row["routing"]) for row in imported] == [(False, None)] * len(UNUSABLE)
    assert (await restored(source, tmp_path, bea, archive)).counts.unchanged == len(UNUSABLE)


async def test_reads_an_archive_without_routing(source: Database, db: Database, tmp_path: Path) -> None:
    """Archives of before routing was in the rows of links."""
    ada, bea = await new_person(source, "Ada"), await new_person(db, "Bea")
    link = await put(source, new_link(ada.account_id, slug="spring"))
    archive = with_links(await exported(source, tmp_path, "ada@example.com"), lambda row: row.pop("routing"))
    await restored(db, tmp_path, bea, archive)
    assert (await restored(db, tmp_path, bea, await exported(source, tmp_path, "ada@example.com"))).counts.unchanged
    assert (await found(db, bea, link))[1] is None


async def test_an_archive_gives_no_link_more_aliases_than_the_api(
    source: Database, db: Database, tmp_path: Path
) -> None:
    ada, bea = await new_person(source, "Ada"), await new_person(db, "Bea")
    theirs, ours = (Domain.new(who.account_id, "go.example.com", START) for who in (ada, bea))
    async with source.write() as tx:
        await domain_store.add(tx, theirs)
    link = await put(source, new_link(ada.account_id, slug="a"))
    host, paths = (theirs.id, theirs.hostname), [f"a{number}" for number in range(aliases.MAX_ALIASES + 2)]
    async with source.write() as tx:
        await aliases.add_many(tx, [Alias(new_id(), ada.account_id, link.id, *host, path, START) for path in paths])
    async with db.write() as tx:
        await domain_store.add(tx, ours)
    archive = await exported(source, tmp_path, "ada@example.com")
    report = await restored(db, tmp_path, bea, archive)
    assert report.counts.aliases == aliases.MAX_ALIASES
    assert "An alias is left out: a link can have at most 1,000 (2 links" in report.warnings[-1]


async def test_a_plan_warns_of_addresses_as_its_run_does(source: Database, db: Database, tmp_path: Path) -> None:
    ada, bea = await new_person(source, "Ada"), await new_person(db, "Bea")
    theirs, ours = (Domain.new(who.account_id, "go.example.com", START) for who in (ada, bea))
    async with source.write() as tx:
        await domain_store.add(tx, theirs)
    links = [
        await put(source, new_link(ada.account_id, slug=slug, **domain))
        for slug, domain in [
            ("shared", {}),
            ("own", {"domain_id": theirs.id, "hostname": theirs.hostname}),
            ("free", {}),
        ]
    ]
    at = NOW - timedelta(days=1)
    async with source.write() as tx:
        values = [(links[0].id, "taken"), (links[0].id, "free"), (links[1].id, "Über")]
        of_links = [
            Alias(new_id(), ada.account_id, link, theirs.id, theirs.hostname, path, at) for link, path in values
        ]
        await aliases.add_many(tx, of_links)
    carl = await new_person(db, "Carl")
    for slug in ("shared", "own"):
        await put(db, new_link(carl.account_id, slug=slug))
    mine = await put(db, new_link(bea.account_id, slug="mine"))
    async with db.write() as tx:
        await domain_store.add(tx, ours)
        await aliases.add_many(tx, [Alias(new_id(), bea.account_id, mine.id, ours.id, ours.hostname, "taken", at)])
    archive = await exported(source, tmp_path, "ada@example.com")
    planned = await previewed(db, tmp_path, bea, archive)
    report = await restored(db, tmp_path, bea, archive)
    assert planned.warnings == report.warnings
    assert {"(own)", "(shared)", "(go.example.com/taken)"} <= {text.split()[-1] for text in report.warnings}
    assert (planned.counts.created, planned.counts.aliases) == (report.counts.created, report.counts.aliases) == (3, 3)
    again = [await do(db, tmp_path, bea, archive) for do in (previewed, restored)]
    assert again[0].counts == again[1].counts
