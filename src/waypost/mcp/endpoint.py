"""`POST /mcp`: who may use the tools, and how large a request may be. The SDK is loaded at the first request."""

import asyncio
import importlib
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

from starlette.requests import Request
from starlette.routing import Route
from starlette.types import Message, Receive, Scope, Send

from waypost.accounts import ApiCaller
from waypost.kit.errors import Forbidden, WaypostError
from waypost.mcp.api_calls import ApiCalls, FindLink
from waypost.web import Guard, headers_of, status_of
from waypost.web.body import MAX_JSON, read_body
from waypost.web.envelope import CODES, JsonResponse

PATH = "/mcp"
_MODULE = "waypost.mcp.server"
_REFUSED = -32000
"""The code of JSON-RPC for errors that a server defines."""

OTHER_ORIGIN = "Requests from web pages of other sites are refused (Origin: {})."
NOT_INSTALLED = (
    "This service has no MCP server. Its operator can install it: pip install 'waypost[mcp]', then restart Waypost."
)


class McpEndpoint:
    """An ASGI application."""

    def __init__(
        self,
        new_calls: Callable[[ApiCaller], ApiCalls],
        guard: Guard,
        find_link: FindLink,
        *,
        base_url: str,
        shared_domain: str,
    ) -> None:
        self._new_calls = new_calls
        self._guard = guard
        self._find_link = find_link
        self._base_url = base_url
        self._shared_domain = shared_domain
        self._server: Any = None
        """The module that uses the SDK."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        try:
            caller, body = await self._admit(request)
        except WaypostError as error:
            await _error(status_of(error), error.message, headers_of(error))(scope, receive, send)
            return
        if find_spec("mcp") is None:
            await _error(501, NOT_INSTALLED, {})(scope, receive, send)
            return
        if self._server is None:  # in a thread: it takes 0.3 s, and visitors would wait
            self._server = await asyncio.to_thread(importlib.import_module, _MODULE)
        calls, find_link = self._new_calls(caller), self._find_link
        tools = self._server.Tools(calls, find_link, base_url=self._base_url, shared_domain=self._shared_domain)
        await self._server.respond(tools, scope, _replay(body, receive), send)

    async def _admit(self, request: Request) -> tuple[ApiCaller, bytes]:
        """Return the caller and the body. Raises WaypostError."""
        origin = request.headers.get("origin")
        if origin is not None and origin != self._base_url:  # also if a page has bound its name to our address
            raise Forbidden(OTHER_ORIGIN.format(origin[:100]))
        caller = await self._guard.admit(request)
        return caller, await read_body(request, MAX_JSON)


def route(endpoint: McpEndpoint) -> Route:
    return Route(PATH, endpoint, methods=["POST"])


def _error(status: int, message: str, headers: dict[str, str]) -> JsonResponse:
    """Return an error of JSON-RPC, of which clients show the message alone."""
    again = f" Try again in {headers['Retry-After']} s." if "Retry-After" in headers else ""
    error = {"code": _REFUSED, "message": message + again, "data": {"code": CODES.get(status, "http_error")}}
    return JsonResponse({"jsonrpc": "2.0", "id": None, "error": error}, status, headers)


def _replay(body: bytes, receive: Receive) -> Receive:
    """Return what receives the body once more, and then what comes after it."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive_again() -> Message:
        return messages.pop() if messages else await receive()

    return receive_again
