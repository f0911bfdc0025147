"""`waypost mcp`: passes the requests of an assistant on this machine to the service's `/mcp`."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import httpx2
import mcp_types as types
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from mcp_types.version import LATEST_MODERN_VERSION

from waypost.mcp.definitions import INSTRUCTIONS
from waypost.version import VERSION

T = TypeVar("T")
_TIMEOUT = httpx2.Timeout(30, read=120)  # checks of many destinations take time


async def run(url: str, api_key: str) -> None:
    """Serve until stdin ends. `url`: origin of the service."""
    async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {api_key}"}, timeout=_TIMEOUT) as http:
        server = _new_server(url, http)
        async with stdio_server() as (requests, responses):
            await server.run(requests, responses, server.create_initialization_options())


def _new_server(url: str, http: httpx2.AsyncClient) -> Server[Any]:
    async def pass_on(call: Callable[[Client], Awaitable[T]]) -> T:
        # a client for each request: nothing has to be connected again after the network was away
        transport = streamable_http_client(f"{url}/mcp", http_client=http)
        async with _faults(url), Client(transport, mode=LATEST_MODERN_VERSION, cache=None) as remote:
            return await call(remote)

    async def list_tools(_context: Any, _params: Any) -> types.ListToolsResult:
        return await pass_on(lambda remote: remote.list_tools())

    async def call_tool(_context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        return await pass_on(lambda remote: remote.call_tool(params.name, params.arguments))

    return Server(
        "waypost",
        version=VERSION,
        title="Waypost",
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


@asynccontextmanager
async def _faults(url: str) -> AsyncIterator[None]:
    """Raise MCPError, which assistants show, for every failure to reach the service."""
    try:
        yield
    except (MCPError, httpx2.HTTPError, BaseExceptionGroup) as raised:  # `except*` would make groups of what it raises
        error = _first(raised)
        if isinstance(error, MCPError):
            raise _explained(error, url) from None
        if isinstance(error, httpx2.HTTPError):
            reason = str(error) or type(error).__name__
            raise MCPError(types.INTERNAL_ERROR, f"Cannot reach {url}: {reason}") from None
        raise


def _explained(error: MCPError, url: str) -> MCPError:
    code = error.data.get("code") if isinstance(error.data, dict) else None
    if code == "unauthenticated":
        return MCPError(error.code, f"{url} does not accept the API key. Check WAYPOST_API_KEY.")
    if code is None and error.code != types.INVALID_PARAMS:  # from no `/mcp` of this software
        return MCPError(error.code, f"{url}/mcp: {error.message}. Check that this is the origin of a Waypost service.")
    return error


def _first(error: BaseException) -> BaseException:
    """Return the first error within groups of groups."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
