"""DNS: which name servers are asked and for how long, and the addresses of a host that a request may connect to.

Addresses are looked up once per request and never cached. A host is refused as soon as one of its addresses is not
public, because which of several a connection takes is chance.
"""

import asyncio
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import dns.asyncresolver
import dns.exception
import dns.message
import dns.name
import dns.nameserver
import dns.query
import dns.resolver

from waypost.kit.errors import SettingsError
from waypost.kit.proxies import Address
from waypost.kit.urls import Url
from waypost.outbound.addresses import AllowedAddresses
from waypost.outbound.errors import NotPublic, Unreachable

MAX_ADDRESSES = 8  # tried in turn; a long list must not become a scan
LIFETIME = 5.0  # seconds, all tries together
_PER_TRY = 1.5
_MAX_RECORDS = 1_000
_SERVER = re.compile(r"\[(?P<six>[^\]]+)\](?::(?P<port6>[0-9]{1,5}))?|(?P<four>[0-9.]+)(?::(?P<port4>[0-9]{1,5}))?")


class HostResolver:
    def __init__(self, allowed: AllowedAddresses, servers: Sequence[str] = ()) -> None:
        """`servers`: addresses with an optional port. Without them the system's servers and hosts file are used."""
        self._allowed = allowed
        self._resolver = new_resolver(servers)
        self._hosts: Mapping[str, Sequence[Address]] = {} if servers else _hosts_file()

    async def resolve(self, url: Url) -> list[Address]:
        """Addresses that may all be connected to, at least one. Raises NotPublic, Unreachable."""
        addresses = [ip_address(url.host)] if url.is_ip else await self._look_up(url.host)
        refused = [address for address in addresses if address not in self._allowed]
        if refused:
            raise NotPublic(f"{url.host} has the address {refused[0]}")
        return addresses[:MAX_ADDRESSES]

    async def _look_up(self, host: str) -> list[Address]:
        if host in self._hosts:
            return list(self._hosts[host])
        name = dns.name.from_text(host)
        answers = await asyncio.gather(*(self._ask(name, kind) for kind in ("A", "AAAA")), return_exceptions=True)
        addresses = [address for answer in answers if isinstance(answer, list) for address in answer]
        if not addresses:
            raise _failure(answers)
        return addresses

    async def _ask(self, name: dns.name.Name, kind: str) -> list[Address]:
        try:
            answer = await self._resolver.resolve(name, kind, search=False)
        except dns.resolver.NoAnswer:
            return []
        return [ip_address(record.address) for record in answer]


def _failure(answers: Sequence[object]) -> Exception:
    """One family's failure does not matter while the other has addresses; here neither has."""
    for answer in answers:
        if isinstance(answer, BaseException) and not isinstance(answer, dns.exception.DNSException):
            return Unreachable("dns: the name servers cannot be reached")
    if any(isinstance(answer, dns.exception.Timeout) for answer in answers):
        return Unreachable("dns: timed out")
    if any(isinstance(answer, dns.resolver.NXDOMAIN) for answer in answers):
        return Unreachable("dns: there is no such host")
    if any(isinstance(answer, dns.exception.DNSException) for answer in answers):
        return Unreachable("dns: the name servers gave no usable answer")
    return Unreachable("dns: the host has no address")


def _hosts_file(path: Path = Path("/etc/hosts")) -> Mapping[str, Sequence[Address]]:
    hosts: dict[str, list[Address]] = defaultdict(list)
    try:
        lines = path.read_text(errors="replace").splitlines()
    except OSError:
        return {}
    for line in lines:
        address, *names = line.partition("#")[0].split() or [""]
        for name in names:
            try:
                hosts[name.lower()].append(ip_address(address))
            except ValueError:
                break
    return hosts


def new_resolver(servers: Sequence[str]) -> dns.asyncresolver.Resolver:
    """`servers`: addresses with an optional port. Without them the system's are used. Raises SettingsError."""
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
        made.nameservers = [_NameServer(str(address)) for address in made.nameservers]
    except (OSError, dns.resolver.NoResolverConfiguration):
        made.nameservers = [_NameServer("127.0.0.1")]  # as the C library does


class _NameServer(dns.nameserver.Do53Nameserver):
    """Parses responses over TCP in a thread: 64 KiB of a hostile zone take seconds, too long for the event loop.

    Responses over UDP have 512 bytes at most, because we announce no more (EDNS).
    """

    async def async_query(self, request: dns.message.QueryMessage, *args: Any, **options: Any) -> dns.message.Message:
        if not options["max_size"]:
            return await super().async_query(request, *args, **options)
        try:
            async with asyncio.timeout(options["timeout"]):
                wire = await self._over_tcp(request.to_wire())
        except TimeoutError:
            raise dns.exception.Timeout from None
        if _records(wire) > _MAX_RECORDS:
            raise dns.exception.FormError
        answer = await asyncio.to_thread(dns.message.from_wire, wire)
        if not request.is_response(answer):
            raise dns.query.BadResponse
        return answer

    async def _over_tcp(self, question: bytes) -> bytes:
        reader, writer = await asyncio.open_connection(self.address, self.port)
        try:
            writer.write(len(question).to_bytes(2) + question)
            return await reader.readexactly(int.from_bytes(await reader.readexactly(2)))
        finally:
            writer.close()


def _records(wire: bytes) -> int:
    """As the header counts them, questions included."""
    return sum(int.from_bytes(wire[at : at + 2]) for at in range(4, 12, 2))


def _server(text: str) -> _NameServer:
    found = _SERVER.fullmatch(text)
    host = (found["six"] or found["four"]) if found else text
    port = int((found and (found["port6"] or found["port4"])) or 53)
    try:
        address = ip_address(host)
    except ValueError:
        address = None
    if address is None or not 0 < port < 65_536:
        raise SettingsError(f"WAYPOST_DNS_SERVERS: {text!r} is not an IP address with an optional port")
    return _NameServer(str(address), port)
