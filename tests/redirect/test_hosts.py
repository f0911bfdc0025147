"""Custom domains as visitors meet them: whose link answers where, and what is said of everything else."""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pytest
from domains import domain
from journeys.service import Website
from people import Person, new_person
from wire import HOST, Routes, Wire, is_bot, new_click_limits, new_visitor_reader, route, serve

from waypost.database import Database
from waypost.http.connections import Connections
from waypost.redirect import (
    AliasTable,
    HostTable,
    NearTable,
    RedirectState,
    RouteTable,
    Spool,
    disabled_host,
    new_host,
)
from waypost.redirect.protocol import protocol_for
from waypost.redirect.route import NO_HOST
from waypost.settings import Settings
from waypost.web_app import open_full_app

CUSTOM = b"go.brand.test"
BARE = b"xn--bcher-kva.test"
PENDING = b"pending.test"
ROOT, UNKNOWN = b"https://brand.test/", b"https://brand.test/nothing?here"


@pytest.fixture
def known() -> Routes:
    """Hosts."""
    rows = {CUSTOM: new_host(ROOT.decode(), UNKNOWN.decode()), BARE: new_host(None, None)}
    return Routes(rows, is_embedded=False)


@pytest.fixture
def hosts(known: Routes, feed) -> HostTable:
    return HostTable(known, feed, capacity=512)


@pytest.fixture
def source() -> Routes:
    gone = route("https://example.com/gone", host=CUSTOM, expires_at=1.0)
    mine, bare = route("https://example.com/mine", host=CUSTOM), route("https://example.com/bare", host=BARE)
    pending = route("https://example.com/pending", host=disabled_host(PENDING))
    return Routes({b"hello": route(), b"mine": mine, b"bare": bare, b"gone": gone, b"pending": pending})


def get(path: str, host: bytes, *, method: str = "GET", more: str = "") -> bytes:
    return f"{method} {path} HTTP/1.1\r\n".encode() + b"Host: " + host + b"\r\n" + more.encode() + b"\r\n"


MINE, NOT_HERE = b"302 https://example.com/mine", b"302 " + UNKNOWN
NAMELESS = b"404 nothing"
PAGE = b"404 page"
SAID = {
    "its link": (get("/mine", CUSTOM), MINE),
    "in capitals": (get("/mine", b"Go.BRAND.test"), MINE),
    "with a dot": (get("/mine", CUSTOM + b"."), MINE),
    "with a dot and a port": (get("/mine", CUSTOM + b".:8443"), MINE),
    "with the usual port": (get("/mine", CUSTOM + b":80"), MINE),
    "with another port": (get("/mine", CUSTOM + b":65535"), MINE),
    "of letters": (get("/bare", BARE.upper()), b"302 https://example.com/bare"),
    "of letters, raw": (get("/bare", "bücher.test".encode()), NAMELESS),
    "its head": (get("/mine", CUSTOM, method="HEAD"), MINE),
    "its root": (get("/", CUSTOM), b"302 " + ROOT),
    "the head of its root": (get("/?q", CUSTOM, method="HEAD"), b"302 " + ROOT),
    "an unknown slug": (get("/nothing", CUSTOM), NOT_HERE),
    "the head of an unknown slug": (get("/nothing", CUSTOM, method="HEAD"), NOT_HERE),
    "what is no slug": (get("/a/b%0d%0aX:y", CUSTOM), NOT_HERE),
    "an expired link": (get("/gone", CUSTOM), NOT_HERE),
    "the shared domain's link": (get("/hello", CUSTOM), NOT_HERE),
    "another's link": (get("/bare", CUSTOM), NOT_HERE),
    "the application": (get("/api/v1/account", CUSTOM), NOT_HERE),
    "where authorities look": (get("/.well-known/pki-validation/a.txt", CUSTOM), NAMELESS),
    "where authorities look, in disguise": (get("/%2eWELL-known/pki-validation/a.txt", CUSTOM), NAMELESS),
    "where authorities look, with a verb": (get("/.well-known/acme-challenge/x", CUSTOM, method="PUT"), NAMELESS),
    "the same of nobody": (get("/.well-known/acme-challenge/x", b"evil.example", method="DELETE"), NAMELESS),
    "no pages of its own": (get("/nothing", BARE), PAGE),
    "no root of its own": (get("/", BARE + b":81"), PAGE),
    "its link on the shared domain": (get("/mine", HOST), PAGE),
    "not yet live": (get("/pending", PENDING), NAMELESS),
    "not yet live, spelt as it is kept": (get("/pending", b"\r\n " + PENDING), None),
    "unknown": (get("/mine", b"evil.example"), NAMELESS),
    "unknown, its root": (get("/", b"evil.example"), NAMELESS),
    "below it": (get("/mine", b"x." + CUSTOM), NAMELESS),
    "two dots": (get("/mine", CUSTOM + b".."), NAMELESS),
    "an address": (get("/mine", b"192.0.2.7:8000"), NAMELESS),
    "an address of six": (get("/mine", b"[2001:db8::1]:8000"), NAMELESS),
    "a script": (get("/<script>", b"<script>alert(1)</script>"), NAMELESS),
    "a user": (get("/mine", b"a@" + CUSTOM), NAMELESS),
    "an endless one": (get("/mine", b"a." * 3000 + b"test"), NAMELESS),
    "none": (get("/mine", b""), NAMELESS),
    "two": (get("/mine", CUSTOM, more=f"Host: {CUSTOM.decode()}\r\n"), NAMELESS),
    "two that differ": (get("/mine", CUSTOM, more="Host: evil.example\r\n"), NAMELESS),
    "forwarded": (get("/mine", b"evil.example", more=f"X-Forwarded-Host: {CUSTOM.decode()}\r\n"), NAMELESS),
    "the shared one with another port": (get("/hello", HOST + b":8080"), NAMELESS),
}


@pytest.mark.parametrize("name", SAID)
async def test_both_paths_answer_each_host_alike(name: str, fast: Wire, plain: Wire, visits) -> None:
    """The same from the fast protocol and ASGI. Only a link that resolves counts a click."""
    asked, expected = SAID[name]
    is_head = asked.startswith(b"HEAD")
    for wire in (fast, fast, plain):  # the second time from memory
        answer = await wire.say(asked, bodies=not is_head)
        if expected is not None:
            assert _said(answer) == expected
        assert b"evil" not in answer
        assert b"script" not in answer
        assert b"://example.com/pending" not in answer
    counted = expected is not None and b"example.com" in expected and not is_head
    assert len(visits()) == (3 if counted else 0)


async def test_notes_addresses_of_no_link(fast: Wire, plain: Wire, state: RedirectState) -> None:
    """Whatever says so, on hosts with links: not where a link ended, nor unknown hosts, nor the root."""
    agent = "User-Agent: Mozilla/5.0\r\n"
    for path, host in (
        *(("/nothing", CUSTOM), ("/a/b?q=1", CUSTOM), ("/nothing", BARE), ("/nothing", HOST), ("/not/here", HOST)),
        *(("/gone", CUSTOM), ("/mine", CUSTOM), ("/", BARE), ("/nothing", b"evil.example"), ("/.well-known/x", CUSTOM)),
    ):
        for wire in (fast, fast, plain):
            await wire.say(get(path, host, more=agent))
        await fast.say(get(path, host, method="HEAD", more=agent), bodies=False)
    assert {(each.host, each.path): each.visits for each in state.missed.take()} == {
        (CUSTOM, b"nothing"): 3,
        (CUSTOM, b"a/b"): 3,
        (BARE, b"nothing"): 3,
        (HOST, b"nothing"): 3,
        (HOST, b"not/here"): 3,
    }


def _said(answer: bytes) -> bytes:
    """Its status, and what matters beside it."""
    top, _, body = answer.partition(b"\r\n\r\n")
    status, *lines = top.split(b"\r\n")
    headers = dict(line.lower().split(b": ", 1) if b"location" not in line else line.split(b": ", 1) for line in lines)
    headers.pop(b"date")
    assert headers.pop(b"x-content-type-options") == b"nosniff"
    reported = headers.pop(b"location", None)
    if reported:
        assert (body, headers[b"cache-control"]) == (b"", b"private, no-store")
    elif b"<h1>Link not found" in body:
        reported = b"page"
    elif headers == {b"content-length": b"0"}:
        reported = b"nothing"
    return status.split()[1] + b" " + (reported or body)


async def test_loads_a_host_once(fast: Wire, known: Routes) -> None:
    for host in (CUSTOM, b"evil.example", CUSTOM.upper(), b"evil.example:81"):
        await asyncio.gather(*[fast.say(get(path, host)) for path in ("/", "/nothing", "/hello")])
    assert sorted(known.asked) == [b"evil.example", CUSTOM]
    for host in (b"evil", b"", b"a_b.test", b"x" * 64 + b".test", b"[::1]", b"%", b"a b.test", b"..", b"test."):
        await fast.say(get("/", host))  # nobody's name, whatever anybody registers
    assert sorted(known.asked) == [b"evil.example", CUSTOM]


async def test_a_change_is_seen_by_the_next_visit(fast: Wire, source: Routes, known: Routes, feed) -> None:
    asked = {name: get(path, host) for name, path, host in [("l", "/pending", PENDING), ("r", "/", PENDING)]}
    assert _said(await fast.say(asked["l"])) == _said(await fast.say(asked["r"])) == NAMELESS
    known.routes[PENDING] = new_host(ROOT.decode(), None)
    source.routes[b"pending"] = route("https://example.com/now", host=PENDING)
    feed.publish([f"@{PENDING.decode()}"])
    assert _said(await fast.say(asked["l"])) == b"302 https://example.com/now"
    assert _said(await fast.say(asked["r"])) == b"302 " + ROOT
    known.routes[PENDING] = new_host(None, None)
    feed.publish([PENDING.decode()])
    assert _said(await fast.say(asked["r"])) == PAGE
    del known.routes[PENDING]
    source.routes[b"pending"] = route("https://example.com/now")
    feed.publish([f"@{PENDING.decode()}"])
    assert _said(await fast.say(asked["l"])) == _said(await fast.say(asked["r"])) == NAMELESS
    assert _said(await fast.say(get("/pending", HOST))) == b"302 https://example.com/now"
    assert source.asked.count(b"pending") == 3


async def test_serves_known_hosts_without_the_source(fast: Wire, known: Routes) -> None:
    await fast.say(get("/", CUSTOM) + get("/", BARE), answers=2)
    known.is_gone = True
    assert _said(await fast.say(get("/", CUSTOM))) == b"302 " + ROOT
    assert _said(await fast.say(get("/", BARE))) == PAGE
    assert _said(await fast.say(get("/mine", CUSTOM))) == MINE
    answer = await fast.say(get("/", b"new.example"))
    assert answer.startswith(b"HTTP/1.1 503 ")
    assert b"retry-after: 1\r\n" in answer
    known.is_gone = False
    assert _said(await fast.say(get("/", b"new.example"))) == NAMELESS


async def test_a_flood_of_unknown_hosts_takes_little_memory(known: Routes, hosts: HostTable) -> None:
    assert await hosts.load(CUSTOM)
    for number in range(20_500):
        assert await hosts.load(b"host%d.example" % number) is NO_HOST
    assert len(hosts._missing) <= 20_000
    assert not hosts._loading
    asked = len(known.asked)
    assert await hosts.load(CUSTOM) == known.routes[CUSTOM]
    assert len(known.asked) == asked


# ── whose the application is ────────────────────────────────────────────────────────────────────────────────────────


HOSTS = ["app.test", "app.test:8000", "go.test", "go.brand.test", "evil.example", "10.0.0.7:80"]
HOSTS += ["localhost:8000", "127.0.0.1", "[::1]:8000"]


@pytest.mark.parametrize("app_host", ["app.test", "go.test", "app.test:8000"])
@pytest.mark.parametrize("host", HOSTS)
async def test_the_application_has_one_host(
    app_host: str,
    host: str,
    table: RouteTable,
    hosts: HostTable,
    aliases: AliasTable,
    near: NearTable,
    tmp_path: Path,
) -> None:
    spool = Spool(tmp_path / "spool-of-its-own", limit=1 << 20)
    state = RedirectState(
        table,
        hosts,
        aliases,
        near,
        spool,
        is_bot=is_bot,
        shared_host="go.test",
        app_host=app_host,
        app_segments={"", "api", "healthz"},
        all_hosts_segments={"healthz"},
        new_visitor_reader=new_visitor_reader,
        new_click_limits=lambda: new_click_limits(tmp_path),
    )
    is_its_own, is_loopback = host == app_host, "localhost" in host or "127." in host or "::1" in host
    name = host.encode()
    assert state.is_app(b"API", name) == state.is_app(b"", name) == (is_its_own or is_loopback)
    assert state.is_app(b"healthz", name) == (is_its_own or host != "go.test")
    assert not state.is_app(b"hello", name)
    spool.close()


# ── with everything real around it ──────────────────────────────────────────────────────────────────────────────────


@dataclass
class Town:
    """The whole application on a socket, and Alice's domain, which is live."""

    wire: Wire
    db: Database
    alice: Person
    domain: str

    async def ask(self, method: str, path: str, host: str = "app.test", more: str = "", **fields: Any) -> Any:
        key = f"Authorization: Bearer {self.alice.key}\r\nContent-Type: application/json\r\n"
        body = json.dumps(fields)
        given = f"{method} /api/v1{path} HTTP/1.1\r\nHost: {host}\r\n{more}{key}Content-Length: {len(body)}\r\n\r\n"
        answer = await self.wire.say(given.encode() + body.encode())
        return json.loads(answer.partition(b"\r\n\r\n")[2] or b"null")


@pytest.fixture
async def town(database_url: str, tmp_path: Path) -> AsyncIterator[Town]:
    names = {"base_url": "http://app.test", "shared_domain": HOST.decode()}
    here = {"data_dir": tmp_path, "database_url": database_url, "outbound_allow": [ip_network("127.0.0.0/8")]}
    async with open_full_app(Settings(**names, **here, secret_key="a key")) as web:
        alice = await new_person(web.db, "alice", now=datetime.now(UTC))
        id_ = await domain(web.db, alice.account_id, CUSTOM.decode(), root_url=ROOT.decode())
        async with serve(web.app, http=protocol_for(web.state, Connections())) as wire:
            yield Town(wire, web.db, alice, str(id_))


async def test_each_change_is_seen_by_the_very_next_visit(town: Town) -> None:
    with Website() as site:
        made = await town.ask("POST", "/links", destination_url=site.url, slug="mine", hostname=CUSTOM.decode())
        link = f"/links/{made['data']['id']}"
        there, led = b"302 " + site.url.encode(), b"404 page"

        async def seen() -> tuple[bytes, bytes, bytes]:
            """The link on its own domain, on the shared one, and another slug on its own; twice, so from memory."""
            asked = [get("/mine", CUSTOM), get("/mine", HOST), get("/nothing", CUSTOM)]
            first, second = [[_said(await town.wire.say(each)) for each in asked] for _ in range(2)]
            assert first == second
            return first[0], first[1], first[2]

        assert await seen() == (there, led, PAGE)
        assert (await town.ask("PATCH", link, hostname=None))["data"]["hostname"] == HOST.decode()
        assert await seen() == (PAGE, there, PAGE)
        await town.ask("PATCH", link, hostname=CUSTOM.decode())
        await town.ask("PATCH", f"/domains/{town.domain}", not_found_url="https://example.com/")
        assert await seen() == (there, led, b"302 https://example.com/")
        assert await town.ask("DELETE", f"/domains/{town.domain}") is None
        assert await seen() == (NAMELESS, there, NAMELESS)
        assert (await town.ask("GET", link))["data"]["short_url"] == f"{HOST.decode()}/mine"
        await domain(town.db, town.alice.account_id, CUSTOM.decode())  # registered again
        assert (await town.ask("GET", link))["data"]["short_url"] == f"{HOST.decode()}/mine"
        await town.ask("DELETE", link)
        assert _said(await town.wire.say(get("/mine", HOST))) == PAGE


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
async def test_never_builds_a_url_from_the_host_header(town: Town) -> None:
    """A request with an unknown host learns only the host of the settings, or nothing."""
    evil = "X-Forwarded-Host: evil.example\r\nX-Forwarded-Proto: gopher\r\nForwarded: host=evil.example\r\n"
    with Website() as site:
        made = [await town.ask("POST", "/links", "localhost:1", evil, destination_url=site.url) for _ in range(2)]
    id_ = made[0]["data"]["id"]
    for host in ("localhost:1", "[::1]:99", "app.test", "APP.test.:80"):
        page = await town.ask("GET", "/links?per_page=1&page=1", host, evil)
        code = (await town.ask("GET", f"/links/{id_}/qrcode", host, evil))["data"]
        urls = [url for url in page["links"].values() if url] + [code["image_url"]]
        assert len(urls) >= 4, page["links"]
        assert all(url.startswith("http://app.test/api/v1/") for url in urls), urls
        assert "evil" not in json.dumps([page, code])
    key = f"Authorization: Bearer {town.alice.key}\r\n"
    for host in (CUSTOM, HOST, b"evil.example", b"app.test:81", b"app.test.evil.example", b"127.0.0.1.evil.example"):
        assert _said(await town.wire.say(get("/api/v1/links", host, more=key))) in {PAGE, NAMELESS}, host
    for host, status in ((CUSTOM, b"200"), (b"192.0.2.7:8000", b"200"), (b"app.test", b"200"), (HOST, b"404")):
        assert (await town.wire.say(get("/healthz", host))).split()[1] == status, host
