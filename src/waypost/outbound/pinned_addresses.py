"""Address pinning for one request: every socket is checked when opened, and again once connected.

Checking at resolution is not enough: a client that gets an IP literal never asks its resolver.
"""

import socket
from collections.abc import Sequence
from ipaddress import ip_address
from types import SimpleNamespace

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult

from waypost.kit.proxies import Address
from waypost.outbound.addresses import AllowedAddresses
from waypost.outbound.errors import NotPublic


class PinnedAddresses(AbstractResolver):
    """Connects to `addresses`, which were resolved and checked once, and to no others."""

    def __init__(self, allowed: AllowedAddresses, addresses: Sequence[Address]) -> None:
        self._allowed = allowed
        self._addresses = addresses
        self._sockets: list[socket.socket] = []
        self.refused: NotPublic | None = None
        """Kept here because connecting to several addresses loses the exception's type."""

    async def resolve(
        self,
        host: str,
        port: int = 0,
        family: socket.AddressFamily = socket.AF_INET,  # noqa: ARG002  # aiohttp's
    ) -> list[ResolveResult]:
        return [
            ResolveResult(
                hostname=host,
                host=str(address),
                port=port,
                family=socket.AF_INET if address.version == 4 else socket.AF_INET6,
                proto=0,
                flags=socket.AI_NUMERICHOST,
            )
            for address in self._addresses
        ]

    def open_socket(self, target: aiohttp.AddrInfoType) -> socket.socket:
        family, kind, protocol, _, address = target
        self._check(str(address[0]))
        opened = socket.socket(family, kind, protocol)
        self._sockets.append(opened)
        return opened

    async def check_peer(self, _session: aiohttp.ClientSession, _context: SimpleNamespace, _params: object) -> None:
        self.check_connected()

    def check_connected(self) -> None:
        """Check the peers that the kernel reports, before a byte of the request is sent."""
        for opened in self._sockets:
            if opened.fileno() != -1:
                self._check(opened.getpeername()[0])

    async def close(self) -> None:
        """The connector closes the connections."""

    def _check(self, text: str) -> None:
        address = ip_address(text)
        if address not in self._addresses or address not in self._allowed:
            self.refused = NotPublic(f"{address} may not be connected to")
            raise OSError(str(self.refused))
