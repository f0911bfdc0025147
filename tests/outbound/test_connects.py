"""Whatever is accepted as a URL, and whatever name servers answer: every connect goes to a public address.

Watched at the socket itself: Python announces each connect to an audit hook, which here refuses it.
"""

import asyncio
import socket
import sys
from contextlib import suppress
from ipaddress import IPv4Address, IPv6Address, ip_address

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from servers import OPEN, Receiver, canary, name_server, page

from waypost.kit.urls import BadUrl, Url, canonical
from waypost.outbound import NotPublic, Outbound, OutboundError
from waypost.outbound.addresses import AllowedAddresses, HostResolver, IpAddress, PinnedAddresses, is_public


class Watch:
    """Audit hooks cannot be taken off again, so this one is put on once and switched."""

    def __init__(self) -> None:
        self.on = False
        self.seen: list[IpAddress] = []
        sys.addaudithook(self._hear)

    def _hear(self, event: str, arguments: tuple[object, ...]) -> None:
        if event == "socket.connect" and self.on and isinstance(arguments[1], tuple):
            self.seen.append(ip_address(arguments[1][0]))
            raise ConnectionRefusedError("watched")


WATCH = Watch()
MAPPED = st.ip_addresses(v=4).map(lambda four: IPv6Address(f"::ffff:{four}"))
NAT64 = st.ip_addresses(v=4).map(lambda four: IPv6Address(f"64:ff9b::{four}"))
ADDRESSES = st.one_of(st.ip_addresses(), MAPPED, NAT64, st.sampled_from(["127.0.0.1", "8.8.8.8"]).map(ip_address))
HOSTS = st.one_of(ADDRESSES.map(lambda a: f"[{a}]" if a.version == 6 else str(a)), st.just("any.test"), st.text())


@given(host=HOSTS, answers=st.lists(ADDRESSES, max_size=4))
@example("[::ffff:127.0.0.1]", [])
@example("any.test", [IPv4Address("8.8.8.8"), IPv4Address("127.0.0.1")])
@example("any.test", [IPv4Address("8.8.8.8"), IPv6Address("2606:4700::1111")])
def test_connects_to_allowed_addresses_only(host: str, answers: list[IpAddress]) -> None:
    try:
        url = canonical(f"http://{host}/")
    except BadUrl:
        return
    connects = asyncio.run(_connects(url, answers))
    assert all(is_public(address) for address in connects)
    offered = [ip_address(url.host)] if url.is_ip else answers
    if url.host == "any.test" or url.is_ip:
        assert set(connects) == (set(offered) if all(map(is_public, offered)) else set())


async def _connects(url: Url, answers: list[IpAddress]) -> list[IpAddress]:
    async with name_server() as names:
        for version, kind in ((4, "A"), (6, "AAAA")):
            names.has(url.host, [str(a) for a in answers if a.version == version], kind=kind)
        outbound = Outbound(dns_servers=[names.address])
        WATCH.seen, WATCH.on = [], True
        try:
            with suppress(OutboundError):
                await outbound.request("GET", url, deadline=30, max_body=1)
        finally:
            WATCH.on = False
    return [address for address in WATCH.seen if str(address) != names.address.partition(":")[0]]


class TestRoute:
    """The last line: what the client library is led to, checked when a socket opens and when it is connected."""

    def test_it_opens_no_socket_to_what_was_not_resolved(self) -> None:
        route = PinnedAddresses(AllowedAddresses(), [ip_address("8.8.8.8")], 80)
        with pytest.raises(OSError, match=r"8\.8\.4\.4"):
            route.open_socket((2, 1, 6, "", ("8.8.4.4", 80)))
        assert isinstance(route.refused, NotPublic)

    def test_it_opens_no_socket_to_what_is_not_public(self) -> None:
        route = PinnedAddresses(AllowedAddresses(), [ip_address("127.0.0.1")], 80)
        with pytest.raises(OSError, match=r"127\.0\.0\.1"):
            route.open_socket((2, 1, 6, "", ("127.0.0.1", 80)))

    async def test_it_stops_a_request_whose_name_was_resolved_wrongly(self, outbound: Outbound) -> None:
        class Liar(HostResolver):
            async def resolve(self, _url: Url) -> list[IpAddress]:
                return [ip_address("127.0.0.1")]

        outbound._pin = Liar(AllowedAddresses()).pin
        async with canary() as forbidden:
            with pytest.raises(NotPublic):
                await outbound.request("GET", canonical(forbidden.url(host="any.test")), deadline=30, max_body=1)
            assert forbidden.connections == 0

    async def test_it_stops_a_request_that_was_connected_elsewhere(
        self, outbound: Outbound, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        class Detour(socket.socket):
            def connect(self, _address: object) -> None:
                super().connect(("127.0.0.1", forbidden.port))

        monkeypatch.setattr(socket, "socket", Detour)
        async with canary() as forbidden:
            with pytest.raises(NotPublic):
                await outbound.request("GET", canonical("http://127.0.0.2:8080/"), deadline=30, max_body=1)
        assert forbidden.heads == []  # not a byte of the request arrived

    async def test_it_checks_the_peer(self) -> None:
        route = PinnedAddresses(AllowedAddresses(allow=[]), [ip_address("8.8.8.8")], 80)
        opened = route.open_socket((2, 1, 6, "", ("8.8.8.8", 80)))
        async with Receiver(page("")) as receiver:
            opened.connect((OPEN, receiver.port))  # as if the library had taken another way
            with pytest.raises(OSError, match=r"127\.0\.0\.2"):
                route.check_connected()
            opened.close()
        assert isinstance(route.refused, NotPublic)
