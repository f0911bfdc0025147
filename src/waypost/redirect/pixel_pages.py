"""Pages that fire a link's pixels and then redirect, prepared once for each link.

A visit adds a nonce and its id, nothing else. User input is on the page as JSON only, never as script.
"""

import json
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Final, NewType
from uuid import UUID

PixelPage = NewType("PixelPage", tuple[bytes, bytes, bytes, bytes, tuple[bytes, ...]])
"""(pixels for the spool, policy after its nonce, rest of the head, page up to its pixels, the pixels as JSON)."""

FIRED: Final = 0
_POLICY: Final = 1

PLATFORM_LETTERS = {"facebook": "f", "tiktok": "t", "pinterest": "p", "google_ads": "g"}
"""The spool's abbreviation of each platform."""

_HOSTS = {
    "facebook": ("www.facebook.com", "connect.facebook.net"),
    "tiktok": ("analytics.tiktok.com", "analytics-ipv6.tiktokw.us"),
    "pinterest": ("ct.pinterest.com",),
    "google_ads": (
        "www.googletagmanager.com",
        "www.googleadservices.com",
        "pagead2.googlesyndication.com",
        "googleads.g.doubleclick.net",
        "ad.doubleclick.net",
        "td.doubleclick.net",
        "www.google.com",
        "google.com",
    ),
}
"""The hosts that each platform's script connects to, by its documentation. strict-dynamic covers the scripts."""

HEADERS = (
    (b"content-type", b"text/html; charset=utf-8"),
    (b"cache-control", b"private, no-store"),
    (b"referrer-policy", b"no-referrer-when-downgrade"),
    (b"x-content-type-options", b"nosniff"),
    (b"x-robots-tag", b"noindex"),
)
_POLICY_START = b"default-src 'none'; script-src 'nonce-"
RESPONSE_PREFIX = b"HTTP/1.1 200 OK\r\n%scontent-security-policy: " + _POLICY_START
"""The bytes of a response up to its nonce, with a placeholder for header lines."""

# An empty icon: browsers request one otherwise, which the policy would refuse.
_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<noscript><meta http-equiv="refresh" content="0;url={to}"></noscript>
<script type="application/json" id="visit">{data}"""
_BEFORE_VISIT = b'],"visit":"'
_BEFORE_NONCE = b'"}</script>\n<script nonce="'
_AFTER_NONCE = b'">\n%s</script>\n</html>\n' % b"".join(
    line.strip() + b"\n"
    for line in (Path(__file__).parent / "pixel_pages.js").read_bytes().splitlines()
    if line and not line.lstrip().startswith(b"//")
)
_VISIT_PART_SIZE = len(_BEFORE_VISIT) + 32 + len(_BEFORE_NONCE) + 32 + len(_AFTER_NONCE)
_MAX_SHARED_PIXELS = 10_000  # of up to 3 KB each


def prepare(destination: str, pixels: Sequence[tuple[UUID, str, str]]) -> PixelPage:
    """Prepare the page of a link. `pixels`: (our id, platform, the platform's id)."""
    fired = ",".join(PLATFORM_LETTERS[platform] + pixel.hex for pixel, platform, _ in pixels)
    as_json = tuple(_pixel(platform, platform_id) for _, platform, platform_id in pixels)
    data = _json({"to": destination, "pixels": []}).removesuffix("]}")
    from html import escape  # noqa: PLC0415  # half a megabyte of entities, unused without pixels

    start = _PAGE.format(to=escape(destination), data=data).encode()
    end_of_head = b"\r\ncontent-length: %d\r\n\r\n" % (len(start) + len(b",".join(as_json)) + _VISIT_PART_SIZE)
    policy = _policy(frozenset(platform for _, platform, _ in pixels))
    return PixelPage((fired.encode(), policy, end_of_head, start, as_json))


def response(prefix: bytes, pixel_page: PixelPage, nonce: bytes, visit: bytes) -> bytes:
    """Return the response of `headers` and `page` as bytes for the wire."""
    _, policy, end_of_head, start, pixels = pixel_page
    as_json = b",".join(pixels)
    return b"".join(
        (prefix, nonce, policy, end_of_head, start, as_json, _BEFORE_VISIT, visit, _BEFORE_NONCE, nonce, _AFTER_NONCE)
    )


def headers(pixel_page: PixelPage, nonce: bytes) -> list[tuple[bytes, bytes]]:
    return [*HEADERS, (b"content-security-policy", _POLICY_START + nonce + pixel_page[_POLICY])]


def page(pixel_page: PixelPage, nonce: bytes, visit: bytes) -> bytes:
    """Return the page of a visit. `visit`: its id in 32 hex digits."""
    *_, start, pixels = pixel_page
    return b"".join((start, b",".join(pixels), _BEFORE_VISIT, visit, _BEFORE_NONCE, nonce, _AFTER_NONCE))


@lru_cache(_MAX_SHARED_PIXELS)
def _pixel(platform: str, platform_id: str) -> bytes:
    """Return an object shared by all routes with the pixel: ids have up to 255 characters, links up to 20 pixels."""
    return _json([platform, platform_id]).encode()


def _json(data: object) -> str:
    """Encode JSON that cannot end a script element. `json` escapes everything but ASCII."""
    text = json.dumps(data, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


@lru_cache
def _policy(platforms: frozenset[str]) -> bytes:
    """Return an object shared by all routes with the same platforms."""
    hosts = " ".join(f"https://{host}" for host in _hosts(platforms))
    return (
        f"' 'strict-dynamic'; img-src data: {hosts}; connect-src {hosts}; frame-src {hosts}; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ).encode()


def _hosts(platforms: Iterable[str]) -> Iterable[str]:
    return (host for platform in sorted(platforms) for host in _HOSTS[platform])
