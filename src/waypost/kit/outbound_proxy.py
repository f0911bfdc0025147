"""Parses the URL of the proxy for outbound requests. Errors never contain it."""

from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from waypost.kit.urls import ANY_NAME, BadUrl, Url, canonical


@dataclass(frozen=True, slots=True)
class ProxyServer:
    url: Url
    """Without user and password."""
    user: str
    password: str
    resolves_names: bool
    """Whether it looks up the names of hosts, instead of this service."""

    @property
    def address(self) -> str:
        """`host:port`."""
        return self.url.text.removeprefix("http://").removesuffix("/")

    def __repr__(self) -> str:
        return f"ProxyServer({self.address})"  # without the password


def parse_proxy_url(text: str) -> ProxyServer | None:
    """`http://user:password@host:port?resolve=proxy`. Raise ValueError, without the URL in its text."""
    if not text:
        return None
    try:
        parts = urlsplit(text)
        _, _, address = parts.netloc.rpartition("@")
        url = canonical(f"http://{address}/", private=ANY_NAME)
        is_complete = parts.port is not None
    except (BadUrl, ValueError):
        raise ValueError(_FORM) from None
    if (parts.scheme, parts.fragment) != ("http", "") or not is_complete or parts.path not in {"", "/"}:
        raise ValueError(_FORM)
    if parts.query not in {"", "resolve=proxy"}:
        raise ValueError("only ?resolve=proxy may follow the port")
    user, password = unquote(parts.username or ""), unquote(parts.password or "")
    return ProxyServer(url, user, password, resolves_names=bool(parts.query))


_FORM = (
    "must be http://user:password@host:port or http://host:port, with special characters of user and password"
    " percent-encoded"
)
