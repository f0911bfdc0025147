"""Connections through the operator's proxy, which is asked by CONNECT (RFC 9110, section 9.3.6), also for http URLs.

By default names are looked up here, and the proxy is asked for an address that was checked: it cannot be led to
another one. The proxy itself may have any address.
"""

import asyncio
import base64
import socket
from collections.abc import Sequence
from functools import partial

from waypost.kit.outbound_proxy import ProxyServer
from waypost.kit.urls import Url
from waypost.outbound.addresses import ANY_ADDRESS, HostResolver, PinnedAddresses
from waypost.outbound.errors import Unreachable
from waypost.outbound.response_reader import ResponseReader

LATE = "the proxy did not respond in time"
_CHUNK = 4_096  # bytes


class CannotConnect(Unreachable):
    """The proxy cannot connect to this address. It may be able to connect to another one of the host."""


class Proxy:
    def __init__(self, server: ProxyServer, targets: HostResolver, dns_servers: Sequence[str]) -> None:
        """`targets`: looks up and checks what the proxy is asked for."""
        self._server = server
        self._targets = targets
        self._own = HostResolver(ANY_ADDRESS, dns_servers)

    async def pin(self, url: Url) -> PinnedAddresses:
        """Return the addresses of the proxy, and how it is asked for the host. Raises NotPublic, Unreachable."""
        hosts = [str(address) for address in await self._targets.resolve(url)] or [url.host]
        authorities = (f"[{host}]:{url.port}" if ":" in host else f"{host}:{url.port}" for host in hosts)
        try:
            addresses = await self._own.resolve(self._server.url)
        except Unreachable as error:
            raise Unreachable(f"the proxy cannot be reached: {error.in_words}") from None
        ways = [partial(self._ask, authority) for authority in authorities]
        return PinnedAddresses(ANY_ADDRESS, addresses, self._server.url.port, ways)

    async def _ask(self, authority: str, opened: socket.socket) -> None:
        """Raises Unreachable."""
        lines = [f"CONNECT {authority} HTTP/1.1", f"Host: {authority}", "User-Agent: Waypost"]
        if self._server.user:
            credentials = f"{self._server.user}:{self._server.password}".encode()
            lines.append(f"Proxy-Authorization: Basic {base64.b64encode(credentials).decode()}")
        loop = asyncio.get_running_loop()
        try:
            await loop.sock_sendall(opened, "\r\n".join([*lines, "", ""]).encode())
            response = ResponseReader(lambda: loop.sock_recv(opened, _CHUNK))
            await response.read_head("CONNECT")
        except OSError:
            raise Unreachable("the proxy closed the connection") from None
        except Unreachable as error:
            raise Unreachable(f"the response of the proxy cannot be used: {error.reason}") from None
        status = response.status
        if status == 407:
            wants = "refused the user name and password" if self._server.user else "requires a user name and password"
            raise Unreachable(f"the proxy {wants} (407)")
        if status >= 500:
            raise CannotConnect(f"the proxy could not connect to the host ({status})")
        if status >= 300:
            raise Unreachable(f"the proxy refused to connect to the host ({status})")
        if not response.ends_with_head:
            raise Unreachable("the proxy did not wait for the host's response")
