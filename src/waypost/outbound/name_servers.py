"""Which name servers are asked, and for how long: the operator's, or else the system's."""

import re
from collections.abc import Sequence
from ipaddress import ip_address

import dns.asyncresolver
import dns.nameserver
import dns.resolver

from waypost.kit.errors import SettingsError

LIFETIME = 5.0  # seconds, all tries together
_PER_TRY = 1.5
_SERVER = re.compile(r"\[(?P<six>[^\]]+)\](?::(?P<port6>[0-9]{1,5}))?|(?P<four>[0-9.]+)(?::(?P<port4>[0-9]{1,5}))?")


def resolver(servers: Sequence[str]) -> dns.asyncresolver.Resolver:
    """`servers`: addresses with an optional port. It keeps no answers. Raises SettingsError."""
    made = dns.asyncresolver.Resolver(configure=False)
    if servers:
        made.nameservers = [_server(text) for text in servers]
    else:
        _configure_from_system(made)
    made.timeout, made.lifetime = _PER_TRY, LIFETIME
    return made


def _configure_from_system(made: dns.asyncresolver.Resolver) -> None:
    try:
        made.read_resolv_conf("/etc/resolv.conf")
    except (OSError, dns.resolver.NoResolverConfiguration):
        made.nameservers = ["127.0.0.1"]  # as the C library does


def _server(text: str) -> dns.nameserver.Do53Nameserver:
    found = _SERVER.fullmatch(text)
    host = (found["six"] or found["four"]) if found else text
    port = int((found and (found["port6"] or found["port4"])) or 53)
    try:
        address = ip_address(host)
    except ValueError:
        address = None
    if address is None or not 0 < port < 65_536:
        raise SettingsError(f"WAYPOST_DNS_SERVERS: {text!r} is not an IP address with an optional port")
    return dns.nameserver.Do53Nameserver(str(address), port)
