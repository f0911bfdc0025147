"""What people are told of the platforms: how an id looks, and where it and its token are found."""

from collections.abc import Mapping
from dataclasses import dataclass

from waypost.resources.pixels.model import Platform


@dataclass(frozen=True, slots=True)
class Hint:
    name: str
    id_is: str
    """What the platform calls it, and how it looks."""
    id_found: str
    example: str
    token_found: str
    """Empty where the platform takes no events from servers."""


HINTS: Mapping[Platform, Hint] = {
    "facebook": Hint(
        "Facebook",
        "The dataset's (pixel's) number: 15 or 16 digits.",
        "Meta Events Manager, Data sources.",
        "1234567890123456",
        "Events Manager, Settings, Conversions API, Generate access token.",
    ),
    "tiktok": Hint(
        "TikTok",
        "The pixel code: capital letters and digits.",
        "TikTok Ads Manager, Tools, Events.",
        "C4ABCDEF12GH34IJ56KL",
        "The pixel's Settings, Events API, Generate access token.",
    ),
    "pinterest": Hint(
        "Pinterest",
        "The tag's number; for events from the server with the ad account's before it: account/tag.",
        "Pinterest Ads, Conversions, Tag manager.",
        "549755885175/2612345678901",
        "Conversions, Conversion access token.",
    ),
    "google_ads": Hint(
        "Google Ads",
        "The conversion ID: it begins with AW-.",
        "Google Ads, Tools, Data manager, Google tag.",
        "AW-123456789",
        "",
    ),
}
