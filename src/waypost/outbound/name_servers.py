"""Which name servers are asked, and for how long: the operator's, or else the system's."""

import asyncio
import re
from collections.abc import Sequence
from ipaddress import ip_address
from typing import Any

import dns.asyncresolver
import dns.exception
import dns.message
import dns.nameserver
import dns.query
import dns.resolver

from waypost.kit.errors import SettingsError

LIFETIME = 5.0  # seconds, all tries together
_PER_TRY = 1.5
_MAX_RECORDS = 1_000
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
        made.nameservers = [_NameServer(str(address)) for address in made.nameservers]
    except (OSError, dns.resolver.NoResolverConfiguration):
        made.nameservers = [_NameServer("127.0.0.1")]  # as the C library does


class _NameServer(dns.nameserver.Do53Nameserver):
    """Parses what came over TCP in a thread: 64 KiB of a hostile zone take seconds, which is too long for the loop.

    What comes over UDP has 512 bytes at most, because we announce no more (EDNS).
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
