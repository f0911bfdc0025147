"""DNS lookups: uncached, within seconds, without raising.

Third parties choose the values: show them through `printable` only. The DNS library is loaded by the first lookup, in a
thread: an idle process does without its 3 MB, and redirects do not wait for it.
"""

import asyncio
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from waypost.kit.errors import SettingsError
from waypost.kit.proxies import parse_ip
from waypost.outbound.dns_lookup import DnsLookup, RecordType

if TYPE_CHECKING:
    from waypost.outbound.dns_resolver import Resolver

MAX_HOPS = 8
POINTS_TO_DEADLINE = 3.0  # seconds: a user waits for the page
_SERVER = re.compile(r"\[(?P<six>[^\]]+)\](?::(?P<port6>[0-9]{1,5}))?|(?P<four>[0-9.]+)(?::(?P<port4>[0-9]{1,5}))?")


class DnsRecords:
    def __init__(self, servers: Sequence[str] = ()) -> None:
        """`servers` as in WAYPOST_DNS_SERVERS; without them the system's are used. Raises SettingsError."""
        self._servers = parse_servers(servers)
        self._resolver: Resolver | None = None

    async def find(self, name: str, kind: RecordType) -> DnsLookup:
        """Look up records. Follows aliases, except for CNAME itself."""
        if self._resolver is None:
            self._resolver = await asyncio.to_thread(self._new_resolver)
        return await self._resolver.find(name, kind)

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

    def _new_resolver(self) -> "Resolver":
        from waypost.outbound.dns_resolver import Resolver  # noqa: PLC0415  # see above

        return Resolver(self._servers)


def parse_servers(servers: Sequence[str]) -> list[tuple[str, int]]:
    """Return address and port of each. Raises SettingsError."""
    return [_server(text) for text in servers]


def _server(text: str) -> tuple[str, int]:
    match = _SERVER.fullmatch(text)
    host = (match["six"] or match["four"]) if match else text
    port = int((match and (match["port6"] or match["port4"])) or 53)
    address = parse_ip(host)
    if address is None or not 0 < port < 65_536:
        raise SettingsError(f"WAYPOST_DNS_SERVERS: {text} is not an IP address with an optional port")
    return str(address), port
