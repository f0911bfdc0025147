"""One ASGI request and its response."""

from collections.abc import Collection, Iterable

from starlette.types import Message, Receive, Scope, Send

_NO_BODY_STATUS = 304


class Exchange:
    def __init__(self, scope: Scope, receive: Receive, send: Send, own_hosts: Collection[bytes]) -> None:
        self.scope = scope
        self.receive = receive
        self.send = send
        self.headers = _join(scope["headers"])
        self.host = _canonical_host(self.headers.get(b"host", b""), scope["scheme"], own_hosts)
        self.sent: bytes = scope["raw_path"][1:]
        """The path as sent, without the leading slash."""
        self.query: bytes = scope["query_string"]
        """Of the visit. A near address may end in more of it."""
        self.more_path = b""
        """What follows the address of a link that forwards paths, as sent."""
        self.peer = (scope.get("client") or ("",))[0].encode()

    @property
    def is_get(self) -> bool:
        return bool(self.scope["method"] == "GET")

    async def respond(self, status: int, headers: Iterable[tuple[bytes, bytes]] = (), body: bytes = b"") -> None:
        """Leave the body out after HEAD."""
        length = [] if status == _NO_BODY_STATUS else [(b"content-length", b"%d" % len(body))]
        await self.send({"type": "http.response.start", "status": status, "headers": [*headers, *length]})
        has_body = self.scope["method"] != "HEAD"
        await self.send({"type": "http.response.body", "body": body if has_body else b""})


def _join(headers: Iterable[tuple[bytes, bytes]]) -> dict[bytes, bytes]:
    """Join repeated headers with commas: each of two proxies may have added one."""
    joined: dict[bytes, bytes] = {}
    for name, value in headers:
        joined[name] = joined[name] + b", " + value if name in joined else value
    return joined


def _canonical_host(host: bytes, scheme: str, own_hosts: Collection[bytes]) -> bytes:
    """Return the host in lower case, without a trailing dot and the scheme's default port.

    The service's own hosts keep other ports, as in the settings; custom domains have none.
    """
    host = host.lower()
    is_ipv6 = host.startswith(b"[")
    name, colon, port = (host, b"", b"") if is_ipv6 else host.partition(b":")
    name = name.removesuffix(b".")
    with_port = name + b":" + port if colon and port != (b"443" if scheme == "https" else b"80") else name
    return with_port if is_ipv6 or with_port in own_hosts or name in own_hosts else name.partition(b":")[0]


def with_headers(send: Send, headers: list[tuple[bytes, bytes]]) -> Send:
    """Add the headers that a response does not have."""

    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            present = {name for name, _ in message["headers"]}
            message["headers"] = [*(header for header in headers if header[0] not in present), *message["headers"]]
        await send(message)

    return send_with_headers
