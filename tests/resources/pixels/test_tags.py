"""What of a pixel reaches a page."""

from uuid import UUID

import pytest

from waypost.database import KeyRing
from waypost.resources.pixels import Tags, pixels

KEYS, ID = KeyRing(["a key"]), UUID(int=1)


@pytest.mark.parametrize(
    ("platform", "theirs", "fires"),
    [
        ("facebook", "1234567890", True),
        ("tiktok", "C4U0ABCDEF", True),
        ("pinterest", "549755885175/2612345678901", True),
        ("google_ads", "AW-123456789", True),
        ("google_ads", "GTM-ABC123", False),
        ("google_ads", "1234567890", False),
        ("facebook", "</script>", False),
        ("facebook", "1" * 65, False),
        ("tiktok", "\U0001f517" * 255, False),
    ],
)
def test_what_no_platform_gives_out_is_not_fired(platform: str, theirs: str, fires: bool) -> None:
    sealed = KEYS.seal(pixels.c.pixel_id, ID, theirs)
    assert Tags(KEYS).opened([(ID, platform, sealed)]) == ([(ID, platform, theirs)] if fires else [])
