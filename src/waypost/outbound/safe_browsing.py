"""Asks Google Safe Browsing (Lookup API v4) about URLs. An outage of it stops nobody from making links.

https://developers.google.com/safe-browsing/v4/lookup-api
"""

import json
from collections.abc import Sequence
from urllib.parse import quote

import structlog

from waypost.kit.errors import SettingsError
from waypost.kit.urls import BadUrl, Url, canonical
from waypost.outbound.client import Outbound
from waypost.outbound.errors import OutboundError

DEADLINE = 2.0  # seconds: a destination's check has eight in all
MAX_ANSWER = 65_536
THREATS = ["MALWARE", "SOCIAL_ENGINEERING", "UNWANTED_SOFTWARE", "POTENTIALLY_HARMFUL_APPLICATION"]

log = structlog.get_logger(__name__)


class SafeBrowsing:
    def __init__(self, outbound: Outbound, key: str, base_url: str) -> None:
        self._outbound = outbound
        try:
            self._url = canonical(f"{base_url.rstrip('/')}/v4/threatMatches:find?key={quote(key, safe='')}")
        except BadUrl as error:
            raise SettingsError(f"WAYPOST_SAFE_BROWSING_URL: {error}") from None

    async def has(self, urls: Sequence[Url]) -> bool:
        """Whether a threat is known at any of the URLs; False when the provider gives no usable answer."""
        try:
            answer = await self._outbound.request(
                "POST",
                self._url,
                headers={"Content-Type": "application/json"},
                body=json.dumps(_question(urls)).encode(),
                deadline=DEADLINE,
                max_body=MAX_ANSWER,
            )
            if answer.status == 200:
                return bool(answer.json().get("matches"))
            fault = f"status {answer.status}"
        except OutboundError as error:
            fault = str(error)
        except (ValueError, AttributeError):
            fault = "the answer is not the JSON it should be"
        log.warning("Safe Browsing could not be asked; destinations pass unchecked", fault=fault)  # never the key
        return False


def _question(urls: Sequence[Url]) -> dict[str, object]:
    return {
        "client": {"clientId": "waypost", "clientVersion": "1"},
        "threatInfo": {
            "threatTypes": THREATS,
            "platformTypes": ["ANY_PLATFORM"],
            "threatEntryTypes": ["URL"],
            "threatEntries": [{"url": url.text} for url in urls],
        },
    }
