"""Which page to open after sign-in."""

import re

from waypost.settings.reserved import API_SEGMENTS, RESERVED

_LOCAL_PATH = re.compile(r"/([^/\\?#\x00-\x20\x7f]*)([/?#][^\\\x00-\x20\x7f]*)?")
_DOT_SEGMENT = re.compile(r"/(\.|%2e){1,2}(?=[/?#]|$)", re.IGNORECASE)
_PAGES = {"", *RESERVED} - API_SEGMENTS - {"login", "logout"}


def safe_next_path(text: str) -> str:
    """Return the page of the dashboard to open after sign-in, the overview by default.

    Short links are refused because they can redirect to any site, and paths with dot segments because they can resolve
    to a short link.
    """
    match = _LOCAL_PATH.fullmatch(text)
    has_dots = _DOT_SEGMENT.search(text.partition("?")[0])  # those of a query change no path
    is_page = match and match[1] in _PAGES and not text.startswith("//") and not has_dots
    return text if is_page else "/"
