"""Posting on kept connections: which one is used again, which is not, and where a new one may go."""

import asyncio
import socket
from collections.abc import AsyncIterator
from functools import partial
from ipaddress import ip_network

import pytest
import servers
from servers import ALLOW, ALLOW_SIX, OPEN, PRIVATE, NameServer, Receiver, always, canary, response

from waypost.kit.urls import Url, canonical
from waypost.outbound import NotPublic, Outbound, OutboundResponse, Poster, Unreachable, client, connection
from waypost.outbound.addresses import AllowedAddresses, HostResolver, IpAddress

LATE = 30.0  # a deadline that is not meant to pass
OK = servers.always(response(200, b"ok"))
Keeping = partial(Receiver, OK, keeps=True)


@pytest.fixture
async def posting(outbound: Outbound) -> AsyncIterator[Poster]:
    posting = Poster(outbound)
    yield posting
    await posting.close()


async def post(posting: Poster, url: str, *, deadline: float = LATE, max_body: int = 65_536) -> OutboundResponse:
    return await posting.post(canonical(url), headers={}, body=b"{}", deadline=deadline, max_body=max_body)


async def test_reuses_the_connection(names: NameServer, posting: Poster) -> None:
    names.has("site.test", [OPEN])
    async with Keeping() as receiver:
        url = canonical(receiver.url("/a/b%20c?q=%41&=", host="site.test"))
        headers = {"Content-Type": "application/json", "User-Agent": "Waypost-Webhooks", "X-Signature": "t=1,v1=ab"}
        for _ in range(3):
            answer = await posting.post(url, headers=headers, body=b'{"a":1}', deadline=LATE, max_body=2)
    assert (answer.status, answer.body, answer.url) == (200, b"ok", url)
    assert receiver.connections == 1
    assert receiver.bodies == [b'{"a":1}'] * 3
    assert set(receiver.heads) == {
        b"POST /a/b%%20c?q=%%41&= HTTP/1.1\r\nHost: site.test:%d\r\nUser-Agent: Waypost-Webhooks\r\nAccept: */*\r\n"
        b"Accept-Encoding: identity\r\nContent-Type: application/json\r\nX-Signature: t=1,v1=ab\r\n"
        b"Content-Length: 7\r\n\r\n" % receiver.port
    }


async def test_a_body_that_is_too_long_is_cut_off(posting: Poster) -> None:
    async with Receiver(always(response(201, b"x" * 70_000)), keeps=True) as receiver:
        first, second = [await post(posting, receiver.url()) for _ in range(2)]
        assert receiver.connections == 2
    assert (first.status, len(first.body), second.status) == (201, 65_536, 201)


async def test_ipv6(names: NameServer) -> None:
    posting = Poster(Outbound(allow=ALLOW_SIX, dns_servers=[names.address]))
    names.has("six.test", ["::1"], kind="AAAA")
    async with Keeping(host="::1") as receiver:
        for host in ("[::1]", "six.test"):
            assert (await post(posting, receiver.url(host=host))).body == b"ok"
    await posting.close()


async def test_redirects_are_not_followed(posting: Poster) -> None:
    async with canary() as forbidden, Receiver(servers.redirect(forbidden.url(), 307)) as receiver:
        assert (await post(posting, receiver.url())).status == 307
        assert forbidden.connections == 0


async def test_a_proxy_of_the_environment_is_not_used(posting: Poster, monkeypatch: pytest.MonkeyPatch) -> None:
    async with canary() as proxy, Keeping() as receiver:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, proxy.url())
        await post(posting, receiver.url())
        assert proxy.connections == 0


async def test_cookies_are_not_sent_back(posting: Poster) -> None:
    async with Receiver(servers.always(response(200, b"", set_cookie="a=b")), keeps=True) as receiver:
        for _ in range(2):
            await post(posting, receiver.url())
    assert not any(b"cookie" in head.lower() for head in receiver.heads)


async def test_a_packed_body_is_not_unpacked(posting: Poster) -> None:
    async with Receiver(servers.gzip_bomb(megabytes=1)) as receiver:
        assert (await post(posting, receiver.url())).body.startswith(b"\x1f\x8b")


class TestKeeping:
    async def test_as_many_as_are_used_at_once(self, posting: Poster) -> None:
        together = asyncio.Barrier(5)

        async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, head: bytes) -> None:
            await together.wait()
            await OK(reader, writer, head)

        async with Receiver(script, keeps=True) as receiver:
            for _ in range(3):
                await asyncio.gather(*(post(posting, receiver.url()) for _ in range(5)))
            assert receiver.connections == 5

    async def test_none_for_another_port_or_host(self, names: NameServer, posting: Poster) -> None:
        names.has("one.test", [OPEN])
        names.has("two.test", [OPEN])
        async with Keeping() as receiver, Keeping() as other:
            for _ in range(2):
                for url in (receiver.url(), other.url(), receiver.url(host="one.test"), receiver.url(host="two.test")):
                    await post(posting, url)
            assert (receiver.connections, other.connections) == (3, 1)

    async def test_none_for_another_scheme(self, posting: Poster) -> None:
        async with Keeping() as receiver:
            await post(posting, receiver.url())
            with pytest.raises(Unreachable, match="timed out"):  # it waits for the end of a head
                await post(posting, receiver.url().replace("http:", "https:"), deadline=0.5)
            assert receiver.connections == 2

    async def test_none_that_was_idle_too_long(self, posting: Poster, monkeypatch: pytest.MonkeyPatch) -> None:
        async with Keeping() as receiver:
            monkeypatch.setattr(client, "MAX_IDLE", 0.0)
            await post(posting, receiver.url())
            await post(posting, receiver.url())
            assert receiver.connections == 2

    async def test_idle_ones_are_closed(self, outbound: Outbound, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(client, "MAX_IDLE", 0.05)
        posting = Poster(outbound)
        async with Keeping() as receiver:
            await post(posting, receiver.url())
            await receiver.gone.wait()
        await posting.close()

    async def test_the_one_idle_longest_when_there_are_too_many(
        self, posting: Poster, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(connection, "MAX_KEPT", 2)
        async with Keeping() as first, Keeping() as second, Keeping() as third:
            for receiver in (first, second, first, third):
                await post(posting, receiver.url())
            await second.gone.wait()
            for receiver in (first, third):
                await post(posting, receiver.url())
            assert (first.connections, third.connections) == (1, 1)

    async def test_none_that_the_receiver_closes(self, posting: Poster) -> None:
        async with Receiver(servers.always(response(200, b"ok", connection="close"))) as receiver:
            for _ in range(2):
                assert (await post(posting, receiver.url())).body == b"ok"
            assert receiver.connections == 2

    async def test_close_ends_them(self, outbound: Outbound) -> None:
        posting = Poster(outbound)
        async with Keeping() as receiver:
            await post(posting, receiver.url())
            await posting.close()
            await receiver.gone.wait()

    async def test_giving_up_closes(self, posting: Poster) -> None:
        async with Receiver(servers.stall) as receiver:
            task = asyncio.create_task(post(posting, receiver.url()))
            while not receiver.heads:
                await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await receiver.gone.wait()


EVIL = response(200, b"evil")


class TestLeftOver:
    """What comes after the end of an answer is never taken for the next one, nor for its start."""

    @pytest.mark.parametrize("length", [*range(1, len(EVIL) + 1)])
    async def test_together_with_the_answer(self, posting: Poster, length: int) -> None:
        async with Receiver(servers.always(response(200, b"ok") + EVIL[:length]), keeps=True) as receiver:
            for _ in range(2):
                assert (await post(posting, receiver.url())).body == b"ok"
            assert receiver.connections == 2

    @pytest.mark.parametrize("left_over", [EVIL, EVIL[:20], b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 100 Continue\r\n\r\n"])
    async def test_together_with_its_body(self, posting: Poster, left_over: bytes) -> None:
        async def script(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter, _head: bytes) -> None:
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n")
            await asyncio.sleep(0.05)  # so that the client has most likely read the head by itself
            writer.write(b"ok" + left_over)

        async with Receiver(script, keeps=True) as receiver:
            for _ in range(2):
                assert (await post(posting, receiver.url())).body == b"ok"
            assert receiver.connections == 2

    @pytest.mark.parametrize("left_over", [EVIL, b"H", b"\r\n", b"\0"])
    async def test_later(self, outbound: Outbound, monkeypatch: pytest.MonkeyPatch, left_over: bytes) -> None:
        monkeypatch.setattr(client, "MAX_IDLE", LATE * 2)  # else it would be closed for that
        posting = Poster(outbound)
        answered = asyncio.Event()

        async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, head: bytes) -> None:
            await OK(reader, writer, head)
            if receiver.connections == 1:
                await answered.wait()
                writer.write(left_over)
                assert await reader.read() == b""  # the client left

        async with Receiver(script, keeps=True) as receiver:
            await post(posting, receiver.url())
            answered.set()
            async with asyncio.timeout(LATE):
                await receiver.gone.wait()
            assert (await post(posting, receiver.url())).body == b"ok"
            assert receiver.connections == 2
        await posting.close()


class TestWhere:
    @pytest.mark.parametrize("answers", [[PRIVATE], [OPEN, PRIVATE], ["169.254.169.254"]])
    async def test_no_private_address(self, names: NameServer, posting: Poster, answers: list[str]) -> None:
        names.has("inside.test", answers)
        async with Keeping() as receiver, canary(port=receiver.port) as forbidden:
            with pytest.raises(NotPublic, match=r"inside\.test has the address"):
                await post(posting, forbidden.url(host="inside.test"))
            with pytest.raises(NotPublic):
                await post(posting, forbidden.url())
            assert (receiver.connections, forbidden.connections) == (0, 0)

    async def test_a_name_is_asked_for_at_every_new_connection(
        self, names: NameServer, posting: Poster, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        names.has("rebind.test", [OPEN], [PRIVATE])
        async with Keeping() as receiver, canary(port=receiver.port) as forbidden:
            url = receiver.url(host="rebind.test")
            assert (await post(posting, url)).body == b"ok"
            monkeypatch.setattr(connection, "MAX_AGE", 0.0)
            assert (await post(posting, url)).body == b"ok"
            assert names.questions.count(("rebind.test", "A")) == 1
            with pytest.raises(NotPublic):
                await post(posting, url)
            await receiver.gone.wait()
            assert (receiver.connections, forbidden.connections) == (1, 0)

    async def test_each_of_many_at_once_has_its_own_way(self, names: NameServer, posting: Poster) -> None:
        names.has("in.test", [PRIVATE])
        names.has("out.test", [OPEN])
        async with Keeping() as receiver, canary(port=receiver.port) as forbidden:
            urls = [receiver.url(host=host) for host in ("in.test", "out.test", OPEN, PRIVATE)] * 5
            outcomes = await asyncio.gather(*(post(posting, url) for url in urls), return_exceptions=True)
            assert [type(outcome) for outcome in outcomes] == [
                NotPublic,
                OutboundResponse,
                OutboundResponse,
                NotPublic,
            ] * 5
            assert forbidden.connections == 0

    @pytest.mark.parametrize("host", ["any.test", PRIVATE])
    async def test_a_wrong_look_up_leads_nowhere(self, outbound: Outbound, posting: Poster, host: str) -> None:
        class Liar(HostResolver):
            async def resolve(self, _url: Url) -> list[IpAddress]:
                return [canary_address, canary_address]

        canary_address = ALLOW[0].network_address - 1
        outbound._pin = Liar(AllowedAddresses(ALLOW)).pin
        async with canary() as forbidden:
            with pytest.raises(NotPublic, match=r"127\.0\.0\.1 may not be connected to"):
                await post(posting, forbidden.url(host=host))
            assert forbidden.connections == 0

    async def test_connected_elsewhere_not_a_byte_is_sent(
        self, posting: Poster, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        class Detour(socket.socket):
            def connect(self, _address: object) -> None:
                super().connect((PRIVATE, forbidden.port))

        monkeypatch.setattr(socket, "socket", Detour)
        async with canary() as forbidden:
            with pytest.raises(NotPublic):
                await post(posting, "http://127.0.0.2:8080/")
            await forbidden.gone.wait()
        assert forbidden.heads == []

    async def test_the_next_address_is_tried(self, names: NameServer) -> None:
        names.has("two.test", ["127.0.0.3", OPEN])
        posting = Poster(Outbound(allow=[*ALLOW, ip_network("127.0.0.3/32")], dns_servers=[names.address]))
        async with Keeping() as receiver:
            assert (await post(posting, receiver.url(host="two.test"))).body == b"ok"
        await posting.close()
