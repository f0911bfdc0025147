"""The page that makes files with the codes of the selected links."""

import io
import re
import zipfile
from pathlib import Path
from typing import Any

import pytest
from browsing import Browser, WebApp, open_place
from resources.clicks.visited import new_link
from resources.links.added import add_links

from bench.qr_readers import printed
from waypost.resources.links import Link

SHEET = {"labels": "L7160", "caption": "slug", "start": "1", "copies": "1"}


@pytest.fixture
async def place(database_url: str, tmp_path: Path):
    async with open_place(database_url, tmp_path) as place:
        yield place


async def links_of(place: WebApp, browser: Browser, *slugs: str, **fields: Any) -> list[Link]:
    assert browser.account
    links = [new_link(browser.account.id, slug=slug, **fields) for slug in slugs]
    async with place.db.write() as tx:
        await add_links(tx, links)
    return links


async def test_makes_files_of_the_selected_links(place: WebApp) -> None:
    ada = await place.browser("ada@example.com")
    first, second, _ = await links_of(place, ada, "first", "second", "third")
    ids = {"ids[]": [str(first.id), str(second.id)]}
    designer = await ada.get(f"/links/{first.id}/qrcode")
    [one] = re.findall(r'href="(/qrcodes\?[^"]+)"', designer.text)
    assert "QR codes of 1 link<" in (await ada.get(one)).text
    page = await ada.get("/qrcodes", params=ids)
    assert "QR codes of 2 links" in page.text
    hidden = re.findall(r'<input type="hidden" name="ids\[\]" value="([^"]+)">', page.text)
    assert hidden == [*ids["ids[]"], *ids["ids[]"]], "of both forms"
    images = await ada.post("/qrcodes/archive", {**ids, "format": "svg", "name": "code of {slug}"})
    assert images.headers["content-disposition"] == 'attachment; filename="qr-codes.zip"'
    with zipfile.ZipFile(io.BytesIO(images.content)) as file:
        assert file.namelist() == ["code of first.svg", "code of second.svg", "codes.csv"]
    labels = await ada.post("/qrcodes/sheet", {**ids, **SHEET, "copies": "12"})
    assert labels.headers["content-disposition"] == 'attachment; filename="qr-labels.pdf"'
    assert len(printed(labels.content, "-r", "20")) == 2
    own = {"labels": "own", "grid[columns]": "1", "grid[rows]": "2", "grid[gap_y]": "2,5", "grid[margin_top]": ""}
    labels = await ada.post("/qrcodes/sheet", {**ids, **SHEET, **own})
    assert len(printed(labels.content, "-r", "20")) == 1


async def test_makes_files_of_all_links_that_match(place: WebApp) -> None:
    ada = await place.browser("ada@example.com")
    await links_of(place, ada, "a", "b", tags=("sale",))
    await links_of(place, ada, "c")
    page = await ada.get("/qrcodes?all=1&tag=sale")
    assert "QR codes of 2 links" in page.text
    images = await ada.post("/qrcodes/archive", {"all": "1", "tag": "sale", "format": "png", "name": ""})
    with zipfile.ZipFile(io.BytesIO(images.content)) as file:
        assert sorted(file.namelist()) == ["a.png", "b.png", "codes.csv"]
    for nothing in ("/qrcodes", "/qrcodes?all=1&tag=other", "/qrcodes?ids[]=1"):
        assert "No links selected" in (await ada.get(nothing)).text
    await links_of(place, ada, *(f"many-{number}" for number in range(1000)))
    assert "More than 1,000 links match" in (await ada.get("/qrcodes?all=1")).text
    assert (await ada.post("/qrcodes/archive", {"all": "1"})).status_code == 422


async def test_shows_what_is_wrong_and_keeps_the_input(place: WebApp) -> None:
    ada = await place.browser("ada@example.com")
    [link] = await links_of(place, ada, "one")
    ids = {"ids[]": [str(link.id)]}
    refused = await ada.post("/qrcodes/archive", {**ids, "format": "gif", "name": "{slug"})
    assert (refused.status_code, 'value="{slug"' in refused.text) == (422, True)
    assert "Braces contain one of" in refused.text
    wrong = {"labels": "own", "grid[columns]": "many", "grid[rows]": "100", "start": "0", "copies": "2000"}
    refused = await ada.post("/qrcodes/sheet", {**ids, **SHEET, **wrong})
    assert refused.status_code == 422
    assert set(re.findall(r'<p class="error" id="([\w-]+)-error">', refused.text)) == {
        "grid-columns",
        "start",
        "copies",
    }
    assert ('value="many"' in refused.text, '<option value="own" selected>' in refused.text) == (True, True)
    refused = await ada.post(
        "/qrcodes/sheet", {**ids, **SHEET, "labels": "own", "grid[columns]": "1", "grid[rows]": "100"}
    )
    assert "Each label must be at least 8 mm wide and high." in refused.text


async def test_shows_only_own_links(place: WebApp) -> None:
    ada, bob = await place.browser("ada@example.com"), await place.browser("bob@example.com")
    [link] = await links_of(place, bob, "theirs")
    images = await ada.post("/qrcodes/archive", {"ids[]": [str(link.id)], "format": "png", "name": "{slug}"})
    with zipfile.ZipFile(io.BytesIO(images.content)) as file:
        assert file.namelist() == ["codes.csv"]
    assert (await ada.client.post("/qrcodes/archive", data={"all": "1"})).status_code == 403, "from another site"
