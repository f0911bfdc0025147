"""Cookies of one check: a site that sets one and redirects to itself gets it back. Nothing is kept after the check."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

from waypost.kit.clock import Clock
from waypost.kit.urls import Url

MAX_COOKIES = 50
_MAX_COOKIE = 4_096  # characters, as in browsers
_COOKIE = re.compile(r"[^\x00-\x20=;\x7f][^\x00-\x1f=;\x7f]*=[^\x00-\x1f;\x7f]*")


@dataclass(frozen=True, slots=True)
class _Cookie:
    pair: str
    domain: str
    """Starts with a dot if hosts below it get the cookie, too."""
    needs_https: bool

    def is_for(self, url: Url) -> bool:
        is_same = f".{url.host}".endswith(self.domain) if self.domain[0] == "." else url.host == self.domain
        return is_same and (url.scheme == "https" or not self.needs_https)


class SiteCookies:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._cookies: dict[str, _Cookie] = {}

    def receive(self, url: Url, set_cookies: Sequence[str]) -> None:
        """Remember what a response sets, and forget what it deletes."""
        for text in set_cookies:
            pair, *parts = (part.strip(" \t") for part in text.split(";"))
            if len(pair) > _MAX_COOKIE or not _COOKIE.fullmatch(pair):
                continue
            named = (part.partition("=") for part in parts)
            attributes = {name.lower(): value.strip(" \t") for name, _, value in named}
            name = pair.partition("=")[0]
            self._cookies.pop(name, None)
            if len(self._cookies) < MAX_COOKIES and not self._has_expired(attributes):
                domain = _domain(attributes.get("domain", ""), url)
                self._cookies[name] = _Cookie(pair, domain, "secure" in attributes)

    def header(self, url: Url) -> Mapping[str, str]:
        """Return the `Cookie` of a request, if it has one."""
        pairs = [cookie.pair for cookie in self._cookies.values() if cookie.is_for(url)]
        return {"Cookie": "; ".join(pairs)} if pairs else {}

    def _has_expired(self, attributes: Mapping[str, str]) -> bool:
        age = attributes.get("max-age", "")
        if age.removeprefix("-").isdecimal():
            return age.startswith("-") or not age.strip("0")
        try:
            return parsedate_to_datetime(attributes.get("expires", "")[:40]).timestamp() <= self._clock().timestamp()
        except (ValueError, OverflowError):
            return False


def _domain(text: str, url: Url) -> str:
    """Return the host, or the domain that it names if it is in it."""
    domain = f".{text.removeprefix('.').lower()}"
    is_in_it = "." in domain[1:] and not url.is_ip and f".{url.host}".endswith(domain)
    return domain if is_in_it else url.host
