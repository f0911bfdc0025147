"""Only Caddy may ask, and learns of verified hostnames only."""

from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime
from ipaddress import ip_network
from pathlib import Path

import httpx
import pytest
from redirect.wire import Routes
from resources.domains.certificates.conftest import domain
from sqlalchemy import insert, update

from waypost.database import Database
from waypost.redirect import ChangeFeed, HostTable, RouteSource, host_change, new_host
from waypost.resources.domains import HostSource, tls_api
from waypost.resources.domains.model import domains
from waypost.resources.links.aliases import has_aliases
from waypost.web import new_api

LIVE, CLAIMED, IDN = "go.brand.test", "claimed.test", "xn--gre-6ka8i.test"
VISITOR = "203.0.113.9"
ODD = ["", ".", "..", f".{LIVE}", f"{LIVE}..", f"a.{LIVE}", f"{LIVE}:443", f"{LIVE} ", f"{LIVE}%0A", "*.test", "test"]
ODD += ["%00", "127.0.0.1", "[::1]", "grüße.test", "a" * 64 + ".test", "a." * 200 + "test", "%ff.test", "' OR 1=1 --"]


@pytest.fixture
async def feed(tmp_path: Path) -> AsyncIterator[ChangeFeed]:
    opened = ChangeFeed(tmp_path / "changes")
    yield opened
    opened.close()


class Caddy:
    def __init__(self, source: RouteSource, feed: ChangeFeed) -> None:
        self.hosts = HostTable(source, feed, capacity=1_000)
        route = tls_api.ask_route(self.hosts, trusted=[ip_network("10.0.0.0/8")])
        self._app = new_api(None, [], [route])  # no endpoint needs a guard

    async def sends(self, path: str, *, peer: str = "127.0.0.1", verb: str = "GET", **headers: str) -> httpx.Response:
        transport = httpx.ASGITransport(self._app, client=(peer, 1234))
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            return await client.request(verb, path, headers=sent)

    async def asks(self, query: str) -> int:
        return (await self.sends(f"/internal/tls?{query}")).status_code


@pytest.fixture
async def caddy(db: Database, feed: ChangeFeed) -> Caddy:
    async with db.write() as tx:
        for name in (LIVE, CLAIMED, IDN):
            await tx.execute(insert(domains), domain(name, datetime.now(UTC), is_served=name != CLAIMED))
    return Caddy(HostSource(db, has_aliases), feed)


async def test_allows_verified_hostnames_only(caddy: Caddy, db: Database, feed: ChangeFeed) -> None:
    spellings = (LIVE, LIVE.upper(), f"{LIVE}.", IDN)
    assert [await caddy.asks(f"domain={name}") for name in spellings] == [200] * 4
    refused = [f"domain={name}" for name in (CLAIMED, *ODD)]
    refused += ["", "domain", f"host={LIVE}", f"Domain={LIVE}", f"domain={LIVE}&domain={LIVE}"]
    assert [query for query in refused if await caddy.asks(query) != 404] == []
    answer = await caddy.sends(f"/internal/tls?domain={LIVE}")
    assert (answer.content, answer.headers["cache-control"]) == (b"", "no-store")
    assert (await caddy.sends(f"/internal/tls?domain={LIVE}", verb="POST")).status_code == 405

    async with db.write() as tx:
        await tx.execute(update(domains).values(is_served=domains.c.hostname == CLAIMED))
    feed.publish([host_change(LIVE), host_change(CLAIMED)])
    assert [await caddy.asks(f"domain={name}") for name in (LIVE, CLAIMED)] == [404, 200]


@pytest.mark.parametrize(
    ("peer", "headers", "is_answered"),
    [
        ("::1", {}, True),
        ("10.0.0.7", {}, True),
        ("127.0.0.1", {"x_forwarded_for": "10.0.0.9"}, True),
        (VISITOR, {}, False),
        (VISITOR, {"x_forwarded_for": "127.0.0.1"}, False),
        ("127.0.0.1", {"x_forwarded_for": VISITOR}, False),
        ("127.0.0.1", {"via": "1.1 proxy"}, False),
        ("", {}, False),
    ],
)
async def test_who_may_ask(feed: ChangeFeed, peer: str, headers: Mapping[str, str], is_answered: bool) -> None:
    caddy = Caddy(Routes({LIVE.encode(): new_host(None, None)}), feed)
    if is_answered:
        assert (await caddy.sends(f"/internal/tls?domain={LIVE}", peer=peer, **headers)).status_code == 200
        return
    for verb in ("GET", "HEAD", "POST", "DELETE", "OPTIONS", "BREW"):
        answer = await caddy.sends(f"/internal/tls?domain={LIVE}", peer=peer, verb=verb, **headers)
        unknown = await caddy.sends("/internal/tlx", peer=peer, verb=verb, **headers)
        assert (answer.status_code, answer.headers, answer.content) == (404, unknown.headers, unknown.content)


async def test_made_up_names_are_looked_up_once_and_forgotten_in_the_end(feed: ChangeFeed) -> None:
    source = Routes(is_embedded=False)
    caddy = Caddy(source, feed)
    names = [f"{number:08x}.test" for number in range(1_000)]
    assert {await caddy.hosts.load(name.encode()) for name in names} == {await caddy.hosts.load(b"00000000.test")}
    assert {await caddy.asks(f"domain={name}") for name in names} == {404}
    assert len(source.asked) == 1_000
    assert len(caddy.hosts) == 0  # they take no room from names that are served
    for number in range(25_000):
        await caddy.hosts.load(b"%08d.example" % number)
    assert await caddy.asks(f"domain={names[0]}") == 404
    assert len(source.asked) == 26_001  # it was forgotten: what is remembered has a bound


async def test_without_the_database_only_what_is_known_is_served(feed: ChangeFeed) -> None:
    source = Routes({LIVE.encode(): new_host(None, None)}, is_embedded=False)
    caddy = Caddy(source, feed)
    assert await caddy.asks(f"domain={LIVE}") == 200
    source.is_gone = True
    assert [await caddy.asks(f"domain={name}") for name in (LIVE, CLAIMED, "odd name")] == [200, 503, 404]
