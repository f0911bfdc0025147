"""Imports of links: where each goes, what a second run changes, and what is refused."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from domains import count, domain
from people import START, Person, new_person
from resources.imports.importing import SHARED, THEN, Pages, link, new_deps, preview, run
from sqlalchemy import func, select

from waypost.database import Database, metadata
from waypost.resources import links
from waypost.resources.imports import rules
from waypost.resources.imports.model import Import
from waypost.resources.imports.page_plan import MAX_WARNINGS, Progress
from waypost.resources.imports.source import Address, SourceError, SourceLink
from waypost.resources.links import Link, aliases
from waypost.resources.links import store as link_store
from waypost.resources.links.model import COLUMNS, NOT_DELETED
from waypost.resources.links.model import links as link_rows


@pytest.fixture
async def alice(db: Database) -> Person:
    return await new_person(db, "alice")


async def stored(db: Database) -> dict[str, Link]:
    """The links by destination, without the host."""
    async with db.read() as tx:
        found = [Link(*row) for row in await tx.execute(select(*COLUMNS).where(NOT_DELETED))]
    return {link.destination_url.removeprefix("https://example.com/"): link for link in found}


async def alias_paths(db: Database, link_id: UUID) -> list[tuple[str, str]]:
    async with db.read() as tx:
        found = (await aliases.find_of_links(tx, [link_id])).get(link_id, [])
    return sorted((alias.hostname, alias.path) for alias in found)


async def row_counts(db: Database) -> dict[str, int]:
    async with db.read() as tx:
        return {
            table.name: await tx.scalar(select(func.count()).select_from(table)) or 0
            for table in metadata.sorted_tables
            if table.name not in {"route_changes", "link_images"}
        }


async def test_imports_links_with_their_times_on_a_mapped_domain(db: Database, alice: Person) -> None:
    own = await domain(db, alice.account_id, "go.acme.example")
    changes: list[str] = []
    source = Pages(
        [
            [link("a", title="A title", tags=["x", "y", "x"], created_at=THEN)],
            [link("b", is_enabled=False, expires_at=THEN), link("c", hostname="OLD.example")],
        ]
    )
    report = await run(new_deps(db, changes=changes), alice, source, domains={"old.example": "go.acme.example"})
    assert report.to_json() == {
        "source": "dub",
        "links": {"found": 3, "created": 3, "updated": 0, "unchanged": 0, "refused": 0},
        "aliases": 0,
        "clicks": 0,
        "warnings": [],
        "refused": [],
    }
    found = await stored(db)
    assert (found["a"].slug, found["a"].hostname, found["a"].title) == ("a", "go.acme.example", "A title")
    assert (found["a"].tags, found["a"].created_at, found["a"].updated_at) == (["x", "y"], THEN, START)
    assert (found["b"].is_enabled, found["b"].expires_at, found["c"].domain_id) == (False, THEN, own)
    assert await count(db, own) == 3
    assert sorted(changes) == ["a", "b", "c", "~a", "~b", "~c"]
    async with db.read() as tx:
        names = await links.find_names(tx, found["a"].account_id, [found["a"].id], shared_domain=SHARED)
    assert names[found["a"].id] == ("go.acme.example/a", "A title")


async def test_a_second_run_changes_only_what_changed_at_the_source(db: Database, alice: Person) -> None:
    deps = new_deps(db)
    first, second = link("a", title="One", tags=["x"]), link("b")
    await run(deps, alice, Pages([[first, second]]))
    before = (await stored(db))["a"]
    async with db.write() as tx:
        await link_store.save(tx, [(before, replace(before, title="Edited here"))])
    again = await run(deps, alice, Pages([[replace(first, tags=["x", "y"]), second]]))
    assert (again.counts.updated, again.counts.unchanged, again.counts.created) == (1, 1, 0)
    after = (await stored(db))["a"]
    assert (after.title, after.tags, after.slug) == ("Edited here", ["x", "y"], "a")
    rows = await row_counts(db)
    unchanged = await run(deps, alice, Pages([[replace(first, tags=["x", "y"]), second]]))
    assert (unchanged.counts.updated, unchanged.counts.unchanged) == (0, 2)
    added = {name: rows[name] + 1 for name in ("imports", "audit_entries")}
    assert await row_counts(db) == rows | added


async def test_links_that_forward_do_it_here(db: Database, alice: Person) -> None:
    deps, forwarding = new_deps(db), replace(link("a"), forwards_query=True)

    async def forwarded() -> list[str | None]:
        found = await stored(db)
        return [found[name].forward_query for name in ("a", "b")]

    await run(deps, alice, Pages([[forwarding, link("b")]]))
    assert await forwarded() == ["all", None]
    again = await run(deps, alice, Pages([[forwarding, link("b")]]))
    assert (again.counts.updated, again.counts.unchanged) == (0, 2)
    await run(deps, alice, Pages([[link("a"), link("b")]]))
    assert await forwarded() == [None, None]


async def test_notes_and_external_ids_come_along_where_they_can(db: Database, alice: Person) -> None:
    def marked(name: str, external_id: str | None, note: str | None = None) -> SourceLink:
        return replace(link(name), external_id=external_id, note=note)

    async def found() -> list[tuple[str | None, str | None]]:
        of = await stored(db)
        return [(of[name].external_id, of[name].note) for name in "abcd"]

    deps = new_deps(db)
    page = [marked("a", "1", "One\r\ntwo\0"), marked("b", "1"), marked("c", "x y", "n" * 2_001), marked("d", "4")]
    report = await run(deps, alice, Pages([page]))
    assert await found() == [("1", "One\r\ntwo"), (None, None), (None, "n" * 2_000), ("4", None)]
    assert report.warnings[1:] == [
        "The external ID is left out: another link has it (b)",
        "The external ID is left out. This must have no blanks and no invisible characters (c)",
        "The note is cut off after 2,000 characters (c)",
    ]
    assert (await run(deps, alice, Pages([page]))).counts.unchanged == 4
    page[0], page[1], page[3] = marked("a", "5", ""), marked("b", "6"), marked("d", "5")
    report = await run(deps, alice, Pages([page]))
    assert (report.counts.updated, report.warnings[1:]) == (3, ["The external ID is left out: another link has it (d)"])
    assert await found() == [("5", None), ("6", None), (None, "n" * 2_000), ("4", None)]
    page[3] = replace(page[3], title="Another")
    assert (await run(deps, alice, Pages([page]))).warnings[1:] == []


async def test_options_that_were_set_here_stay(db: Database, alice: Person) -> None:
    def sent(**fields: Any) -> SourceLink:
        return replace(link("a"), **fields)

    async def options() -> tuple[str | None, ...]:
        found = (await stored(db))["a"]
        return found.forward_query, found.note, found.external_id

    deps = new_deps(db)
    await run(deps, alice, Pages([[sent(note="One", forwards_query=True)]]))
    before = (await stored(db))["a"]
    async with db.write() as tx:
        await link_store.save(tx, [(before, replace(before, forward_query="none", external_id="LOCAL-ID"))])
    for fields, expected in (
        ({"note": "Two", "forwards_query": True}, ("none", "Two", "LOCAL-ID")),
        ({"forwards_query": True}, ("none", "Two", "LOCAL-ID")),  # a column that was removed
        ({"note": "Two", "external_id": ""}, (None, "Two", "LOCAL-ID")),
        ({"note": "Two", "external_id": "not valid"}, (None, "Two", "LOCAL-ID")),
        ({"note": "", "external_id": "1"}, (None, None, "1")),
    ):
        await run(deps, alice, Pages([[sent(**fields)]]))
        assert await options() == expected


async def test_creates_a_link_again_that_was_deleted_here(db: Database, alice: Person) -> None:
    deps, source = new_deps(db), [[link("a")]]
    await run(deps, alice, Pages(source))
    gone = (await stored(db))["a"]
    async with db.write() as tx:
        await link_store.hide(tx, [gone], START)
    report = await run(deps, alice, Pages(source))
    assert report.counts.created == 1
    found = (await stored(db))["a"]
    assert (found.slug, found.id != gone.id) == ("a", True)


async def test_a_slug_that_cannot_be_used_becomes_an_alias(db: Database, alice: Person) -> None:
    bob = await new_person(db, "bob")
    deps = new_deps(db)
    await run(deps, bob, Pages([[link("taken"), link("released")]]))
    async with db.write() as tx:
        await link_store.hide(tx, [(await stored(db))["released"]], START)
    await domain(db, alice.account_id, "go.acme.example")
    paths = ["taken", "released", "a/b", "v1.2", "🎉", "login", "Grüße"]
    source = Pages([[link(str(number), path) for number, path in enumerate(paths)]])
    report = await run(deps, alice, source, domains={"old.example": "go.acme.example"})
    assert (report.counts.created, report.counts.aliases, report.warnings) == (7, 7, [])
    found = await stored(db)
    for number, path in enumerate(paths):
        mine = found[str(number)]
        assert mine.slug not in {path, ""}
        assert await alias_paths(db, mine.id) == [("go.acme.example", path)]
    async with db.read() as tx:
        text = await tx.scalar(select(link_rows.c.search_text).where(link_rows.c.id == found["6"].id))
    assert text is not None
    assert text.endswith("\ngrüsse")


async def test_further_and_lower_case_addresses_become_aliases(db: Database, alice: Person) -> None:
    await domain(db, alice.account_id, "go.acme.example")
    others = [Address("old.example", "second"), Address("elsewhere.example", "third")]
    source = Pages([[link("Sale", other_addresses=others)]], ignores_case=True)
    report = await run(new_deps(db), alice, source, domains={"old.example": "go.acme.example"})
    mine = (await stored(db))["Sale"]
    assert mine.slug == "Sale"
    assert await alias_paths(db, mine.id) == [("go.acme.example", "sale"), ("go.acme.example", "second")]
    assert report.counts.aliases == 2
    assert any("elsewhere.example" in warning for warning in report.warnings)
    assert (await run(new_deps(db), alice, source, domains={"old.example": "go.acme.example"})).counts.aliases == 0


async def test_a_link_gets_no_more_aliases_than_from_the_api(db: Database, alice: Person) -> None:
    await domain(db, alice.account_id, "go.acme.example")
    options = {"domains": {"old.example": "go.acme.example"}}
    many = [Address("old.example", f"a{number}") for number in range(aliases.MAX_ALIASES + 2)]
    page = [link("a", other_addresses=many), link("b", other_addresses=[Address("old.example", "b1")])]
    report = await run(new_deps(db), alice, Pages([page]), **options)
    assert report.counts.aliases == aliases.MAX_ALIASES + 1
    [warning] = report.warnings
    assert warning.startswith("An alias is left out: a link can have at most 1,000")
    one_more = [link("a", other_addresses=[*many, Address("old.example", "one-more")])]
    assert (await run(new_deps(db), alice, Pages([one_more]), **options)).counts.aliases == 0
    assert len(await alias_paths(db, (await stored(db))["a"].id)) == aliases.MAX_ALIASES


async def test_links_of_other_domains_go_to_the_shared_domain_and_move_later(db: Database, alice: Person) -> None:
    deps, source = new_deps(db), [[link("a"), link("b/c")]]
    report = await run(deps, alice, Pages(source), domains={"old.example": "not.registered.example"})
    assert report.counts.created == 2
    assert "not.registered.example is not a domain of this account" in report.warnings[0]
    assert (await stored(db))["a"].hostname is None
    own = await domain(db, alice.account_id, "not.registered.example", is_served=False)
    report = await run(deps, alice, Pages(source), domains={"old.example": "not.registered.example"})
    assert (report.counts.updated, report.counts.aliases) == (2, 1)
    assert "is not verified yet" in report.warnings[0]
    found = await stored(db)
    assert (found["a"].slug, found["a"].domain_id, await count(db, own)) == ("a", own, 2)
    assert await alias_paths(db, found["b/c"].id) == [("not.registered.example", "b/c")]


async def test_refuses_what_cannot_become_a_link(db: Database, alice: Person) -> None:
    await domain(db, alice.account_id, "go.acme.example")
    bad = {
        "private": {"destination_url": "http://192.168.1.1/"},
        "metadata": {"destination_url": "http://169.254.169.254/latest"},
        "script": {"destination_url": "javascript:alert(1)"},
        "blank": {"destination_url": "  "},
        "formula": {"destination_url": '=HYPERLINK("https://example.com")'},
        "long": {"destination_url": f"https://example.com/{'x' * 2048}"},
        "loop": {"destination_url": f"https://{SHARED}/a"},
        "own": {"destination_url": "https://go.acme.example/a"},
        "slug": {"path": "x" * 2000},
        "control": {"path": "a\x00b"},
        "surrogate\ud800": {"path": "a\ud800b"},
    }
    source = Pages([[link(name, **fields) for name, fields in bad.items()] + [link("good")]])
    report = await run(new_deps(db), alice, source)
    assert {row.source_id for row in report.refused} == {name.replace("\ud800", "?") for name in bad}
    assert all(row.reason.endswith(".") for row in report.refused)
    assert (report.counts.found, report.counts.created, report.counts.refused) == (12, 1, 11)
    assert await stored(db) != {}


async def test_keeps_odd_texts_and_times(db: Database, alice: Person) -> None:
    end = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)
    odd: dict[str, Any] = {"title": "a\x00b\u202ec\nd" + "x" * 300, "tags": ["", " t\t", "y" * 300]}
    source = Pages([[link("a", created_at=end, expires_at=end, **odd), link("b", title="\x07")]])
    await run(new_deps(db), alice, source)
    found = await stored(db)
    assert found["a"].title.startswith("a b c dxxx")
    assert (len(found["a"].title), found["a"].tags) == (255, ["t", "y" * 255])
    assert (found["a"].created_at, found["a"].expires_at, found["b"].title) == (START, end, "Untitled")


async def test_an_address_that_leads_elsewhere_here_is_refused(db: Database, alice: Person) -> None:
    await domain(db, alice.account_id, "go.acme.example")
    mapping = {"old.example": "go.acme.example", "older.example": "go.acme.example"}
    deps = new_deps(db)
    await run(deps, alice, Pages([[link("a"), link("x/y")]]), domains=mapping)
    others = [link("1", "a", "older.example"), link("2", "x/y", "older.example"), link("3", "n/m"), link("4", "n/m")]
    report = await run(deps, alice, Pages([others]), domains=mapping)
    assert [row.source_id for row in report.refused] == ["1", "2", "4"]
    assert report.counts.created == 1


async def test_leaves_out_roots_and_repeated_links(db: Database, alice: Person) -> None:
    source = Pages([[link("a"), link("root", "")], [link("a"), link("b")]])
    report = await run(new_deps(db), alice, source)
    assert (report.counts.found, report.counts.created, len(await stored(db))) == (2, 2, 2)
    assert any("root" in warning for warning in report.warnings)


async def test_refuses_other_links_of_the_same_id(db: Database, alice: Person) -> None:
    """A page cannot shift within itself, and a file not at all."""
    first, other = link("a"), link("a", destination_url="https://example.com/b")
    report = await run(new_deps(db), alice, Pages([[first, other, first]]))
    assert (report.counts.found, report.counts.created, report.counts.refused) == (2, 1, 1)
    file = Pages([[link("c"), link("c")], [link("d"), replace(link("c"), place="Line 4")]], is_of_file=True)
    report = await run(new_deps(db), alice, file)
    assert (report.counts.found, report.counts.created, report.counts.refused) == (4, 2, 2)
    assert report.refused[-1].reason.startswith("Line 4: The source has another link")
    assert set(await stored(db)) == {"a", "c", "d"}


async def test_says_which_times_it_changes_and_how_many_warnings_it_leaves_out(db: Database, alice: Person) -> None:
    later = START + timedelta(days=1)
    links = [link(str(number), left_out=[f"part {number}"]) for number in range(MAX_WARNINGS + 5)]
    report = await run(new_deps(db), alice, Pages([[link("a", created_at=later)], links]))
    assert "The creation date is in the future: that of the import is used (a)" in report.warnings
    assert len(report.warnings) == MAX_WARNINGS + 2  # with that of the first page
    assert "further warnings" in report.warnings[-1]


async def test_an_endless_list_is_an_error(db: Database, alice: Person) -> None:
    source = Pages([[link("a")]] * 100)
    with pytest.raises(SourceError, match="no end"):
        await run(new_deps(db), alice, source)
    assert len(source.asked) < 10


async def test_a_dry_run_reports_the_same_and_does_not_even_lock(
    db: Database, alice: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    await domain(db, alice.account_id, "go.acme.example")
    before = await row_counts(db)
    pages = [[link("a"), link("x/y"), link("bad", destination_url="ftp://example.com")], [link("b")]]
    options = {"domains": {"old.example": "go.acme.example"}}
    changes: list[str] = []
    with monkeypatch.context() as patched:
        patched.setattr(db, "write", None)
        dry = await preview(new_deps(db, changes=changes), alice, Pages(pages), **options)
    assert (await row_counts(db), changes) == (before, [])
    real = await run(new_deps(db), alice, Pages(pages), **options)
    assert dry.to_json() == real.to_json()


@pytest.mark.parametrize(
    ("source_id", "shown"),
    [
        ("s.example.com//abc", "s.example.com/abc"),
        ("s.example/a//b", "s.example/a//b"),
        ("https://a.b/c", "https://a.b/c"),
    ],
)
def test_shows_ids_as_addresses(source_id: str, shown: str) -> None:
    assert rules.printable_id(source_id) == shown


def test_continues_the_links_of_an_archive_where_development_versions_were() -> None:
    stored = Import(**dict.fromkeys(Import.__dataclass_fields__))  # type: ignore[arg-type]
    at = replace(stored, cursor={"phase": "links.ndjson", "at": 500}, counts={}, warnings=[])
    assert Progress.of(at).cursor == {"phase": "links", "at": "500"}
