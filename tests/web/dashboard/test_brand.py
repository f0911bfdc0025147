"""Any color of an operator can be read, in both looks."""

import re
from importlib.resources import files
from pathlib import Path

import pytest
from browsing import open_place

from waypost.kit.colors import contrast
from waypost.settings import Settings
from waypost.web.dashboard import Assets, brand

GROUNDS = [brand._LIGHT, brand._DARK]


@pytest.mark.parametrize("color", ["#0f766e", "#ffffff", "#000000", "#ffdd00", "#e11d48", "#7f7f7f", "#00ff00"])
def test_text_in_the_color_of_the_brand_has_enough_contrast(color: str) -> None:
    looks = [dict(re.findall(r"--([a-z-]+):(#\w{6})", part)) for part in brand.rules(color).split("@media")]
    for tokens, grounds in zip(looks, GROUNDS, strict=True):
        for ground in (*grounds, tokens["accent-soft"], tokens["on-accent"]):
            assert contrast(tokens["accent"], ground) >= 4.5, (color, ground)
        assert contrast(tokens["accent-hover"], tokens["on-accent"]) >= 4.5


def test_the_backgrounds_are_those_of_the_style_sheet() -> None:
    css = (files("waypost.web.dashboard") / "static" / "app.css").read_text()
    found = [[rule[1] for rule in re.finditer(rf"--{name}: (#\w+);", css)] for name in ("surface", "raised", "ground")]
    light, dark = ({"#ffffff" if color == "#fff" else color for color in each} for each in zip(*found, strict=True))
    assert [light, dark] == [set(brand._LIGHT), set(brand._DARK)]


def test_style_sheet_and_icon_have_the_color_of_the_brand() -> None:
    assets = Assets(brand_color="#7a1fa2")
    for name in ("app.css", "icon.svg"):
        file = assets._assets[assets.url(name).removeprefix("/assets/")]
        assert b"#7a1fa2" in file.read()
        assert assets.url(name) != Assets().url(name)


async def test_pages_have_the_name_and_logo_of_the_operator(database_url: str, tmp_path: Path) -> None:
    logo = tmp_path / "our logo.svg"
    logo.write_text("<svg/>")
    async with open_place(database_url, tmp_path, brand_name="Acme <links>", brand_logo=logo) as place:
        nobody, ada = await place.browser(), await place.browser("ada@example.com")
        for page in ((await nobody.get("/login")).text, (await ada.get("/links")).text):
            assert "· Acme &lt;links&gt;</title>" in page
            url = re.search(r'class="brand" href="/"><img src="([^"]+)"', page)[1]
            assert (await nobody.get(url)).text == "<svg/>"


@pytest.mark.parametrize("path", ["missing.svg", "a.exe"])
def test_a_logo_must_be_a_picture(path: str) -> None:
    with pytest.raises(ValueError, match="must be the path of an SVG or PNG file"):
        Settings(base_url="http://localhost", brand_logo=path)
