"""The DNS library behind `DnsRecords`."""

import asyncio
from collections.abc import Sequence
from typing import Any

import dns.asyncresolver
import dns.exception
import dns.message
import dns.name
import dns.nameserver
import dns.query
import dns.rdata
import dns.resolver

from waypost.outbound.dns_lookup import DnsLookup, LookupProblem, RecordType, printable

LIFETIME = 5.0  # seconds of a lookup, with all attempts
_ATTEMPT_TIMEOUT = 1.5
_MAX_RECORDS = 1_000


class Resolver:
    def __init__(self, servers: Sequence[tuple[str, int]]) -> None:
        """`servers`: addresses and ports. Without them the system's are used."""
        self._resolver = _new_resolver(servers)

    async def find(self, name: str, kind: RecordType) -> DnsLookup:
        """See `DnsRecords.find`."""
        try:
            is_full = "." in name
            origin = dns.name.root if is_full else None
            answer = await self._resolver.resolve(dns.name.from_text(name, origin), kind, search=not is_full)
        except (dns.exception.DNSException, OSError) as error:
            problem, code = _find_problem(error)
            return DnsLookup(name, problem=problem, code=code)
        return DnsLookup(name, tuple(_text(record) for record in answer))


def _text(record: dns.rdata.Rdata) -> str:
    pieces: Sequence[bytes] = getattr(record, "strings", ())
    if pieces:
        return b"".join(pieces).decode(errors="replace")
    return record.to_text().removesuffix(".").lower()


def _find_problem(error: Exception) -> tuple[LookupProblem, str]:
    match error:
        case dns.resolver.NXDOMAIN() | dns.resolver.YXDOMAIN() | dns.name.NameTooLong() | dns.name.LabelTooLong():
            return "no_name", ""
        case dns.resolver.NoAnswer():
            return "no_record", ""
        case dns.exception.Timeout():
            return "timed_out", ""
        case dns.resolver.NoNameservers():
            return _all_failed([tried[3] for tried in error.kwargs.get("errors", [])])
        case OSError():
            return "unreachable", ""
    return "server_failed", ""


def _all_failed(errors: Sequence[object]) -> tuple[LookupProblem, str]:
    if any(isinstance(error, dns.message.ChainTooLong) for error in errors):
        return "loop", ""
    if all(isinstance(error, OSError) for error in errors):
        return "unreachable", ""
    return "server_failed", next((printable(error) for error in errors if isinstance(error, str)), "")


def _new_resolver(servers: Sequence[tuple[str, int]]) -> dns.asyncresolver.Resolver:
    resolver = dns.asyncresolver.Resolver(configure=False)
    if servers:
        resolver.nameservers = [_NameServer(address, port) for address, port in servers]
    else:
        try:
            resolver.read_resolv_conf("/etc/resolv.conf")
            resolver.nameservers = [_NameServer(str(address)) for address in resolver.nameservers]
        except (OSError, dns.resolver.NoResolverConfiguration):
            resolver.nameservers = [_NameServer("127.0.0.1")]  # as the C library does
    resolver.timeout, resolver.lifetime = _ATTEMPT_TIMEOUT, LIFETIME
    return resolver


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
        if _count_records(wire) > _MAX_RECORDS:
            raise dns.exception.FormError
        answer = await asyncio.to_thread(dns.message.from_wire, wire)
        if not request.is_response(answer):
            raise dns.query.BadResponse
        return answer

    async def _over_tcp(self, query: bytes) -> bytes:
        reader, writer = await asyncio.open_connection(self.address, self.port)
        try:
            writer.write(len(query).to_bytes(2) + query)
            return await reader.readexactly(int.from_bytes(await reader.readexactly(2)))
        finally:
            writer.close()


def _count_records(wire: bytes) -> int:
    """Count the records as the header does, with questions."""
    return sum(int.from_bytes(wire[at : at + 2]) for at in range(4, 12, 2))
