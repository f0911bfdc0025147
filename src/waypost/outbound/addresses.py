"""Addresses that we may connect to: public ones that are not this machine's, and networks that the operator allows.

The table is our own: `ipaddress.is_global` counts multicast, NAT64 and IPv4-compatible addresses as public.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from pathlib import Path

from waypost.kit.proxies import Address, Network

NOT_PUBLIC_4 = tuple(
    IPv4Network(network)
    for network in (
        "0.0.0.0/8",  # this network
        "10.0.0.0/8",
        "100.64.0.0/10",  # carrier-grade NAT
        "127.0.0.0/8",
        "168.63.129.16/32",  # Azure's host agent: looks public, answers only inside
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


def unwrapped(address: Address) -> Address:
    """The IPv4 address inside a v4-mapped one, which is what a connection goes to."""
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address


def is_public(address: Address) -> bool:
    address = unwrapped(address)
    if isinstance(address, IPv4Address):
        return not any(address in network for network in NOT_PUBLIC_4)
    if address.scope_id is not None or address not in GLOBAL_UNICAST_6:
        return False
    return not any(address in network for network in NOT_PUBLIC_6)


def own_addresses(proc_net: Path = Path("/proc/net")) -> frozenset[Address]:
    """The machine's addresses on Linux; empty on other systems."""
    trie, inet6 = _read(proc_net / "fib_trie"), _read(proc_net / "if_inet6")
    found: set[Address] = {IPv4Address(text) for text in re.findall(r"\|-- ([0-9.]+)\n\s+/32 host LOCAL", trie)}
    found.update(IPv6Address(bytes.fromhex(line.split()[0])) for line in inet6.splitlines())
    return frozenset(found)


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""


@dataclass(frozen=True, slots=True)
class AllowedAddresses:
    """`allow` is the operator's setting and wins over every other rule."""

    allow: Sequence[Network] = ()
    own: frozenset[Address] = field(default_factory=own_addresses)

    def __contains__(self, address: Address) -> bool:
        address = unwrapped(address)
        if any(address in network for network in self.allow):
            return True
        return address not in self.own and is_public(address)
