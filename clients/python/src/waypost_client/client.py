"""The clients."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from waypost_client import async_resources, resources
from waypost_client._sender import AsyncSender, Options, Sender
from waypost_client._values import Json

if TYPE_CHECKING:
    from types import TracebackType

    import httpx
    from typing_extensions import Self

TIMEOUT = 60.0
"""Seconds. The service visits the destinations of new links: many at once may take half a minute."""


class Waypost:
    """A client of one service and API key. Threads may share it, and it may be used after a fork.

    `base_url` is the origin of the service. `timeout` is in seconds, for sending and for each part of a response;
    connecting may take 10 seconds. A request is sent again up to `retries` times after a fault of the network and
    after 429, 502, 503 and 504, with at most 60 seconds of waiting in all. `http_client` replaces the one that is
    made from `timeout`, for proxies or certificates of your own. You close it, and a fork must not share it.
    """

    def __init__(
        self,
        base_url: str,
        api_key: str,
        *,
        timeout: float = TIMEOUT,
        retries: int = 3,
        http_client: httpx.Client | None = None,
    ) -> None:
        self._base_url = base_url
        self._sender = sender = Sender(Options.checked(base_url, api_key, timeout, retries), http_client)
        self.account = resources.Account(sender)
        self.clicks = resources.Clicks(sender)
        self.domains = resources.Domains(sender)
        self.keys = resources.Keys(sender)
        self.links = resources.Links(sender)
        self.pixels = resources.Pixels(sender)
        self.qrcodes = resources.Qrcodes(sender)
        self.shares = resources.Shares(sender)
        self.templates = resources.Templates(sender)
        self.stats = resources.Stats(sender)
        self.tags = resources.Tags(sender)
        self.webhooks = resources.Webhooks(sender)

    def request(self, method: str, path: str, *, query: Json | None = None, body: Json | None = None) -> Any:
        """Send a request that has no method here, and return its JSON. `path` follows /api/v1, such as /links."""
        return self._sender.send(lambda payload: payload, method, path, query=query, body=body)

    def close(self) -> None:
        """Close the connections."""
        self._sender.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Waypost({self._base_url!r})"


class AsyncWaypost:
    """Like `Waypost`, asynchronous: methods are awaited, and lists are iterated with `async for`.

    Tasks may share it. Use one in each event loop.
    """

    def __init__(
        self,
        base_url: str,
        api_key: str,
        *,
        timeout: float = TIMEOUT,
        retries: int = 3,
        http_client: httpx.AsyncClient | None = None,
    ) -> None:
        self._base_url = base_url
        self._sender = sender = AsyncSender(Options.checked(base_url, api_key, timeout, retries), http_client)
        self.account = async_resources.Account(sender)
        self.clicks = async_resources.Clicks(sender)
        self.domains = async_resources.Domains(sender)
        self.keys = async_resources.Keys(sender)
        self.links = async_resources.Links(sender)
        self.pixels = async_resources.Pixels(sender)
        self.qrcodes = async_resources.Qrcodes(sender)
        self.shares = async_resources.Shares(sender)
        self.templates = async_resources.Templates(sender)
        self.stats = async_resources.Stats(sender)
        self.tags = async_resources.Tags(sender)
        self.webhooks = async_resources.Webhooks(sender)

    async def request(self, method: str, path: str, *, query: Json | None = None, body: Json | None = None) -> Any:
        """Send a request that has no method here, and return its JSON. `path` follows /api/v1, such as /links."""
        return await self._sender.send(lambda payload: payload, method, path, query=query, body=body)

    async def close(self) -> None:
        """Close the connections."""
        await self._sender.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"AsyncWaypost({self._base_url!r})"
