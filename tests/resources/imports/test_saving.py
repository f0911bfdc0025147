"""The routing of imported links as it is stored, changed by a second run, and followed by redirects."""

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
from people import Person, new_person
from resources.imports.importing import SHARED, Pages, link, new_deps, preview, run
from resources.imports.servers.dub import Dub, dub_link
from resources.imports.servers.scripted import ScriptedService
from resources.imports.servers.shlink import Shlink, short_url
from resources.imports.servers.short_io import ShortIo, short_io_link
from resources.imports.servers.spoo_me import SpooMe, spoo_me_link
from resources.imports.sources.reading import source_of
from resources.imports.test_importer import stored
from resources.links.test_route_source import new_route_source

from waypost import accounts
from waypost.accounts.model import SignInClient
from waypost.database import Database
from waypost.redirect.route import options_of
from waypost.redirect.routing.rules import KnownVisitor, decide
from waypost.resources import links
from waypost.resources.imports.routing_data import rule, variant
from waypost.resources.imports.source import SourceLink
from waypost.resources.links import Link, routing
from waypost.resources.links import store as link_store
from waypost.resources.links.routing import LinkRouting
from waypost.visitors.agents import Agent

URL = "https://example.com/x"
IPHONE = Agent("Safari", "iOS", "mobile")
PC = Agent("Firefox", "Windows", "desktop")


@pytest.fixture
async def alice(db: Database) -> Person:
    return await new_person(db, "alice")


def routed(source_id: str = "a", **routing: Any) -> SourceLink:
    routing = {"rules": [rule("platform", ["iOS"], URL)]} | routing
    return link(source_id, routing={name: value for name, value in routing.items() if value})


async def found(db: Database, name: str = "a") -> tuple[Link, LinkRouting | None]:
    own = (await stored(db))[name]
    async with db.read() as tx:
        return own, await routing.find(tx, own.id)


async def add_clicks(db: Database, link_id: UUID, account_id: UUID, count: int) -> None:
    async with db.write() as tx:
        await links.add_clicks(tx, [(link_id.bytes, account_id.bytes, count)], last_at=0)


async def test_stores_routing_with_a_hashed_password(db: Database, alice: Person) -> None:
    changes: list[str] = []
    source = Pages(
        [
            [
                routed(password="secret", variants=[variant("B", URL, 30)], starts_at="2030-01-01T00:00:00.000000Z"),
                link("b", routing={"click_limit": 10}, clicks=3),
                link("c"),
            ]
        ]
    )
    report = await run(new_deps(db, changes=changes), alice, source)
    own, kept = await found(db)
    assert kept is not None
    assert own.is_enabled
    assert (own.starts_at, kept.variants[0]["name"], kept.rules[0]["name"]) == (
        datetime(2030, 1, 1, tzinfo=UTC),
        "B",
        "iOS",
    )
    assert await accounts.verify_password("secret", kept.password_hash, SignInClient(own.id.bytes))
    limited, row = await found(db, "b")
    assert (limited.click_limit, row is not None) == (7, True)
    assert (await found(db, "c"))[1] is None
    assert [text for text in report.warnings if "go to" not in text] == []


async def test_a_dry_run_says_the_same_and_hashes_nothing(db: Database, alice: Person) -> None:
    pages = [[routed(password="secret"), link("b", has_unreadable_password=True), link("c", lost_rules=["a rule"])]]
    dry = await preview(new_deps(db), alice, Pages(pages))
    assert await stored(db) == {}
    assert (await run(new_deps(db), alice, Pages(pages))).to_json() == dry.to_json()
    assert {name: each.is_enabled for name, each in (await stored(db)).items()} == {"a": True, "b": False, "c": False}


async def test_a_second_run_keeps_what_was_edited_here(db: Database, alice: Person) -> None:
    deps, source = new_deps(db), routed(password="secret")
    await run(deps, alice, Pages([[source]]))
    _, imported = await found(db)
    assert imported is not None
    edited = replace(imported, rules=[], password_hash=None, password_version=None, fallback_url=URL)
    async with db.write() as tx:
        await routing.save(tx, edited)
    again = await run(deps, alice, Pages([[source]]))
    assert (again.counts.unchanged, (await found(db))[1]) == (1, edited)
    titled = await run(deps, alice, Pages([[replace(source, title="Other")]]))
    assert (titled.counts.updated, (await found(db))[1]) == (1, edited)


async def test_a_change_at_the_source_replaces_the_routing(db: Database, alice: Person) -> None:
    changes: list[str] = []
    deps = new_deps(db, changes=changes)
    await run(deps, alice, Pages([[routed(password="secret", click_limit=10)]]))
    changes.clear()
    await run(deps, alice, Pages([[routed(password="other", variants=[variant("B", URL, 5)], click_limit=10)]]))
    own, after = await found(db)
    assert after is not None
    assert (len(after.variants), own.click_limit, changes) == (1, 10, ["a"])
    assert await accounts.verify_password("other", after.password_hash, SignInClient(own.id.bytes))
    await run(deps, alice, Pages([[link("a")]]))
    own, after = await found(db)
    assert (after, own.click_limit, own.is_enabled) == (None, None, True)


async def test_a_limit_counts_clicks_at_the_source_and_here(db: Database, alice: Person) -> None:
    deps, source = new_deps(db), link("a", routing={"click_limit": 100}, clicks=40)
    await run(deps, alice, Pages([[source]]))
    own, before = await found(db)
    assert own.click_limit == 60
    await add_clicks(db, own.id, alice.account_id, 5)
    assert (await run(deps, alice, Pages([[source]]))).counts.unchanged == 1
    await run(deps, alice, Pages([[replace(source, clicks=50)]]))
    own, after = await found(db)
    assert own.click_limit == 5 + 50
    assert before is not None
    assert after is not None
    await run(deps, alice, Pages([[replace(source, clicks=100)]]))
    own, _ = await found(db)
    assert (own.is_enabled, own.click_limit) == (False, None)


async def test_keeps_a_password_that_was_set_here(db: Database, alice: Person) -> None:
    deps, source = new_deps(db), replace(routed(), has_unreadable_password=True)
    await run(deps, alice, Pages([[source]]))
    own, imported = await found(db)
    assert imported is not None
    assert not own.is_enabled
    async with db.write() as tx:
        await routing.save(tx, imported.with_password("hash", imported))
        await link_store.save(tx, [(own, replace(own, is_enabled=True))])
    changed = replace(source, routing={"rules": [rule("platform", ["Android"], URL)]})
    await run(deps, alice, Pages([[changed]]))
    own, after = await found(db)
    assert after is not None
    assert (after.password_hash, after.rules[0]["name"], own.is_enabled) == ("hash", "Android", True)


def services() -> Mapping[str, ScriptedService]:
    """One link each, whose slug is the source's name."""
    shlink = Shlink(short_url(1, shortCode="shlink", hasRedirectRules=True))
    assert shlink.rules is not None
    shlink.rules[None, "shlink"] = [
        {
            "longUrl": f"{URL}/de-mobile",
            "priority": 1,
            "conditions": [
                {"type": "device", "matchKey": None, "matchValue": "mobile"},
                {"type": "language", "matchKey": None, "matchValue": "de"},
            ],
        },
        {
            "longUrl": f"{URL}/app",
            "priority": 2,
            "conditions": [{"type": "valueless-query-param", "matchKey": "app", "matchValue": None}],
        },
    ]
    short_io = ShortIo(short_io_link(1, path="short-io", iphoneURL=f"{URL}/ios", splitURL=f"{URL}/b", splitPercent=30))
    short_io.countries = {"lnk_1": [{"country": "FR", "originalURL": f"{URL}/fr"}]}
    dub = Dub(
        dub_link(
            1,
            key="dub",
            ios=f"{URL}/ios",
            geo={"FR": f"{URL}/fr"},
            testVariants=[
                {"url": "https://www.example.com/1", "percentage": 70},
                {"url": f"{URL}/b", "percentage": 30},
            ],
            testCompletedAt="2100-01-01T00:00:00.000Z",
        )
    )
    spoo_me = SpooMe(
        spoo_me_link(1, alias="spoo-me", geo_rules={"FR": f"{URL}/fr"}, ab_variants=[{"url": f"{URL}/b", "weight": 30}])
    )
    return {"shlink": shlink, "short-io": short_io, "dub": dub, "spoo-me": spoo_me}


async def test_redirects_follow_the_rules_of_each_source(db: Database, alice: Person) -> None:
    deps = new_deps(db)
    for name, service in services().items():
        with source_of(name, service) as source:
            report = await run(deps, alice, source)
        assert (report.counts.created, report.counts.refused) == (1, 0)
    b, french = KnownVisitor(PC, drawn=29), KnownVisitor(PC, country="FR", drawn=29)
    app = KnownVisitor(PC, query={b"app": {b""}}, drawn=99)
    german = KnownVisitor(IPHONE, country="FR", language="de", drawn=29)
    expected = {
        "shlink": ("de-mobile", None, None, "app"),
        "short-io": ("ios", "fr", "b", None),
        "dub": ("ios", "fr", "b", None),
        "spoo-me": ("fr", "fr", "b", None),
    }
    with ExitStack() as opened:
        routes = new_route_source(db)
        opened.callback(routes.close)
        for name, paths in expected.items():
            route = await routes.find(name.encode())
            assert route is not None
            options = options_of(route)
            assert options is not None
            assert options.routing is not None
            locations = [decide(options.routing, visitor, 0.0).location for visitor in (german, french, b, app)]
            assert locations == [path and f"{URL}/{path}".encode() for path in paths], name


async def test_checks_each_destination(db: Database, alice: Person) -> None:
    bad = ("http://192.168.1.1/", "javascript:alert(1)", f"https://{SHARED}/a", "https://example.com\\@evil.example/")
    source = Pages(
        [[link(str(number), routing={"rules": [rule("platform", ["iOS"], url)]}) for number, url in enumerate(bad)]]
    )
    report = await run(new_deps(db), alice, source)
    assert report.counts.created == len(bad)
    own = await stored(db)
    assert [each.is_enabled for each in own.values()] == [False] * len(bad)
    async with db.read() as tx:
        assert await routing.find_of_links(tx, [each.id for each in own.values()]) == {}
    assert sum(text.startswith("Left out: a rule.") for text in report.warnings) >= 3
