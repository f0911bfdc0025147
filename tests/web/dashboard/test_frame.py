"""The frame: who gets in, what pages may do, and errors as pages."""

from pathlib import Path

import pytest
from browsing import Place, open_place


@pytest.fixture
async def place(database_url: str, tmp_path: Path):
    async with open_place(database_url, tmp_path) as place:
        yield place


async def test_it_works(place: Place) -> None:
    ada = await place.browser("ada@example.com")
    page = await ada.get("/")
    assert page.status_code == 200
    assert "Overview" in page.text
    assert "default-src 'self'" in page.headers["content-security-policy"]


@pytest.mark.parametrize(("accepted", "encoding"), [("gzip, br", "gzip"), ("identity", None)])
async def test_pages_are_compressed_for_who_takes_it(place: Place, accepted: str, encoding: str | None) -> None:
    ada = await place.browser("ada@example.com")
    page = await ada.get("/", headers={"Accept-Encoding": accepted})
    assert page.headers.get("content-encoding") == encoding
    assert page.headers["vary"] == "Accept-Encoding"
    assert "Overview" in page.text


async def test_who_is_not_signed_in_is_sent_to_the_door_and_back(place: Place) -> None:
    nobody = await place.browser()
    assert (await nobody.get("/")).headers["location"] == "/login"


async def test_the_api_stays_json(place: Place) -> None:
    nobody = await place.browser()
    assert (await nobody.get("/api/nothing")).json()["error"]["code"] == "not_found"
