"""Requests through the operator's proxy: the rules for addresses, deadlines and sizes are the same as without."""

import asyncio
import ssl
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pytest
import servers
import trustme
from connect_proxy import ConnectProxy
from hostile_urls import PRIVATE
from servers import ALLOW, OPEN, NameServer, Receiver, canary, page, redirect
from structlog.testing import capture_logs

from waypost.kit.ids import new_id
from waypost.kit.outbound_proxy import ProxyServer, parse_proxy_url
from waypost.kit.urls import ANY_NAME, PrivateNames, canonical
from waypost.outbound import (
    DestinationChecker,
    NotPublic,
    OperatorOutbound,
    Outbound,
    OutboundError,
    OutboundResponse,
    Poster,
    Unreachable,
    UrlSafety,
    connection,
)
from waypost.outbound.proxy import LATE
from waypost.outbound.response_reader import CLOSED, NOT_HTTP, TOO_LARGE, TOO_MANY_INTERIM
from waypost.settings import Settings

PASSWORD, QUOTED = "pa ss@word:/", "pa%20ss%40word%3A%2F"
BY_PROXY = "?resolve=proxy"
SOON, LATER = 0.5, 30.0
OTHER = "127.0.0.4"
DID_NOT_WAIT = "the proxy did not wait for the host's response"
UNUSABLE = "the response of the proxy cannot be used"


def through(url: str, names: NameServer, **options: Any) -> Outbound:
    return Outbound(allow=ALLOW, dns_servers=[names.address], proxy=parse_proxy_url(url), **options)


async def get(
    outbound: Outbound, url: str, *, deadline: float = LATER, connect_timeout: float | None = None
) -> OutboundResponse:
    return await outbound.request(
        "GET", canonical(url), deadline=deadline, connect_timeout=connect_timeout, max_body=65_536
    )


async def reason_of(outbound: Outbound, url: str = f"http://{OPEN}:8080/", **options: float) -> str:
    with pytest.raises(Unreachable) as caught:
        await get(outbound, url, **options)
    return caught.value.in_words


class TestConnections:
    async def test_it_is_asked_for_the_checked_address(self, names: NameServer) -> None:
        names.has("site.test", [OPEN])
        async with ConnectProxy() as proxy, Receiver(page("Hello")) as receiver:
            url = receiver.url("/a?b", host="site.test")
            assert (await get(through(proxy.url(), names), url)).body == b"Hello"
        assert proxy.asked == [f"{OPEN}:{receiver.port}"]
        assert receiver.heads[0].startswith(b"GET /a?b HTTP/1.1\r\nHost: site.test:")

    async def test_it_looks_up_names_if_set(self, names: NameServer) -> None:
        async with ConnectProxy(leads={"site.test": OPEN}) as proxy, Receiver(page("Hello")) as receiver:
            url = receiver.url(host="site.test")
            assert (await get(through(proxy.url(query=BY_PROXY), names), url)).body == b"Hello"
        assert (proxy.asked, names.questions) == ([f"site.test:{receiver.port}"], [])

    @pytest.mark.parametrize("query", ["", BY_PROXY])
    async def test_tls_is_with_the_host(self, names: NameServer, tmp_path: Path, query: str) -> None:
        authority = trustme.CA()
        authority.cert_pem.write_to_path(tmp_path / "ca.pem")
        names.has("site.test", [OPEN])
        tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        authority.issue_cert("site.test").configure_cert(tls)
        leads = {"site.test": OPEN, "other.test": OPEN}
        names.has("other.test", [OPEN])
        async with ConnectProxy(leads=leads) as proxy, Receiver(page("secret"), tls=tls) as receiver:
            outbound = through(proxy.url(query=query), names, ca_file=tmp_path / "ca.pem")
            assert (await get(outbound, receiver.url(host="site.test"))).body == b"secret"
            reason = await reason_of(outbound, receiver.url(host="other.test"))
            assert reason.startswith("HTTPS failed: Hostname mismatch")
            assert (await reason_of(through(proxy.url(query=query), names), receiver.url(host="site.test"))) == (
                "HTTPS failed: unable to get local issuer certificate"
            )
        assert len(proxy.asked) == 3

    async def test_ipv6(self, names: NameServer) -> None:
        async with ConnectProxy(host="::1") as proxy, Receiver(page("six"), host="::1") as receiver:
            server = parse_proxy_url(f"http://[::1]:{proxy.port}")
            outbound = Outbound(allow=servers.ALLOW_SIX, dns_servers=[names.address], proxy=server)
            assert (await get(outbound, f"http://[::1]:{receiver.port}/")).body == b"six"
        assert proxy.asked == [f"[::1]:{receiver.port}"]

    async def test_the_proxy_has_a_name(self, names: NameServer) -> None:
        names.has("proxy.internal", ["127.0.0.3"])
        async with ConnectProxy() as proxy, Receiver(page("Hello")) as receiver:
            outbound = through(f"http://proxy.internal:{proxy.port}", names)
            assert (await get(outbound, receiver.url())).body == b"Hello"

    async def test_it_gets_user_and_password(self, names: NameServer) -> None:
        async with ConnectProxy(credentials=f"waypost:{PASSWORD}") as proxy, Receiver(page("Hello")) as receiver:
            outbound = through(proxy.url(f"waypost:{QUOTED}"), names)
            assert (await get(outbound, receiver.url())).body == b"Hello"
            assert b"Proxy-Authorization" not in receiver.heads[0]

    async def test_a_connection_is_kept_for_the_next_post(self, names: NameServer) -> None:
        async with ConnectProxy() as proxy, Receiver(page("ok"), keeps=True) as receiver:
            poster = Poster(through(proxy.url(), names))
            for _ in range(3):
                await poster.post(canonical(receiver.url()), headers={}, body=b"{}", deadline=LATER, max_body=100)
            await poster.close()
        assert (len(proxy.asked), len(receiver.heads)) == (1, 3)

    async def test_the_operators_own_servers_may_be_private(self, names: NameServer) -> None:
        async with ConnectProxy() as proxy, Receiver(page("private"), host=servers.PRIVATE) as receiver:
            outbound = OperatorOutbound(dns_servers=[names.address], proxy=parse_proxy_url(proxy.url()))
            assert (await get(outbound, receiver.url())).body == b"private"
        assert proxy.asked == [f"{servers.PRIVATE}:{receiver.port}"]

    async def test_the_next_address_is_tried(self, names: NameServer, monkeypatch: pytest.MonkeyPatch) -> None:
        names.has("site.test", [OTHER])  # asked for first: answers of one family have no order
        names.has("site.test", ["::1"], kind="AAAA")
        allow = [ip_network(OTHER), *servers.ALLOW_SIX]
        async with ConnectProxy(refuses={OTHER: 502}) as proxy, Receiver(page("Hello"), host="::1") as receiver:
            outbound = Outbound(allow=allow, dns_servers=[names.address], proxy=parse_proxy_url(proxy.url()))
            assert (await get(outbound, receiver.url(host="site.test"))).body == b"Hello"
            assert proxy.asked == [f"{host}:{receiver.port}" for host in (OTHER, "[::1]")]
        monkeypatch.setattr(connection, "TRY_TIMEOUT", 0.05)
        async with Receiver(stall_first(OTHER), host="127.0.0.3") as slow:
            server = parse_proxy_url(f"http://127.0.0.3:{slow.port}")
            outbound = Outbound(allow=allow, dns_servers=[names.address], proxy=server)
            assert (await get(outbound, "http://site.test:8080/")).body == b"Hello"


def stall_first(host: str) -> servers.Script:
    """A proxy that never answers for one host, and answers itself for the others."""

    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, head: bytes) -> None:
        if host.encode() in head:
            await reader.read()
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        await reader.readuntil(b"\r\n\r\n")
        await page("Hello")(reader, writer, head)

    return script


class TestAddresses:
    @pytest.mark.parametrize("query", ["", BY_PROXY])
    async def test_private_addresses_are_refused(self, names: NameServer, query: str) -> None:
        async with ConnectProxy() as proxy:
            outbound = through(proxy.url(query=query), names)
            for text in PRIVATE:
                with pytest.raises(NotPublic):
                    await get(outbound, text)
        assert proxy.asked == []

    async def test_a_name_that_leads_to_a_private_address_is_refused(self, names: NameServer) -> None:
        names.has("inside.test", [servers.PRIVATE])
        names.has("mixed.test", [OPEN, servers.PRIVATE])
        names.has("rebind.test", [OPEN], [servers.PRIVATE])
        async with ConnectProxy() as proxy, Receiver(page("open")) as receiver, canary(port=receiver.port) as forbidden:
            outbound = through(proxy.url(), names)
            assert (await get(outbound, receiver.url(host="rebind.test"))).body == b"open"
            for name in ("inside.test", "mixed.test", "rebind.test"):
                with pytest.raises(NotPublic):
                    await get(outbound, receiver.url(host=name))
            assert forbidden.connections == 0
        assert proxy.asked == [f"{OPEN}:{receiver.port}"]

    @pytest.mark.parametrize("query", ["", BY_PROXY])
    async def test_no_redirect_leads_inside(self, names: NameServer, query: str) -> None:
        names.has("inside.test", [servers.PRIVATE])
        async with ConnectProxy() as proxy, canary() as forbidden:
            checker = DestinationChecker(through(proxy.url(query=query), names), UrlSafety())
            hosts = ["127.0.0.1", "127.1", "2130706433", "[::ffff:127.0.0.1]", "localhost", "wiki", "db.internal"]
            for host in hosts if query else [*hosts, "inside.test"]:
                async with Receiver(redirect(f"http://{host}:{forbidden.port}/")) as receiver:
                    with pytest.raises(OutboundError):
                        await checker.fetch_metadata(canonical(receiver.url()), account=new_id())
                    assert proxy.asked[-1] == f"{OPEN}:{receiver.port}"
            assert forbidden.connections == 0

    async def test_it_gets_no_name_that_is_not_of_the_internet(self) -> None:
        async with ConnectProxy(leads={"wiki.internal": OPEN}) as proxy, Receiver(page("wiki")) as receiver:
            server = parse_proxy_url(proxy.url(query=BY_PROXY))
            outbound = Outbound(names=PrivateNames(("wiki.internal",)), proxy=server)
            for host in ("localhost", "localhost.localdomain", "wiki", "db.internal"):
                url = canonical(receiver.url(host=host), private=ANY_NAME)
                with pytest.raises(NotPublic):
                    await outbound.request("GET", url, deadline=LATER, max_body=100)
            assert proxy.asked == []
            url = canonical(receiver.url(host="wiki.internal"), private=ANY_NAME)
            for each in (outbound, OperatorOutbound(proxy=server)):
                assert (await each.request("GET", url, deadline=LATER, max_body=100)).body == b"wiki"

    async def test_each_hop_goes_through_it(self, names: NameServer) -> None:
        names.has("next.test", [OPEN])
        async with (
            ConnectProxy() as proxy,
            Receiver(page("<title>Last</title>")) as last,
            Receiver(redirect(last.url(host="next.test"))) as first,
        ):
            checker = DestinationChecker(through(proxy.url(), names), UrlSafety())
            metadata = await checker.fetch_metadata(canonical(first.url()), account=new_id())
        assert metadata.title == "Last"
        assert proxy.asked == [f"{OPEN}:{first.port}", f"{OPEN}:{last.port}"]


class TestFailures:
    @pytest.mark.parametrize(
        ("status", "reason"),
        [
            (403, "the proxy refused to connect to the host (403)"),
            (302, "the proxy refused to connect to the host (302)"),
            (502, "the proxy could not connect to the host (502)"),
        ],
    )
    async def test_a_refusal_has_its_status(self, names: NameServer, status: int, reason: str) -> None:
        async with ConnectProxy(refuses={OPEN: status}) as proxy:
            assert await reason_of(through(proxy.url(), names)) == reason
        assert len(proxy.asked) == 1

    async def test_wrong_credentials(self, names: NameServer) -> None:
        async with ConnectProxy(credentials="waypost:right") as proxy:
            assert await reason_of(through(proxy.url(), names)) == ("the proxy requires a user name and password (407)")
            wrong = through(proxy.url(f"waypost:{QUOTED}"), names)
            assert await reason_of(wrong) == "the proxy refused the user name and password (407)"

    @pytest.mark.parametrize(
        ("script", "reason"),
        [
            (servers.always(b""), f"{UNUSABLE}: {CLOSED}"),
            (servers.always(b"HTTP/1.1 200 OK\r\n"), DID_NOT_WAIT),
            (servers.reset, "the proxy closed the connection"),
            (servers.always(b"SSH-2.0-OpenSSH_9.2\r\n"), f"{UNUSABLE}: {NOT_HTTP}"),
            (servers.always(b"HTTP/1.1 OK\r\n\r\n"), f"{UNUSABLE}: {NOT_HTTP}"),
            (
                servers.always(b"HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 200 OK\r\n"),
                DID_NOT_WAIT,
            ),
            (servers.huge_head, f"{UNUSABLE}: {TOO_LARGE}"),
            (servers.many_headers, f"{UNUSABLE}: {TOO_LARGE}"),
            (servers.endless_interim(), f"{UNUSABLE}: {TOO_MANY_INTERIM}"),
        ],
        ids=["closed", "cut off", "reset", "other protocol", "no status", "too much", "header", "headers", "interim"],
    )
    async def test_a_faulty_proxy(self, names: NameServer, script: servers.Script, reason: str) -> None:
        async with Receiver(script, host="127.0.0.3") as proxy:
            assert await reason_of(through(f"http://127.0.0.3:{proxy.port}", names)) == reason
            await proxy.gone.wait()

    @pytest.mark.parametrize("script", [servers.stall, servers.drip_head], ids=["silent", "a byte now and then"])
    async def test_the_deadline_covers_the_proxy(self, names: NameServer, script: servers.Script) -> None:
        async with Receiver(script, host="127.0.0.3") as proxy:
            outbound = through(f"http://127.0.0.3:{proxy.port}", names)
            assert await reason_of(outbound, deadline=SOON) == LATE
            assert await reason_of(outbound, deadline=LATER * 10, connect_timeout=SOON) == LATE
            await proxy.gone.wait()

    async def test_a_slow_host_is_not_the_proxys_fault(self, names: NameServer) -> None:
        async with ConnectProxy() as proxy, Receiver(servers.stall) as receiver:
            assert await reason_of(through(proxy.url(), names), receiver.url(), deadline=4 * SOON) == "timed out"

    async def test_no_proxy_is_there(self, names: NameServer) -> None:
        async with ConnectProxy() as proxy:
            gone = proxy.url()
        assert await reason_of(through(gone, names)) == "the proxy cannot be reached: connection refused"
        unknown = through("http://proxy.internal:3128", names)
        assert await reason_of(unknown) == "the proxy cannot be reached: there is no such host"


class TestSettings:
    @pytest.mark.parametrize(
        "text",
        [
            "socks5://proxy:1080",
            "https://proxy:3128",
            "proxy:3128",
            "http://proxy",
            "http://:3128",
            "http://proxy:0",
            "http://proxy:99999",
            "http://proxy:3128/path",
            "http://proxy:3128?resolve=here",
            "http://proxy:3128?resolve=proxy&x=1",
            "http://proxy:3128#x",
            "http://user:{}/x@proxy:3128",
            "http://user:{}@pro xy:3128",
            "http://user:{}@2130706433:3128",
        ],
    )
    def test_a_wrong_url_is_refused_without_its_password(self, text: str) -> None:
        with pytest.raises(ValueError, match=r"^(must|only) ") as caught:
            parse_proxy_url(text.format("secret"))
        assert "secret" not in str(caught.value)

    def test_parts_are_decoded(self) -> None:
        server = parse_proxy_url(f"http://way%40post:{QUOTED}@proxy.internal:3128/{BY_PROXY}")
        url = canonical("http://proxy.internal:3128/", private=ANY_NAME)
        assert server == ProxyServer(url, "way@post", PASSWORD, resolves_names=True)
        assert parse_proxy_url("") is None

    async def test_the_password_is_nowhere(self, names: NameServer) -> None:
        async with ConnectProxy(credentials="waypost:right") as proxy:
            url = proxy.url(f"waypost:{QUOTED}")
            with capture_logs() as logs:
                reason = await reason_of(through(url, names))
            settings = Settings(outbound_proxy=url)
        texts = [reason, str(logs), repr(settings), str(settings), repr(settings.proxy)]
        assert not [text for text in texts if QUOTED in text or PASSWORD in text]
