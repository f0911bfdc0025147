"""Host names to addresses, asked once per request and never remembered.

Refuses a host as soon as one of its answers is not public: which of several a connect takes is chance.
"""

import asyncio
from collections import defaultdict
from collections.abc import Mapping, Sequence
from ipaddress import ip_address
from pathlib import Path

import dns.exception
import dns.name
import dns.resolver

from waypost.kit.urls import Url
from waypost.outbound.addresses import Address, Reachable
from waypost.outbound.errors import NotPublic, Unreachable
from waypost.outbound.name_servers import resolver

MAX_ADDRESSES = 8  # tried in turn; a long list must not become a scan


class Names:
    def __init__(self, reachable: Reachable, servers: Sequence[str] = ()) -> None:
        """`servers`: addresses with an optional port. Without them the system's servers and hosts file count."""
        self._reachable = reachable
        self._resolver = resolver(servers)
        self._hosts: Mapping[str, Sequence[Address]] = {} if servers else _hosts_file()

    async def resolve(self, url: Url) -> list[Address]:
        """Addresses that may all be connected to, at least one. Raises NotPublic, Unreachable."""
        addresses = [ip_address(url.host)] if url.is_ip else await self._look_up(url.host)
        refused = [address for address in addresses if address not in self._reachable]
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
            raise _why(answers)
        return addresses

    async def _ask(self, name: dns.name.Name, kind: str) -> list[Address]:
        try:
            answer = await self._resolver.resolve(name, kind, search=False)
        except dns.resolver.NoAnswer:
            return []
        return [ip_address(record.address) for record in answer]


def _why(answers: Sequence[object]) -> Exception:
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
