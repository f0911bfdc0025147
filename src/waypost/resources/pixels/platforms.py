"""Ids at platforms: their format, where people find them, and the id for the platform's tag in the browser."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from uuid import UUID

import structlog

from waypost.database import Ciphertext, DecryptionFailed, KeyRing
from waypost.metrics import Counter
from waypost.resources.pixels.model import Platform, pixels

log = structlog.get_logger(__name__)

_WITHOUT_KEY = Counter(
    "waypost_routes_without_pixels_total",
    "Routes with pixels that were loaded without them, because this node has no secret key.",
)


@dataclass(frozen=True, slots=True)
class PlatformHint:
    name: str
    id_format: str
    id_location: str
    example: str
    token_location: str
    """Empty if the platform accepts no events from servers."""


PLATFORM_HINTS: Mapping[Platform, PlatformHint] = {
    "facebook": PlatformHint(
        "Facebook",
        "15 or 16 digits",
        "Meta Events Manager → Data sources",
        "1234567890123456",
        "Events Manager → Settings → Conversions API → Generate access token",
    ),
    "tiktok": PlatformHint(
        "TikTok",
        "Capital letters and digits",
        "TikTok Ads Manager → Tools → Events",
        "C4ABCDEF12GH34IJ56KL",
        "the pixel's Settings → Events API → Generate access token",
    ),
    "pinterest": PlatformHint(
        "Pinterest",
        "The tag ID. For server-side events, enter the ad account ID before it, separated by a slash",
        "Pinterest Ads → Conversions → Tag manager",
        "549755885175/2612345678901",
        "Conversions → Conversion access token",
    ),
    "google_ads": PlatformHint(
        "Google Ads",
        "The conversion ID, with or without AW-",
        "Google Ads → Tools → Data manager → Google tag",
        "AW-123456789",
        "",
    ),
}

AD_ACCOUNT_AND_TAG = re.compile(r"([0-9]{1,18})/(.+)", re.ASCII)
"""Pinterest: the ad account is for the server-side endpoint, the tag for the browser."""

_DIGITS = re.compile(r"[0-9]+", re.ASCII)
_USUAL_IDS: Mapping[str, re.Pattern[str]] = {
    "facebook": re.compile(r"[0-9]{15,16}", re.ASCII),
    "tiktok": re.compile(r"[A-Z0-9]{1,40}", re.ASCII | re.IGNORECASE),
    "pinterest": re.compile(r"([0-9]{1,18}/)?[0-9]{1,20}", re.ASCII),
    "google_ads": re.compile(r"[0-9]{1,20}|(AW|DC|G|GT)-[A-Z0-9-]{1,40}", re.ASCII | re.IGNORECASE),
}


def is_usual_id(platform: str, text: str) -> bool:
    """Whether the text looks like an id of the platform. Used for warnings only: other ids work, too."""
    return bool(_USUAL_IDS[platform].fullmatch(text))


def tag_id(platform: str, text: str) -> str:
    """Return the id for the platform's tag in the browser."""
    if platform == "google_ads" and _DIGITS.fullmatch(text):
        return f"AW-{text}"
    match = AD_ACCOUNT_AND_TAG.fullmatch(text) if platform == "pinterest" else None
    return match[2] if match else text


class PixelTags:
    """Decrypts the ids of a link's pixels, for routes only."""

    def __init__(self, key_ring: KeyRing | None) -> None:
        """`key_ring`: None on a node without a secret key, whose redirects fire no pixels."""
        self._key_ring = key_ring
        self._logged: set[UUID] = set()
        self._has_logged_no_key = False

    def decrypt(self, pixel_rows: Iterable[tuple[UUID, str, bytes]]) -> list[tuple[UUID, str, str | None]]:
        """Return (pixel id, platform, id for the platform's tag) of each pixel.

        The last is None if no key decrypts it, which is logged once: the link redirects without that pixel.
        """
        if self._key_ring is None:
            self._report_missing_key()
            return [(id_, platform, None) for id_, platform, _ in pixel_rows]
        key_ring = self._key_ring
        texts = ((id_, platform, self._decrypt(key_ring, id_, value)) for id_, platform, value in pixel_rows)
        return [(id_, platform, None if text is None else tag_id(platform, text)) for id_, platform, text in texts]

    def _report_missing_key(self) -> None:
        _WITHOUT_KEY.add(1)
        if not self._has_logged_no_key:
            advice = "set WAYPOST_SECRET_KEY to the key of the other nodes"
            log.warning("pixels do not fire: this node has no secret key", advice=advice)
        self._has_logged_no_key = True

    def _decrypt(self, key_ring: KeyRing, id_: UUID, value: bytes) -> str | None:
        try:
            return key_ring.decrypt(pixels.c.pixel_id, id_, Ciphertext(value))
        except DecryptionFailed:
            if id_ not in self._logged:
                log.warning("pixel does not fire: no key of WAYPOST_SECRET_KEY decrypts its id", pixel=str(id_))
            self._logged.add(id_)
            return None
