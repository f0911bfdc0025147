"""DNS lookups: uncached, within seconds, without raising.

Third parties choose the values: show them through `printable` only.
"""

import asyncio
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any, Literal

import dns.asyncresolver
import dns.exception
import dns.message
import dns.name
import dns.nameserver
import dns.query
import dns.rdata
import dns.resolver

from waypost.kit.errors import SettingsError

RecordType = Literal["TXT", "CNAME", "A", "AAAA"]
LookupProblem = Literal["no_name", "no_record", "server_failed", "timed_out", "unreachable", "loop"]
MAX_HOPS = 8
POINTS_TO_DEADLINE = 3.0  # seconds: a user waits for the page
MAX_PRINTED = 200  # characters
LIFETIME = 5.0  # seconds of a lookup, with all attempts
_ATTEMPT_TIMEOUT = 1.5
_MAX_RECORDS = 1_000
_SERVER = re.compile(r"\[(?P<six>[^\]]+)\](?::(?P<port6>[0-9]{1,5}))?|(?P<four>[0-9.]+)(?::(?P<port4>[0-9]{1,5}))?")


@dataclass(frozen=True, slots=True)
class DnsLookup:
    """The result of a lookup. Without values, `problem` is the reason."""

    name: str
    values: tuple[str, ...] = ()
    """TXT: the text, its strings joined. Others: names or addresses in lower case, without a trailing dot."""
    problem: LookupProblem | None = None
    code: str = ""
    """The name servers' own code: SERVFAIL, REFUSED."""

    @property
    def is_conclusive(self) -> bool:
        """False if no name server could answer: then it shows neither that the record exists nor that it does not."""
        return self.problem not in {"server_failed", "timed_out", "unreachable"}


class DnsRecords:
    def __init__(self, servers: Sequence[str] = ()) -> None:
        """`servers` as in WAYPOST_DNS_SERVERS; without them the system's are used. Raises SettingsError."""
        self._resolver = new_resolver(servers)

    async def find(self, name: str, kind: RecordType) -> DnsLookup:
        """Look up records. Follows aliases, except for CNAME itself."""
        try:
            answer = await self._resolver.resolve(dns.name.from_text(name), kind, search=False)
        except (dns.exception.DNSException, OSError) as error:
            problem, code = _find_problem(error)
            return DnsLookup(name, problem=problem, code=code)
        return DnsLookup(name, tuple(_text(record) for record in answer))

    async def aliases(self, name: str, *, until: str = "") -> tuple[DnsLookup, ...]:
        """Return the chain of CNAMEs from `name`; the last lookup ended it, at `until` or without a value."""
        chain: list[DnsLookup] = []
        while len(chain) < MAX_HOPS:
            chain.append(await self.find(name, "CNAME"))
            name = next(iter(chain[-1].values), "")
            if not name or name == until:
                return tuple(chain)
            if name in {hop.name for hop in chain}:
                break
        return (*chain, DnsLookup(name, problem="loop"))

    async def points_to(self, hostname: str, target: str) -> bool:
        """Return whether the host leads to `target`, by a CNAME or a shared address. False after 3 seconds."""
        try:
            async with asyncio.timeout(POINTS_TO_DEADLINE):
                chain, host_addresses, target_addresses = await asyncio.gather(
                    self.aliases(hostname, until=target), self.addresses(hostname), self.addresses(target)
                )
        except TimeoutError:
            return False
        return any(target in hop.values for hop in chain) or not set(host_addresses).isdisjoint(target_addresses)

    async def addresses(self, name: str) -> tuple[str, ...]:
        lookups = await asyncio.gather(self.find(name, "A"), self.find(name, "AAAA"))
        return tuple(value for lookup in lookups for value in lookup.values)


def printable(text: str) -> str:
    """Remove control characters and line breaks, and limit the length."""
    clean = "".join(" " if unicodedata.category(char)[0] in "CZ" else char for char in text[:MAX_PRINTED])
    return clean.strip() if len(text) <= MAX_PRINTED else f"{clean[:-1].strip()}…"


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


def new_resolver(servers: Sequence[str]) -> dns.asyncresolver.Resolver:
    """`servers`: addresses with an optional port. Without them the system's are used. Raises SettingsError."""
    resolver = dns.asyncresolver.Resolver(configure=False)
    if servers:
        resolver.nameservers = [_server(text) for text in servers]
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


def _server(text: str) -> _NameServer:
    match = _SERVER.fullmatch(text)
    host = (match["six"] or match["four"]) if match else text
    port = int((match and (match["port6"] or match["port4"])) or 53)
    try:
        address = ip_address(host)
    except ValueError:
        address = None
    if address is None or not 0 < port < 65_536:
        raise SettingsError(f"WAYPOST_DNS_SERVERS: {text!r} is not an IP address with an optional port")
    return _NameServer(str(address), port)
