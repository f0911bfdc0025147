"""What of a pixel reaches a page: every accepted id, as JSON data."""

import json
import re
from typing import get_args
from uuid import UUID

import pytest
from resources.pixels.ids import FORMS
from structlog.testing import capture_logs

from waypost.database import KeyRing
from waypost.redirect import new_route, pixel_pages
from waypost.redirect.pixel_pages import FIRED
from waypost.resources.links.schemas import MAX_PIXELS
from waypost.resources.pixels import PixelTags, platforms
from waypost.resources.pixels.model import Platform, pixels
from waypost.resources.pixels.schemas import NewPixel

KEYS, LINK = KeyRing(["a key"]), UUID(int=1)
CHANGED = {
    ("google_ads", "1234567890"): "AW-1234567890",
    ("pinterest", "549755885175/2612345678901"): "2612345678901",
    ("pinterest", "1/2/3"): "2/3",
}


def tags_of(*given: tuple[str, str]) -> pixel_pages.PixelPage:
    rows = [
        (UUID(int=n), platform, KEYS.encrypt(pixels.c.pixel_id, UUID(int=n), text))
        for n, (platform, text) in enumerate(given)
    ]
    route = new_route(b"go.test", "https://example.com/", LINK, pixels=PixelTags(KEYS).decrypt(rows))
    _, _, _, tags, _, _ = route
    assert tags
    return tags


@pytest.mark.parametrize("platform", get_args(Platform))
@pytest.mark.parametrize("form", FORMS)
def test_every_accepted_id_fires(platform: Platform, form: str) -> None:
    text = FORMS[form]
    assert NewPixel(platform=platform, pixel_id=text).pixel_id == text
    tags = tags_of((platform, text))
    page = pixel_pages.page(tags, b"n" * 32, b"v" * 32)
    (data,) = re.findall(rb'<script type="application/json" id="visit">(.*?)</script>', page)
    assert json.loads(data)["pixels"] == [[platform, CHANGED.get((platform, text), text)]]
    assert page.isascii()
    assert not set(data) & set(b"<>&")
    assert tags[FIRED] == pixel_pages.PLATFORM_LETTERS[platform].encode() + b"0" * 32


def test_the_page_stays_small_and_routes_share_what_is_long() -> None:
    longest = [("tiktok", f"{n:05}" + "\U0001f517" * 250) for n in range(MAX_PIXELS)]
    first, second = tags_of(*longest), tags_of(*longest[::-1])
    page = pixel_pages.page(first, b"n" * 32, b"v" * 32)
    assert len(page) < 75_000
    assert b"content-length: %d\r\n" % len(page) in first[2]
    assert {id(pixel) for pixel in first[-1]} == {id(pixel) for pixel in second[-1]}


def test_without_a_key_links_redirect_without_their_pixels(monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[int] = []
    monkeypatch.setattr(platforms._WITHOUT_KEY, "add", counted.append)
    tags = PixelTags(None)
    rows = [(UUID(int=1), "facebook", KEYS.encrypt(pixels.c.pixel_id, UUID(int=1), "123"))]
    with capture_logs() as logged:
        routes = [new_route(b"go.test", "https://example.com/", LINK, pixels=tags.decrypt(rows)) for _ in range(2)]
    assert [pixel_page for _, _, _, pixel_page, _, _ in routes] == [None, None]
    assert [entry["event"] for entry in logged] == ["pixels do not fire: this node has no secret key"]
    assert counted == [1, 1]
