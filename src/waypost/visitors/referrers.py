"""Where a visitor comes from: the page or the app of a `Referer`."""

import re
from functools import lru_cache
from urllib.parse import urlsplit

MAX_RAW_REFERRER = 1_024
"""Bytes to read of a header."""
_MAX_LENGTH = 500  # characters
_CACHE_SIZE = 8_192
_SCHEMES = (b"http://", b"https://", b"android-app://", b"ios-app://")
_DEFAULT_PORTS = {"http": ":80", "https": ":443"}
_INVISIBLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069]")  # and bidirectional controls
_APP = re.compile(r"[A-Za-z0-9][\w.-]*", re.ASCII)

_GOOGLE = re.compile(r"(?:www\.)?google\.[a-z]{2,3}(?:\.[a-z]{2})?")
_AMP_CACHE = re.compile(r"(?:([a-z0-9-]+)\.)?cdn\.ampproject\.org")
_COPY = re.compile(r"/(?:amp|[a-z]{1,2})/(s/)?([a-z0-9.-]+\.[a-z0-9-]+)(/.*)?", re.IGNORECASE | re.DOTALL)
"""The path of Google's copy of an AMP page: whether the page has HTTPS, its host and its path."""
_HYPHENS = re.compile("--?")


@lru_cache(_CACHE_SIZE)
def read_referrer(raw: bytes) -> str:
    """Return origin and path. "" for anything but a web page or an app. Accepts any bytes, at most MAX_RAW_REFERRER.

    The query may contain private data. Google's copy of an AMP page is that page.
    """
    if not raw.lower().startswith(_SCHEMES):
        return ""
    try:
        parts = urlsplit(_INVISIBLE.sub("", raw.decode("utf-8", "replace")))
    except ValueError:
        return ""
    if parts.scheme not in _DEFAULT_PORTS:
        is_app = _APP.fullmatch(parts.netloc)
        return f"{parts.scheme}://{parts.netloc}{parts.path or '/'}"[:_MAX_LENGTH] if is_app else ""
    host = parts.netloc.rpartition("@")[2].lower().removesuffix(_DEFAULT_PORTS[parts.scheme])
    page = _amp_page(host, parts.path) or f"{parts.scheme}://{host}{parts.path or '/'}"
    return page[:_MAX_LENGTH] if host else ""


def _amp_page(host: str, path: str) -> str | None:
    """Return the page of which this is a copy, or its origin if the browser only sent that of the copy."""
    cache = _AMP_CACHE.fullmatch(host)
    if not (cache or (path.startswith("/amp/") and _GOOGLE.fullmatch(host))):
        return None
    copy = _COPY.fullmatch(path)
    if copy:
        return f"{'https' if copy[1] else 'http'}://{copy[2].lower()}{copy[3] or '/'}"
    if cache and "-" in (cache[1] or "") and path in {"", "/"}:
        return f"https://{_HYPHENS.sub(lambda match: '.' if match[0] == '-' else '-', cache[1])}/"
    return None
