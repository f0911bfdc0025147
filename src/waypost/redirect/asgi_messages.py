"""Reads the headers of ASGI requests, and sends responses."""

from collections.abc import Collection, Iterable

from starlette.types import Message, Scope, Send

from waypost.redirect import metrics

_RETRY_HEADERS = [(b"retry-after", b"1"), (b"cache-control", b"no-store")]


def join_headers(headers: Iterable[tuple[bytes, bytes]]) -> dict[bytes, bytes]:
    """Join repeated headers with commas: each of two proxies may have added one."""
    joined: dict[bytes, bytes] = {}
    for name, value in headers:
        joined[name] = joined[name] + b", " + value if name in joined else value
    return joined


def canonical_host(host: bytes, scheme: str) -> bytes:
    """Return the host in lower case, without a trailing dot and the scheme's default port."""
    name, colon, port = host.lower().partition(b":") if not host.startswith(b"[") else (host.lower(), b"", b"")
    name = name.removesuffix(b".")
    if not colon or port == (b"443" if scheme == "https" else b"80"):
        return name
    return name + b":" + port


def without_port(host: bytes, own_hosts: Collection[bytes]) -> bytes:
    """Remove the port of a custom domain. The service's own hosts keep their ports, as in the settings."""
    name = host.partition(b":")[0]
    return host if host.startswith(b"[") or host in own_hosts or name in own_hosts else name


def peer_of(scope: Scope) -> bytes:
    return (scope.get("client") or ("",))[0].encode()


def with_headers(send: Send, headers: list[tuple[bytes, bytes]]) -> Send:
    """Add the headers that a response does not have."""

    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            present = {name for name, _ in message["headers"]}
            message["headers"] = [*(header for header in headers if header[0] not in present), *message["headers"]]
        await send(message)

    return send_with_headers


async def respond_unavailable(send: Send) -> None:
    metrics.UNAVAILABLE[0] += 1
    await send_response(send, 503, _RETRY_HEADERS)


async def send_response(
    send: Send, status: int, headers: Iterable[tuple[bytes, bytes]], body: bytes = b"", *, with_body: bool = True
) -> None:
    length = (b"content-length", b"%d" % len(body))
    await send({"type": "http.response.start", "status": status, "headers": [*headers, length]})
    await send({"type": "http.response.body", "body": body if with_body else b""})


async def send_not_modified(send: Send, headers: list[tuple[bytes, bytes]]) -> None:
    await send({"type": "http.response.start", "status": 304, "headers": headers})
    await send({"type": "http.response.body", "body": b""})
