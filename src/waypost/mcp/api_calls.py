"""Calls of the API inside this process, for a caller whom the guard has admitted."""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any
from urllib.parse import quote, urlencode, urlsplit
from uuid import UUID

from starlette.types import ASGIApp, Message

from waypost.accounts import ApiCaller
from waypost.web import DESTINATION_CHECK, PREFIX, Endpoint
from waypost.web.guard import ADMITTED, require_scope

FindLink = Callable[[UUID, str, str], Awaitable[UUID | None]]
"""For the caller's account, return the id of the link, of any account, at a hostname and path."""


UNCHECKED = "A destination could not be reached, so its page was not read. Check the URL."
"""In the JSON of a change that was accepted nevertheless."""

Response = tuple[int, dict[bytes, bytes], bytes]
"""Status, headers and content."""


class ToolError(Exception):
    """A call failed. The message is for the assistant: what is wrong and what to do."""


class ApiCalls:
    def __init__(self, api: ASGIApp, endpoints: Mapping[str, Endpoint], caller: ApiCaller) -> None:
        """`endpoints`: by operation."""
        self._api = api
        self._endpoints = endpoints
        self.caller = caller

    def require_scope(self, operation: str) -> None:
        """Raise Forbidden if the caller may not call the operation."""
        require_scope(self.caller, self._endpoints[operation].scope)

    async def get(self, operation: str, *ids: str, **query: Any) -> Any:
        given = {name: value for name, value in query.items() if value is not None}
        sent = urlencode(given, doseq=True, errors="backslashreplace")
        return await self._json(operation, ids, sent)

    async def send(self, operation: str, *ids: str, body: Mapping[str, Any] | None = None) -> Any:
        """Return the JSON of the response; None if it has no content."""
        return await self._json(operation, ids, body=b"" if body is None else json.dumps(body).encode())

    async def download(self, url: str) -> bytes:
        """Return an image of this service."""
        parts = urlsplit(url)
        status, _, content = await self._call("GET", parts.path, parts.query)
        if status != 200:
            raise ToolError(_explain(json.loads(content), None))
        return content

    async def _json(self, operation: str, ids: Sequence[str], query: str = "", body: bytes = b"") -> Any:
        endpoint = self._endpoints[operation]
        quoted = (quote(id_, safe="", errors="surrogatepass") for id_ in ids)
        path = PREFIX + endpoint.path.format_map(dict(zip(endpoint.names, quoted, strict=True)))
        status, headers, content = await self._call(endpoint.method, path, query, body)
        answer: Any = json.loads(content) if content else None
        if status >= 400:
            raise ToolError(_explain(answer, headers.get(b"retry-after")))
        if DESTINATION_CHECK.lower().encode() in headers:
            answer["unchecked"] = UNCHECKED
        return answer

    async def _call(self, method: str, path: str, query: str, body: bytes = b"") -> Response:
        started: Message = {}
        content = bytearray()
        unread = [body]

        async def receive() -> Message:
            return {"type": "http.request", "body": unread.pop() if unread else b"", "more_body": False}

        async def send(message: Message) -> None:
            if message["type"] == "http.response.start":
                started.update(message)
            else:
                content.extend(message.get("body", b""))

        headers = [(b"content-length", str(len(body)).encode()), (b"content-type", b"application/json")]
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": "https",  # as secure as the request that was admitted
            "path": path,
            "raw_path": path.encode(),
            "root_path": "",
            "query_string": query.encode(),
            "headers": headers if body else [],
            "client": None,
            "server": None,
            ADMITTED: self.caller,
        }
        await self._api(scope, receive, send)
        return started["status"], dict(started["headers"]), bytes(content)


def _explain(answer: Any, retry_after: bytes | None) -> str:
    """Return what is wrong and what to do, of an error of the API."""
    error = answer["error"]
    if problems := error.get("errors"):
        return "\n".join(f"{field}: {' '.join(texts)}" for field, texts in problems.items())
    again = f" Try again in {retry_after.decode()} s." if retry_after else ""
    return f"{error['message']}{again}"
