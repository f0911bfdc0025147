"""One request to the outside: what it sends, where it may go, and what an answer may cost."""

import asyncio
import gzip
import tracemalloc
import zlib
from pathlib import Path

import pytest
import servers
from servers import OPEN, NameServer, Receiver, canary, page

from waypost.kit.urls import Url, canonical
from waypost.outbound import NotPublic, Outbound, OutboundResponse, Pace, Unreachable
from waypost.settings import SettingsError

SOON = 0.5  # a deadline that is meant to pass
LATE = 30.0  # one that is not
GZIP, RAW = gzip.compress(b"hello", mtime=0), zlib.compress(b"hello", wbits=-15)


async def get(
    outbound: Outbound, url: str | Url, *, deadline: float = LATE, max_body: int = 65_536
) -> OutboundResponse:
    return await outbound.request(
        "GET", url if isinstance(url, Url) else canonical(url), deadline=deadline, max_body=max_body
    )


async def test_sends_a_request_and_reads_the_response(names: NameServer, outbound: Outbound) -> None:
    names.has("site.test", [OPEN])
    async with Receiver(page("<h1>Hello</h1>")) as receiver:
        url = canonical(receiver.url("/a/b%20c?q=%41&=#top", host="site.test"))
        answer = await get(outbound, url)
    assert (answer.status, answer.body, answer.url) == (200, b"<h1>Hello</h1>", url)
    assert answer.headers["content-TYPE"] == "text/html; charset=utf-8"
    head = receiver.heads[0].decode()
    assert head.startswith("GET /a/b%20c?q=%41&= HTTP/1.1\r\n")
    assert f"\r\nHost: site.test:{receiver.port}\r\n" in head
    assert "\r\nUser-Agent: Waypost\r\n" in head


async def test_a_body_and_headers_are_sent_as_given(outbound: Outbound) -> None:
    async with Receiver(page("ok")) as receiver:
        headers = {"Content-Type": "application/json", "X-Signature": "t=1,v1=ab"}
        await outbound.request(
            "POST", canonical(receiver.url()), headers=headers, body=b'{"a":1}', deadline=LATE, max_body=10
        )
    assert receiver.bodies == [b'{"a":1}']
    assert b"\r\nX-Signature: t=1,v1=ab\r\n" in receiver.heads[0]


async def test_ipv6(names: NameServer) -> None:
    outbound = Outbound(allow=servers.ALLOW_SIX, dns_servers=[names.address])
    names.has("six.test", ["::1"], kind="AAAA")
    async with Receiver(page("six"), host="::1") as receiver:
        assert (await get(outbound, f"http://[::1]:{receiver.port}/")).body == b"six"
        assert (await get(outbound, f"http://six.test:{receiver.port}/")).body == b"six"
    assert f"Host: [::1]:{receiver.port}".encode() in receiver.heads[0]


async def test_redirects_are_not_followed(outbound: Outbound) -> None:
    async with canary() as forbidden, Receiver(servers.redirect(forbidden.url())) as receiver:
        assert (await get(outbound, receiver.url())).status == 302
        assert forbidden.connections == 0


async def test_a_proxy_of_the_environment_is_not_used(outbound: Outbound, monkeypatch: pytest.MonkeyPatch) -> None:
    async with canary() as proxy, Receiver(page("direct")) as receiver:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, proxy.url())
        assert (await get(outbound, receiver.url())).body == b"direct"
        assert proxy.connections == 0


async def test_an_unwanted_type_is_not_read(outbound: Outbound) -> None:
    async with Receiver(servers.always(servers.response(200, b"%PDF", content_type="application/pdf"))) as receiver:
        answer = await outbound.request(
            "GET", canonical(receiver.url()), deadline=LATE, max_body=10, body_types=["text/html"]
        )
    assert (answer.status, answer.body) == (200, b"")


async def test_a_body_that_drips_is_given_up_long_before_the_deadline(outbound: Outbound) -> None:
    pace = Pace(first_byte=0.2, rate=1 << 20)
    async with Receiver(servers.drip) as receiver:
        with pytest.raises(Unreachable, match="timed out"):
            await outbound.request("GET", canonical(receiver.url()), deadline=3600.0, max_body=1 << 20, pace=pace)


async def test_what_arrives_extends_the_time_of_a_response(outbound: Outbound) -> None:
    """Each byte buys an hour, so that it is read to its end although no more time was left at first."""
    pace = Pace(first_byte=LATE, rate=1)
    async with Receiver(page("x" * 100_000)) as receiver:
        answer = await outbound.request("GET", canonical(receiver.url()), deadline=LATE, max_body=1 << 20, pace=pace)
    assert len(answer.body) == 100_000


class TestWhere:
    async def test_a_private_address_is_refused(self, outbound: Outbound) -> None:
        async with canary() as forbidden:
            with pytest.raises(NotPublic):
                await get(outbound, forbidden.url())
            assert forbidden.connections == 0

    async def test_a_name_that_leads_to_a_private_address_is_refused(
        self, names: NameServer, outbound: Outbound
    ) -> None:
        names.has("inside.test", [servers.PRIVATE])
        async with canary() as forbidden:
            with pytest.raises(NotPublic):
                await get(outbound, forbidden.url(host="inside.test"))
            assert forbidden.connections == 0

    async def test_one_private_answer_among_others_is_enough(self, names: NameServer, outbound: Outbound) -> None:
        names.has("mixed.test", [OPEN, servers.PRIVATE])
        names.has("six.test", [OPEN])
        names.has("six.test", ["::1"], kind="AAAA")
        async with Receiver(page("open")) as receiver, canary(port=receiver.port) as forbidden:
            for name in ("mixed.test", "six.test"):
                with pytest.raises(NotPublic):
                    await get(outbound, receiver.url(host=name))
            assert (receiver.connections, forbidden.connections) == (0, 0)

    async def test_a_name_is_asked_for_once_and_every_time(self, names: NameServer, outbound: Outbound) -> None:
        """Public when checked, private when connected to: a second look-up would walk into it."""
        names.has("rebind.test", [OPEN], [servers.PRIVATE])
        async with Receiver(page("open")) as receiver, canary(port=receiver.port) as forbidden:
            url = receiver.url(host="rebind.test")
            assert (await get(outbound, url)).body == b"open"
            assert names.questions.count(("rebind.test", "A")) == 1
            with pytest.raises(NotPublic):
                await get(outbound, url)
            assert (receiver.connections, forbidden.connections) == (1, 0)

    async def test_an_alias_is_followed_and_checked(self, names: NameServer, outbound: Outbound) -> None:
        names.has("alias.test", ["other.test"], kind="CNAME")
        names.has("other.test", ["end.test"], kind="CNAME")
        names.has("end.test", [OPEN], [servers.PRIVATE])
        async with Receiver(page("open")) as receiver, canary(port=receiver.port) as forbidden:
            assert (await get(outbound, receiver.url(host="alias.test"))).body == b"open"
            with pytest.raises(NotPublic):
                await get(outbound, receiver.url(host="alias.test"))
            assert forbidden.connections == 0

    async def test_own_addresses_are_refused_unless_opened(self, names: NameServer) -> None:
        own = Outbound(dns_servers=[names.address])
        async with canary() as forbidden:
            with pytest.raises(NotPublic):
                await get(own, forbidden.url())
            assert forbidden.connections == 0


class TestCost:
    @pytest.mark.parametrize(
        "script", [servers.stall, servers.stall_after_head, servers.drip, servers.drip_head], ids=lambda s: s.__name__
    )
    async def test_the_deadline_is_a_total(self, outbound: Outbound, script: servers.Script) -> None:
        async with Receiver(script) as receiver:
            with pytest.raises(Unreachable, match="timed out"):
                await get(outbound, receiver.url(), deadline=SOON)
            await receiver.gone.wait()  # the connection was closed, not left behind

    async def test_the_deadline_holds_for_names(self, names: NameServer, outbound: Outbound) -> None:
        names.silent = True
        with pytest.raises(Unreachable, match="timed out"):
            await get(outbound, "http://silent.test/", deadline=SOON)

    async def test_the_deadline_holds_for_tls(self, outbound: Outbound) -> None:
        async with Receiver(servers.stall) as receiver:  # speaks no TLS and never answers the handshake
            with pytest.raises(Unreachable, match="timed out"):
                await get(outbound, receiver.url().replace("http:", "https:"), deadline=SOON)

    async def test_connecting_has_its_own_limit(self, outbound: Outbound) -> None:
        async with Receiver(servers.stall) as receiver:
            url = canonical(receiver.url().replace("http:", "https:"))
            with pytest.raises(Unreachable, match="timed out"):
                await outbound.request("GET", url, deadline=LATE * 10, connect_timeout=SOON, max_body=1)

    async def test_a_body_is_cut_off(self, outbound: Outbound) -> None:
        async with Receiver(servers.endless) as receiver:
            answer = await get(outbound, receiver.url(), max_body=100_000)
            await receiver.gone.wait()
        assert len(answer.body) == 100_000

    async def test_a_compressed_body_is_cut_off_unpacked(self, outbound: Outbound) -> None:
        async with Receiver(servers.gzip_bomb(megabytes=64)) as receiver:
            tracemalloc.start()
            answer = await get(outbound, receiver.url(), max_body=524_288)
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
        assert len(answer.body) == 524_288
        assert answer.body.startswith(b"<title>bomb</title>")
        assert peak < 8_000_000

    @pytest.mark.parametrize(
        ("encoding", "packed", "body"),
        [
            ("gzip", GZIP, b"hello"),
            ("deflate", zlib.compress(b"hello"), b"hello"),
            ("deflate", RAW, b"hello"),
            ("deflate", GZIP, b"hello"),
            ("gzip", zlib.compress(b"hello"), b"hello"),
            ("X-GZIP", GZIP, b"hello"),
            ("gzip, gzip", gzip.compress(GZIP, mtime=0), b"hello"),
            ("deflate, gzip", gzip.compress(RAW, mtime=0), b"hello"),
            ("gzip, identity,", GZIP, b"hello"),
            ("gzip, utf-8", GZIP, b"hello"),
            ("gzip", GZIP + GZIP + b"more", b"hello"),
            ("gzip", GZIP[:-6], b"hello"),
            ("identity", b"hello", b"hello"),
            ("", b"hello", b"hello"),
            ("none", b"hello", b"hello"),
            ("UTF-8", b"hello", b"hello"),
            ("aws-chunked", b"hello", b"hello"),
            ("text/html", b"hello", b"hello"),
            ("br", b"hello", b""),
            ("zstd", b"hello", b""),
            ("gzip, br", b"hello", b""),
            ("gzip, gzip, gzip, gzip", GZIP, b""),
            ("gzip", b"not gzip at all", b""),
            ("gzip", b"\x1f", b""),
        ],
    )
    async def test_a_body_is_decompressed_if_it_can_be_read(
        self, outbound: Outbound, encoding: str, packed: bytes, body: bytes
    ) -> None:
        async with Receiver(servers.always(servers.response(200, packed, content_encoding=encoding))) as receiver:
            assert (await get(outbound, receiver.url())).body == body

    async def test_a_body_that_is_compressed_twice_is_cut_off(self, outbound: Outbound) -> None:
        packed = gzip.compress(gzip.compress(bytes(64 << 20)) + bytes(64 << 20))
        answer = servers.response(200, packed, content_encoding="gzip, gzip")
        async with Receiver(servers.always(answer)) as receiver:
            tracemalloc.start()
            assert len((await get(outbound, receiver.url(), max_body=524_288)).body) <= 524_288
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
        assert peak < 8_000_000

    @pytest.mark.parametrize("script", [servers.huge_head, servers.many_headers], ids=lambda s: s.__name__)
    async def test_a_head_without_end_is_refused(self, outbound: Outbound, script: servers.Script) -> None:
        async with Receiver(script) as receiver:
            with pytest.raises(Unreachable, match="headers are too large"):
                await get(outbound, receiver.url())
            await receiver.gone.wait()


class TestFailures:
    @pytest.mark.parametrize(
        ("script", "reason"),
        [
            (servers.reset, "connection reset"),
            (servers.always(b""), "the connection was closed without a response"),
            (servers.always(b"SSH-2.0-OpenSSH_9.2\r\n\r\n"), "the response is not valid HTTP"),
        ],
    )
    async def test_it_has_a_plain_reason(self, outbound: Outbound, script: servers.Script, reason: str) -> None:
        async with Receiver(script) as receiver:
            with pytest.raises(Unreachable) as caught:
                await get(outbound, receiver.url())
        assert caught.value.reason == reason

    async def test_nobody_listens(self, outbound: Outbound) -> None:
        async with Receiver(page("")) as receiver:
            url = receiver.url()
        with pytest.raises(Unreachable, match="connection refused"):
            await get(outbound, url)

    async def test_no_such_name(self, outbound: Outbound) -> None:
        with pytest.raises(Unreachable, match="dns: there is no such host"):
            await get(outbound, "http://nowhere.test/")

    async def test_a_name_without_address(self, names: NameServer, outbound: Outbound) -> None:
        names.has("mail.test", [])
        with pytest.raises(Unreachable, match="dns: the host has no address"):
            await get(outbound, "http://mail.test/")

    async def test_the_caller_can_give_up(self, outbound: Outbound) -> None:
        async with Receiver(servers.stall) as receiver:
            task = asyncio.create_task(get(outbound, receiver.url()))
            while not receiver.heads:
                await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await receiver.gone.wait()


class TestSettings:
    @pytest.mark.parametrize("text", ["ns.example.com", "1.2.3", "1.2.3.4:", "1.2.3.4:99999", "[::1", ""])
    def test_a_name_server_is_an_address(self, text: str) -> None:
        with pytest.raises(SettingsError, match="WAYPOST_DNS_SERVERS"):
            Outbound(dns_servers=[text])

    @pytest.mark.parametrize(
        "text", ["192.0.2.1", "192.0.2.1:5353", "2001:db8::1", "[2001:db8::1]", "[2001:db8::1]:53"]
    )
    def test_with_an_optional_port(self, text: str) -> None:
        Outbound(dns_servers=[text])

    def test_a_missing_ca_file(self, tmp_path: Path) -> None:
        with pytest.raises(SettingsError, match="WAYPOST_OUTBOUND_CA_FILE"):
            Outbound(ca_file=tmp_path / "missing.pem")
