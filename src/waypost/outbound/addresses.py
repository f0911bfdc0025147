"""Addresses that we may connect to: public ones that are not this machine's, and networks that the operator allows.

A host's addresses are looked up once per request, never cached, and checked again on every socket. The table of
networks is our own: `ipaddress.is_global` counts multicast, NAT64 and IPv4-compatible addresses as public.
"""

import asyncio
import re
import socket
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from pathlib import Path

from aiohappyeyeballs import AddrInfoType

from waypost.kit.proxies import IpAddress, Network
from waypost.kit.urls import ANY_NAME, NO_NAME, PrivateNames, Url, is_public_name
from waypost.outbound.dns_records import DnsRecords
from waypost.outbound.errors import NoSuchHost, NotPublic, Unreachable

ConnectOn = Callable[[socket.socket], Awaitable[None]]

MAX_ADDRESSES = 8  # tried in turn; a long list must not become a scan

NOT_PUBLIC_4 = tuple(
    IPv4Network(network)
    for network in (
        "0.0.0.0/8",  # this network
        "10.0.0.0/8",
        "100.64.0.0/10",  # carrier-grade NAT
        "127.0.0.0/8",
        "168.63.129.16/32",  # Azure's host agent: looks public, responds only inside
        "169.254.0.0/16",  # link-local, and the clouds' metadata services
        "172.16.0.0/12",
        "192.0.0.0/24",  # protocol assignments
        "192.0.2.0/24",  # documentation
        "192.88.99.0/24",  # 6to4 relays
        "192.168.0.0/16",
        "198.18.0.0/15",  # benchmarks
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # class E and broadcast
    )
)
# everything outside it is not unicast on the internet: loopback, ULA, link-local, NAT64, SRv6, multicast …
GLOBAL_UNICAST_6 = IPv6Network("2000::/3")
NOT_PUBLIC_6 = tuple(
    IPv6Network(network)
    for network in (
        "2001::/23",  # protocol assignments: Teredo, benchmarks, ORCHID
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4: embeds any IPv4 address
        "3fff::/20",  # documentation
    )
)
# of hosts that the settings name; without the addresses at which clouds hand out credentials
PRIVATE: tuple[Network, ...] = (
    IPv4Network("10.0.0.0/8"),
    *IPv4Network("100.64.0.0/10").address_exclude(IPv4Network("100.100.100.200/32")),
    IPv4Network("172.16.0.0/12"),
    IPv4Network("192.168.0.0/16"),
    *IPv6Network("fc00::/7").address_exclude(IPv6Network("fd00:ec2::254/128")),
)
# why a host has no address; the first match applies, since the failure of one family hides the other's
_NO_ADDRESS = {
    "unreachable": "the name servers cannot be reached",
    "timed_out": "timed out",
    "no_name": "there is no such host",
    "server_failed": "the name servers gave no usable response",
    "loop": "the name servers gave no usable response",
    "no_record": "the host has no address",
}
_NO_HOST = {"no_name", "no_record"}


def unwrap(address: IpAddress) -> IpAddress:
    """Return the IPv4 address inside a v4-mapped one, which is what a connection goes to."""
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address


def is_public(address: IpAddress) -> bool:
    address = unwrap(address)
    if isinstance(address, IPv4Address):
        return not any(address in network for network in NOT_PUBLIC_4)
    if address.scope_id is not None or address not in GLOBAL_UNICAST_6:
        return False
    return not any(address in network for network in NOT_PUBLIC_6)


def own_addresses(proc_net: Path = Path("/proc/net")) -> frozenset[IpAddress]:
    """Return the machine's addresses on Linux; empty on other systems."""
    trie, inet6 = _read(proc_net / "fib_trie"), _read(proc_net / "if_inet6")
    addresses: set[IpAddress] = {IPv4Address(text) for text in re.findall(r"\|-- ([0-9.]+)\n\s+/32 host LOCAL", trie)}
    addresses.update(IPv6Address(bytes.fromhex(line.split()[0])) for line in inet6.splitlines())
    return frozenset(addresses)


def _read(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""


@dataclass(frozen=True, slots=True)
class AllowedAddresses:
    """The addresses that may be connected to. `allow`, a setting, overrides every other rule."""

    allow: Sequence[Network] = ()
    own: frozenset[IpAddress] = field(default_factory=own_addresses)
    names: PrivateNames = NO_NAME

    def of_host(self, host: str) -> "AllowedAddresses":
        """A host that the settings name may also have private addresses: no loopback, no link-local ones."""
        return replace(self, allow=(*self.allow, *PRIVATE)) if host in self.names else self

    def __contains__(self, address: IpAddress) -> bool:
        address = unwrap(address)
        if any(address in network for network in self.allow):
            return True
        return address not in self.own and is_public(address)


ANY_ADDRESS = AllowedAddresses((IPv4Network("0.0.0.0/0"), IPv6Network("::/0")), own=frozenset(), names=ANY_NAME)
"""For servers that the operator's settings name."""


class HostResolver:
    def __init__(self, allowed: AllowedAddresses, servers: Sequence[str] = ()) -> None:
        """`servers`: addresses with an optional port. Without them the system's servers and hosts file are used."""
        self._allowed = allowed
        self._records = DnsRecords(servers)
        self._hosts: Mapping[str, Sequence[IpAddress]] = {} if servers else _hosts_file()

    async def pin(self, url: Url) -> "PinnedAddresses":
        """Return the addresses for one connection. Raises NotPublic, Unreachable."""
        return PinnedAddresses(self._allowed.of_host(url.host), await self.resolve(url), url.port)

    async def resolve(self, url: Url) -> list[IpAddress]:
        """Return the addresses of a host, at least one. Raises NotPublic, Unreachable.

        A host is refused if one of its addresses is: a connection may use any of them.
        """
        addresses = [ip_address(url.host)] if url.is_ip else await self._look_up(url.host)
        allowed = self._allowed.of_host(url.host)
        refused = [address for address in addresses if address not in allowed]
        if refused:
            raise NotPublic(f"{url.host} has the address {refused[0]}")
        return addresses[:MAX_ADDRESSES]

    async def _look_up(self, host: str) -> list[IpAddress]:
        if host in self._hosts:
            return list(self._hosts[host])
        lookups = await asyncio.gather(self._records.find(host, "A"), self._records.find(host, "AAAA"))
        addresses = [ip_address(value) for lookup in lookups for value in lookup.values]
        if not addresses:
            problems = {lookup.problem for lookup in lookups}
            problem = next(problem for problem in _NO_ADDRESS if problem in problems)
            error = NoSuchHost if problem in _NO_HOST else Unreachable
            raise error(f"dns: {_NO_ADDRESS[problem]}")
        return addresses


def _hosts_file(path: Path = Path("/etc/hosts")) -> Mapping[str, Sequence[IpAddress]]:
    hosts: dict[str, list[IpAddress]] = defaultdict(list)
    for line in _read(path).splitlines():
        address, *names = line.partition("#")[0].split() or [""]
        for name in names:
            try:
                hosts[name.lower()].append(ip_address(address))
            except ValueError:
                break
    return hosts


class UnresolvedHosts(HostResolver):
    """Leaves names to a proxy, which looks them up. Only literal addresses and the names themselves are checked."""

    async def _look_up(self, host: str) -> list[IpAddress]:
        if not (is_public_name(host) or host in self._allowed.names):
            raise NotPublic(f"{host} never leads to the internet")
        return []


class PinnedAddresses:
    """The addresses of one connection, resolved and checked once. Every socket is checked when opened and connected.

    Checking at resolution is not enough: a client that gets an IP literal never asks its resolver.
    """

    def __init__(
        self,
        allowed: AllowedAddresses,
        addresses: Sequence[IpAddress],
        port: int,
        connect_on: Sequence[ConnectOn] = (),
    ) -> None:
        """`connect_on`: the ways to have the peer, a proxy, connect to the host; tried in turn."""
        self.addresses = addresses
        self.port = port
        self.connect_on = connect_on
        self._allowed = allowed
        self._sockets: list[socket.socket] = []
        self.refused: NotPublic | None = None
        """Kept here because connecting to several addresses loses the exception's type."""

    def open_socket(self, target: AddrInfoType) -> socket.socket:
        family, kind, protocol, _, address = target
        self._check(str(address[0]))
        opened = socket.socket(family, kind, protocol)
        self._sockets.append(opened)
        return opened

    def check_connected(self) -> None:
        """Check the peers that the kernel reports, before a byte of the request is sent."""
        for opened in self._sockets:
            if opened.fileno() != -1:
                self._check(opened.getpeername()[0])

    def _check(self, text: str) -> None:
        address = ip_address(text)
        if address not in self.addresses or address not in self._allowed:
            self.refused = NotPublic(f"{address} may not be connected to")
            raise OSError(str(self.refused))
