"""Takes apart the short URLs of other services."""

import re
from urllib.parse import unquote, urlsplit

from waypost.resources.imports.json_fields import BadField
from waypost.resources.imports.source import Address

_PLAIN = re.compile(r"(?:https?://)?([a-z0-9-]+(?:\.[a-z0-9-]+)+)(/[\w~/-]*)", re.ASCII)
"""A short URL without anything that `urlsplit` and `unquote` would change, which take ten times as long."""


def address_of(short_url: str) -> Address:
    """Raises BadField."""
    try:
        parts = urlsplit(short_url)
        hostname = parts.hostname
    except ValueError:
        hostname = None
    if not hostname:
        raise BadField(f"“{short_url[:100]}” is not a short URL.")
    return Address(hostname, unquote(parts.path).removeprefix("/"))


def split(text: str) -> tuple[str | None, str]:
    """Return host and path of a short URL that may lack its scheme, its host, or both."""
    if plain := _PLAIN.fullmatch(text):
        return plain[1], plain[2]
    first = text.partition("/")[0]
    if "://" not in text and not ("." in first or ":" in first):
        return None, unquote(text)
    try:
        parts = urlsplit(text if "://" in text else f"//{text}")
        return parts.hostname, unquote(parts.path)
    except ValueError:
        return None, text


def hostname_of(origin: str) -> str | None:
    """Return the host of a URL that the operator entered. `SourceClient` says what is wrong with a bad one."""
    try:
        return urlsplit(origin).hostname
    except ValueError:
        return None
