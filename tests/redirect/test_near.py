"""Addresses as people type them: the exact one always wins, and a near one answers only where it is the one meant.

`addresses.jsonl` is rebuilt from reports of users; one character of a request target is one byte.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from ipaddress import ip_network
from itertools import product
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import quote
from uuid import UUID

import pytest
from domains import domain
from hypothesis import given
from hypothesis import strategies as st
from journeys.service import Website
from people import Person, new_person
from wire import HOST, Routes, Wire, serve

from waypost.database import Database
from waypost.http.connections import Connections
from waypost.redirect import (
    ChangeFeed,
    HostTable,
    RedirectState,
    alias_change,
    fold,
    near_change,
    new_alias,
    new_host,
    new_near,
    new_route,
)
from waypost.redirect.address_filter import AddressFilter
from waypost.redirect.aliases import AliasTable
from waypost.redirect.near import NearTable, query_of, spellings
from waypost.redirect.protocol import protocol_for
from waypost.redirect.route import MISSING
from waypost.redirect.spool import decode, read_lines, segments
from waypost.redirect.table import RouteTable
from waypost.settings import Settings
from waypost.web_app import open_full_app

CUSTOM = "go.brand.test"
CASES = [json.loads(line) for line in (Path(__file__).parent / "addresses.jsonl").read_text().splitlines()]


@dataclass
class Town:
    """The whole application on a socket, and Alice's domain, which is live."""

    wire: Wire
    db: Database
    state: RedirectState
    alice: Person
    domain: str
    site: Website

    async def ask(self, method: str, url: str, /, **fields: Any) -> Any:
        head = f"{method} /api/v1{url} HTTP/1.1\r\nHost: app.test\r\nAuthorization: Bearer {self.alice.key}\r\n"
        body = json.dumps(fields)
        head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        answer = await self.wire.say(head.encode() + body.encode())
        return json.loads(answer.partition(b"\r\n\r\n")[2] or b"null")

    async def make(self, slug: str | None, hostname: str | None = None) -> str:
        """Make a link whose destination names its slug. Return its id."""
        fields = {"slug": slug} if slug else {}
        answer = await self.ask("POST", "/links", destination_url=self.url(slug), hostname=hostname, **fields)
        return answer["data"]["id"]

    def url(self, slug: str | None) -> str:
        return f"{self.site.url}?{slug}"

    async def visit(self, target: str | bytes, host: str = HOST.decode(), more: str = "") -> str:
        """Return the slug of the link that answers, or the status and type of another answer."""
        sent = target.encode("latin-1") if isinstance(target, str) else target
        answer = await self.wire.say(b"GET %b HTTP/1.1\r\nHost: %b\r\n%b\r\n" % (sent, host.encode(), more.encode()))
        head, _, _ = answer.lower().partition(b"\r\n\r\n")
        if b"location: " in head:
            return answer.partition(b"ocation: ")[2].partition(b"\r\n")[0].decode().partition("?")[2]
        return f"{head[9:12].decode()} {'page' if b'content-type: text/html' in head else 'other'}"

    async def loaded(self) -> None:
        """Wait until all addresses are in the filter."""
        while self.state.near.needs_filter:
            await asyncio.sleep(0.01)


NOT_FOUND = "404 page"


@pytest.fixture
async def town(database_url: str, tmp_path: Path) -> AsyncIterator[Town]:
    names = {"base_url": "http://app.test", "shared_domain": HOST.decode(), "secret_key": "a key"}
    here = {"data_dir": tmp_path, "database_url": database_url, "outbound_allow": [ip_network("127.0.0.0/8")]}
    async with open_full_app(Settings(**names, **here)) as web:
        alice = await new_person(web.db, "alice", now=datetime.now(UTC))
        id_ = await domain(web.db, alice.account_id, CUSTOM)
        with Website() as site:
            async with serve(web.app, http=protocol_for(web.state, Connections())) as wire:
                yield Town(wire, web.db, web.state, alice, str(id_), site)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['request_target']} with {' '.join(case['links'])}")
@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
async def test_answers_each_case(case: dict[str, Any], town: Town) -> None:
    for slug in case["links"]:
        await town.make(slug)
    host = HOST.decode()
    if "alias" in case:
        host = CUSTOM
        id_ = await town.make("alias")
        await town.ask("POST", f"/links/{id_}/aliases", hostname=CUSTOM, path=case["alias"])
    await town.loaded()
    for more in ("", "", "Connection: close\r\n"):  # the second time from memory, the third past the fast path
        assert await town.visit(case["request_target"], host, more) == (case["resolves_to"] or NOT_FOUND)


RESOLVED = [
    *("/Sale.", "/Sale).", "/Sale/.", "/Sale./", "/Sale%E2%80%8B", "/Sale%ef%bb%bf", "/Sale\u00c2\u00a0", "/Sale__"),
    *("/Sale%3F", "/Sale*", "/Sale'", "/Sale%29%5d%7D%3E", "/sale.", "/SALE/", "/sALE.&x=1", "/Sale/&x", "/Sale%26x=y"),
    *("/Sale" + "." * 500, "/sale" + "%E2%80%8B." * 100 + "/", "/Sale&a=1?b=2", "/S%61le.", "/%73ale"),
]
NOT_RESOLVED = [
    *("/Sale//", "/Sale.x", "//Sale", "/Sale%00", "/Sale%", "/Sale%FF", "/Sale\u00ff", "/&Sale", "/.", "/-", "/Sal"),
    *("/Sale" + "." * 20_000, "/Sale/x", "/.well-known/Sale", "/Sale%2Fx", "/Sale%20x", "/S\u00c3\u00a4le"),
]


async def test_resolves_what_people_mean(town: Town) -> None:
    await town.make("Sale")
    await town.make("Other")
    for is_loaded in (False, True):
        if is_loaded:
            await town.loaded()
        for target in RESOLVED:
            assert await town.visit(target) == "Sale", target
            assert (await town.visit(target, CUSTOM)) == NOT_FOUND, target
        for target in NOT_RESOLVED:
            assert (await town.visit(target)).startswith("404"), target
    assert await town.visit("/Sale", "unknown.test") == "404 other"
    assert await town.visit("/sale", "unknown.test") == "404 other"


async def test_a_generated_slug_is_exact(town: Town) -> None:
    id_ = await town.make(None)
    slug = (await town.ask("GET", f"/links/{id_}"))["data"]["slug"]
    await town.loaded()
    for sent, is_found in ((slug, True), (f"{slug}.", True), (f"{slug}/&x", True), (slug.swapcase(), False)):
        assert (await town.visit(f"/{sent}") == "None") == is_found
    await town.ask("PATCH", f"/links/{id_}", slug="Chosen")
    assert await town.visit("/chosen") == "None"
    await town.ask("PATCH", f"/links/{id_}", slug=slug)
    assert await town.visit("/chosen") == NOT_FOUND
    assert await town.visit(f"/{slug.swapcase()}") == "None", "a person has chosen it now"


async def test_follows_each_change(town: Town) -> None:
    one = await town.make("Sale")
    await town.loaded()

    async def seen() -> tuple[str, str]:
        """What answers on the shared and the custom domain; the second time from memory."""
        first, second = [[await town.visit("/sale", host) for host in (HOST.decode(), CUSTOM)] for _ in range(2)]
        assert first == second
        return first[0], first[1]

    assert await seen() == ("Sale", NOT_FOUND)
    two = await town.make("SALE")
    assert await seen() == (NOT_FOUND, NOT_FOUND)
    await town.ask("PATCH", f"/links/{two}", hostname=CUSTOM)
    assert await seen() == ("Sale", "SALE")
    await town.ask("PATCH", f"/links/{one}", slug="Summer")
    assert await seen() == (NOT_FOUND, "SALE")
    assert await town.visit("/summer") == "Sale"
    await town.ask("PATCH", f"/links/{one}", slug="sALE", status="inactive")
    assert await seen() == (NOT_FOUND, "SALE")
    await town.ask("PATCH", f"/links/{one}", status="active")
    assert await seen() == ("Sale", "SALE")
    alias = await town.ask("POST", f"/links/{one}/aliases", hostname=CUSTOM, path="saLE")
    assert await seen() == ("Sale", NOT_FOUND), "two links of the domain"
    assert await town.visit("/saLE", CUSTOM) == "Sale"
    await town.ask("DELETE", f"/links/{one}/aliases/{alias['data']['id']}")
    assert await seen() == ("Sale", "SALE")
    assert (await town.ask("PATCH", f"/domains/{town.domain}/options", ignore_case=False))["data"][
        "ignore_case"
    ] is False
    assert await seen() == ("Sale", NOT_FOUND)
    assert await town.visit("/SALE.", CUSTOM) == "SALE", "punctuation counts on no domain"
    await town.ask("PATCH", f"/domains/{town.domain}/options", ignore_case=None)
    assert await seen() == ("Sale", "SALE")
    await town.ask("DELETE", f"/links/{one}")
    assert await seen() == (NOT_FOUND, "SALE")
    await town.ask("DELETE", f"/domains/{town.domain}")
    assert (await town.visit("/sale", CUSTOM)) == "404 other"


async def test_aliases_have_near_addresses_of_any_script(town: Town) -> None:
    link = await town.make("main")
    for path in ("Straße", "summer/SALE", "a_b."):
        await town.ask("POST", f"/links/{link}/aliases", hostname=CUSTOM, path=path)
    for is_loaded in (False, True):
        if is_loaded:
            await town.loaded()
        for path in ("STRASSE", "straße", "Straße.", "Summer/Sale/", "A_B.", "a_b.)", "a_b._", "summer/sale&x=1"):
            assert await town.visit(f"/{quote(path, safe='/&=')}", CUSTOM) == "main", path
            assert await town.visit(f"/{path}".encode(), CUSTOM) == "main", path
        for path in ("a_b", "summer", "summer/sale/more", "Strase"):
            assert await town.visit(f"/{path}", CUSTOM) == NOT_FOUND, path
        assert await town.visit("/summer/sale") == NOT_FOUND, "on the shared domain"
    await town.ask("POST", f"/links/{link}/aliases", hostname=CUSTOM, path="MAIN")
    await town.ask("PATCH", f"/links/{link}", hostname=CUSTOM)
    assert await town.visit("/Main", CUSTOM) == "main", "two addresses of one link"


async def test_an_address_that_does_not_resolve_now_answers_as_itself(town: Town) -> None:
    one, _ = await town.make("Sale"), await town.make("sale")
    await town.loaded()
    await town.ask("PATCH", f"/links/{one}", status="inactive")
    assert [await town.visit(target) for target in ("/Sale", "/Sale.", "/sale", "/sale.")] == [
        *(NOT_FOUND, NOT_FOUND),
        *("sale", "sale"),
    ]
    fallback = town.url("fallback")
    await town.ask("PATCH", f"/links/{one}", status="active")
    await town.ask("PUT", f"/links/{one}/routing", starts_at="2099-01-01T00:00:00Z", fallback_url=fallback)
    assert await town.visit("/Sale.") == await town.visit("/Sale") == "fallback"


async def test_counts_the_visit_with_its_query(town: Town, tmp_path: Path) -> None:
    link = await town.make("Sale")
    targets = ["/sale?utm_source=a", "/Sale&utm_source=b", "/Sale&x=%20+?utm_source=c", "/Sale.?utm_source=d"]
    for target in targets:
        assert await town.visit(target) == "Sale"
    town.state.flush()
    visits = [decode(line) for path in segments(tmp_path / "spool") for line in read_lines(path, 0, 1 << 20)[0]]
    assert [visit.query for visit in visits] == [
        *(b"utm_source=a", b"utm_source=b"),
        *(b"x=%20+&utm_source=c", b"utm_source=d"),
    ]
    assert {visit.link for visit in visits} == {link.replace("-", "").encode()}


async def test_thousands_of_links_that_differ_by_case_cost_no_more(town: Town) -> None:
    word = "summersale2"
    spelled = ["".join(c.upper() if n >> i & 1 else c for i, c in enumerate(word)) for n in range(1, 601)]
    for start in range(0, 600, 100):
        links = [{"destination_url": town.url(slug), "slug": slug} for slug in spelled[start : start + 100]]
        assert (await town.ask("POST", "/links/bulk", links=links))["meta"]["created"] == 100
    await town.loaded()
    assert await town.visit(f"/{word}") == NOT_FOUND
    assert await town.visit(f"/{spelled[599]}") == spelled[599]
    assert await town.visit(f"/{spelled[599]}.") == spelled[599]
    assert await town.visit(f"/{word}", CUSTOM) == NOT_FOUND
    await town.make(word.upper(), CUSTOM)
    assert await town.visit(f"/{word}", CUSTOM) == word.upper()


# ── any addresses ───────────────────────────────────────────────────────────────────────────────────────────────────


class Anything:
    """Links with random addresses on two hosts. The slug of a link is its address on one of them."""

    def __init__(self, random: Random) -> None:
        self.slugs = {self._text(random, "aAbB_"): random.choice([HOST.decode(), CUSTOM]) for _ in range(6)}
        self.generated = {slug for slug in self.slugs if random.random() < 0.2 and "_" not in slug}
        paths = {self._text(random, "aAbB_./&") for _ in range(6)}
        self.aliases = {path: random.choice([*self.slugs]) for path in paths if not path.startswith("/")}
        self.typed = [self._text(random, "aAbB_./&.") for _ in range(40)] + [*self.slugs, *self.aliases]

    @staticmethod
    def _text(random: Random, letters: str) -> str:
        return "".join(random.choice(letters) for _ in range(random.randint(1, 4)))

    def link(self, slug: str) -> UUID:
        return UUID(int=int.from_bytes(slug.encode()))

    def exact(self, host: str, path: str) -> str | None:
        """Return the slug of the link with this address."""
        return path if self.slugs.get(path) == host else self.aliases.get(path) if host == CUSTOM else None

    def folded(self, host: str, path: str) -> str | None:
        """Return the only link whose address differs by case, or None."""
        named = [slug for slug, at in self.slugs.items() if at == host and slug not in self.generated]
        found = {slug for slug in named if slug.lower() == path.lower()}
        if host == CUSTOM:
            found |= {slug for alias, slug in self.aliases.items() if alias.lower() == path.lower()}
        return found.pop() if len(found) == 1 else None

    def meant(self, host: str, path: str) -> str | None:
        spelled = [*self._shortened(path)]
        if "&" in path[1:] and not path.startswith("&"):
            base = path.partition("&")[0]
            spelled += [base, *self._shortened(base)]
        exact = (self.exact(host, each) for each in (path, *spelled))
        folded = (self.folded(host, each) for each in (path, *spelled))
        return next((slug for slug in (*exact, *folded) if slug), None)

    @staticmethod
    def _shortened(path: str) -> Iterator[str]:
        slashes = 1
        while path[1:] and (path[-1] in "._" or (path[-1] == "/" and slashes)):
            slashes -= path[-1] == "/"
            path = path[:-1]
            yield path


@pytest.fixture
def hosts(feed: ChangeFeed) -> HostTable:
    known = {CUSTOM.encode(): new_host(None, None, has_aliases=True)}
    return HostTable(Routes(known, is_embedded=False), feed, capacity=512)


@pytest.mark.parametrize("is_embedded", [True, False])
async def test_an_exact_address_keeps_its_answer(
    fast: Wire,
    plain: Wire,
    feed: ChangeFeed,
    source: Routes,
    alias_source: Routes,
    near_source: Routes,
    is_embedded: bool,
) -> None:
    for routes in (source, alias_source):
        routes.is_embedded = is_embedded
    random = Random(7)
    for _ in range(12):
        links = Anything(random)
        source.routes = {
            slug.encode(): new_route(host.encode(), f"https://example.com/{slug}", links.link(slug))
            for slug, host in links.slugs.items()
        }
        alias_source.routes = {
            alias_change(CUSTOM, path).encode(): new_alias(CUSTOM.encode(), slug, links.link(slug))
            for path, slug in links.aliases.items()
        }
        near_source.routes = {}
        named = [slug for slug in links.slugs if slug not in links.generated]
        for path, host in product((*links.typed, *named), (HOST.decode(), CUSTOM)):
            for folded in {path.lower(), *(each.path.decode().lower() for each in spellings(path.encode()))}:
                if slug := links.folded(host, folded):
                    key = f"{host}/{folded}".encode()
                    near_source.routes[key] = new_near(host.encode(), folded.encode(), slug, links.link(slug))
        feed.publish(["!", *map(near_change, (*named, *links.aliases))])
        for path, host, wire in product(links.typed, (HOST.decode(), CUSTOM), (fast, plain)):
            answer = await wire.say(b"GET /%b HTTP/1.1\r\nHost: %b\r\n\r\n" % (path.encode(), host.encode()))
            slug = links.exact(host, path) or links.meant(host, path)
            location = answer.partition(b"location: https://example.com/")[2].partition(b"\r\n")[0].decode()
            assert location == (slug or ""), (path, host, links.slugs, links.aliases, links.generated)


# ── without all addresses ───────────────────────────────────────────────────────────────────────────────────────────

HARMFUL = b"a.,;:!?)&b.,;:!?)" + b"/a." * 40


@pytest.fixture
def fresh(near_source: Routes, feed: ChangeFeed, table: RouteTable, hosts: HostTable, aliases: AliasTable) -> NearTable:
    """No filter is loaded."""
    return NearTable(near_source, feed, hosts, table, aliases, shared_host=HOST, ignores_case=True)


@pytest.mark.parametrize("sent", [HARMFUL, b"a.,;:!?)&b.,;:!?)", b"a" + b"/." * 40, b"x" + b"_" * 200])
async def test_an_unknown_address_costs_few_queries_before_the_filter_is_loaded(
    fast: Wire,
    fresh: NearTable,
    state: RedirectState,
    source: Routes,
    alias_source: Routes,
    near_source: Routes,
    sent: bytes,
) -> None:
    state.near = fresh
    source.is_embedded = alias_source.is_embedded = False
    for host in (HOST, CUSTOM.encode()):
        answer = await fast.say(b"GET /%b HTTP/1.1\r\nHost: %b\r\n\r\n" % (sent, host))
        assert answer.startswith(b"HTTP/1.1 404")
        asked = [key for routes in (source, alias_source, near_source) for key in routes.asked]
        assert len(asked) <= 16
        for routes in (source, alias_source, near_source):
            routes.asked.clear()


@pytest.mark.parametrize("lose", [NearTable.clear, NearTable.mark_feed_lost, NearTable.mark_feed_restored])
async def test_most_addresses_are_known_after_changes_were_missed(
    near: NearTable, near_source: Routes, source: Routes, feed: ChangeFeed, lose: Callable[[NearTable], None]
) -> None:
    source.routes = {b"a_": new_route(HOST, "https://example.com/a_", UUID(int=1))}
    feed.publish([near_change("a_")])
    assert (await near.load_link(HOST, b"a__'_.,")).route is not MISSING
    lose(near)
    assert (await near.load_link(HOST, b"a__'_.,")).route is not MISSING, "neither the first nor the last spelling"
    assert near.find_link(HOST, b"b") is None, "it may be new"
    near.mark_feed_complete()
    assert near.needs_filter == (lose is not NearTable.mark_feed_lost)
    near.start_loading()
    near.finish_loading(AddressFilter(10))
    assert near.find_link(HOST, b"b") is MISSING


async def test_few_beginnings_are_looked_up_before_the_filter_is_loaded(fresh: NearTable, feed: ChangeFeed) -> None:
    longer = [b"a/b/c/d/e", b"a/b/c/d", b"a/b/c", b"a/b"]
    assert fresh.possible_beginnings(longer) == longer[2:]
    fresh.start_loading()
    feed.publish([near_change("A/b/c/d")])
    fresh.possible_beginnings(longer)
    fresh.finish_loading(AddressFilter(10))
    assert fresh.possible_beginnings(longer) == [b"a/b/c/d"]


# ── pure ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_spellings_are_few() -> None:
    for sent in (b"x" + b"." * 4_000, b"x" + b"./" * 2_000, b"x&" * 2_000, b"%C2%A0." * 1_000, b"_" * 300):
        assert len(spellings(sent)) <= 17
    assert [spelling.path for spelling in spellings(b"x/.")] == [b"x/", b"x"]
    assert [spelling.path for spelling in spellings(b"a&b./")] == [b"a&b.", b"a&b", b"a"]
    assert query_of(b"a&b&c", b"d=e") == b"b&c&d=e"


@given(st.binary(max_size=40))
def test_any_bytes_have_spellings(sent: bytes) -> None:
    assert all(len(spelling.path) < len(sent) for spelling in spellings(sent))
    assert fold(fold(sent)) == fold(sent)


@given(st.sets(st.binary(min_size=1, max_size=20), max_size=200), st.binary())
def test_the_filter_has_what_was_added(added: set[bytes], other: bytes) -> None:
    addresses = AddressFilter(10)
    for address in added:
        addresses.add(address)
    assert all(address in addresses for address in added)


def test_the_filter_is_small_and_seldom_wrong() -> None:
    addresses = AddressFilter(100_000)
    addresses.add_hashes(hash(b"%d" % number) for number in range(100_000))
    assert addresses.size <= 4 * 100_000
    assert sum(b"x%d" % number in addresses for number in range(10_000)) < 300
    assert not addresses.is_full
    addresses.add_hashes(hash(b"y%d" % number) for number in range(200_000))
    assert addresses.is_full
