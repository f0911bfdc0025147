"""Checks whether a URL is known to be unsafe: the operator's blocklist first, then Google Safe Browsing.

Safe Browsing is queried by its Lookup API v4 (https://developers.google.com/safe-browsing/v4/lookup-api). During an
outage of it, links can still be created.
"""

import asyncio
import json
from collections.abc import Collection, Sequence
from urllib.parse import quote

import structlog

from waypost.kit.errors import SettingsError
from waypost.kit.urls import BadUrl, Url, canonical
from waypost.outbound.blocklist import Blocklist
from waypost.outbound.client import Outbound
from waypost.outbound.errors import OutboundError

DEADLINE = 2.0  # seconds; the check of a destination has eight in total
MAX_RESPONSE = 8 << 20  # bytes; more than matches of the longest URLs take
_MAX_ENTRIES = 100  # URLs in a request
_AT_ONCE = 8  # requests: a page of an import may have 16,000 URLs, and some seconds for them
THREATS = ["MALWARE", "SOCIAL_ENGINEERING", "UNWANTED_SOFTWARE", "POTENTIALLY_HARMFUL_APPLICATION"]

log = structlog.get_logger(__name__)


class UrlSafety:
    def __init__(self, blocklist: Blocklist | None = None, safe_browsing: "SafeBrowsing | None" = None) -> None:
        self._blocklist = blocklist
        self._safe_browsing = safe_browsing

    async def find_unsafe(self, urls: Collection[Url]) -> set[Url]:
        unsafe = {url for url in urls if self._blocklist and await self._blocklist.has(url)}
        if self._safe_browsing:
            unsafe |= await self._safe_browsing.find([url for url in urls if url not in unsafe])
        return unsafe


class SafeBrowsing:
    def __init__(self, outbound: Outbound, key: str, base_url: str) -> None:
        self._outbound = outbound
        try:
            self._url = canonical(f"{base_url.rstrip('/')}/v4/threatMatches:find?key={quote(key, safe='')}")
        except BadUrl as error:
            raise SettingsError(f"WAYPOST_SAFE_BROWSING_URL: {error}") from None

    async def find(self, urls: Sequence[Url]) -> set[Url]:
        """Return the URLs at which a threat is known. After a request without a usable response no other is sent."""
        batches = [urls[start : start + _MAX_ENTRIES] for start in range(0, len(urls), _MAX_ENTRIES)]
        waiting, unsafe, problems = iter(batches), set[Url](), list[str]()

        async def ask_in_turn() -> None:
            for batch in waiting:
                found = await self._ask(batch)
                if isinstance(found, str):
                    problems.append(found)
                else:
                    unsafe.update(found)
                if problems:
                    return

        await asyncio.gather(*(ask_in_turn() for _ in batches[:_AT_ONCE]))
        if problems:  # never the key
            log.warning("Safe Browsing unavailable, destinations pass unchecked", problem=problems[0])
        return unsafe

    async def _ask(self, urls: Sequence[Url]) -> set[Url] | str:
        """Return the URLs at which a threat is known, or why the response cannot be used."""
        try:
            response = await self._outbound.request(
                "POST",
                self._url,
                headers={"Content-Type": "application/json"},
                body=json.dumps(_lookup_request(urls)).encode(),
                deadline=DEADLINE,
                max_body=MAX_RESPONSE,
            )
            if response.status != 200:
                return f"status {response.status}"
            listed = {match["threat"]["url"] for match in response.json().get("matches", ())}
            return {url for url in urls if url.text in listed}
        except OutboundError as error:
            return str(error)
        except (ValueError, AttributeError, TypeError, KeyError):
            return "the response is not the expected JSON"


def _lookup_request(urls: Sequence[Url]) -> dict[str, object]:
    return {
        "client": {"clientId": "waypost", "clientVersion": "1"},
        "threatInfo": {
            "threatTypes": THREATS,
            "platformTypes": ["ANY_PLATFORM"],
            "threatEntryTypes": ["URL"],
            "threatEntries": [{"url": url.text} for url in urls],
        },
    }
