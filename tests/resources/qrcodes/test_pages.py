"""The designer of a link's code, as a browser gets it."""

import asyncio
import re
from html import unescape
from pathlib import Path
from uuid import uuid4

import pytest
from browsing import BASE_URL, Browser, WebApp, open_place
from PIL import Image
from resources.clicks.visited import new_link
from resources.links.added import add_links
from resources.qrcodes.codes_env import encoded

from waypost.resources.links import Link
from waypost.resources.qrcodes import add_scans
from waypost.resources.qrcodes.logos.preparing import NOTHING_LEFT

STYLE = {
    "foreground": "#0a3",
    "background": "#ffffff",
    "level": "H",
    "style": "dots",
    "size": "256",
    "margin": "2",
    "width_mm": "90",
    "logo_size": "0.2",
    "frame": "bottom",
    "frame_text": "Hello",
}


@pytest.fixture
async def place(database_url: str, tmp_path: Path):
    async with open_place(database_url, tmp_path) as place:
        yield place


async def link_of(place: WebApp, browser: Browser) -> Link:
    assert browser.account
    made = new_link(browser.account.id)
    async with place.db.write() as tx:
        await add_links(tx, [made])
        await add_scans(tx, {made.id.bytes: 1234})
    return made


def values(html: str) -> dict[str, str]:
    """The fields of the style, as the form shows them."""
    html = html.partition('id="style-form"')[2].partition("</form>")[0]
    typed = re.findall(r'<input id="(\w+)" name="\w+"[^>]*? value="([^"]*)"', html)
    chosen = re.findall(r'name="(style)" value="(\w+)" checked', html)
    selected = re.findall(r'<select id="(\w+)".*?<option value="(\w+)" selected', html, re.DOTALL)
    return {name: unescape(value) for name, value in [*typed, *chosen, *selected]}


def preview_of(html: str) -> str:
    return unescape(re.search(r'(?:data-image|<img[^>]*src)="([^"]+/preview\?[^"]*)"', html)[1])


async def test_saves_a_style(place: WebApp) -> None:
    ada = await place.browser("ada@example.com")
    link = await link_of(place, ada)
    page = await ada.get(f"/links/{link.id}/qrcode")
    assert (page.status_code, "1,234 scans" in page.text, "Easy to scan." in page.text) == (200, True, True)
    assert values(page.text) == {
        "foreground": "#000000",
        "background": "#ffffff",
        "level": "M",
        "style": "squares",
        "size": "512",
        "margin": "4",
        "width_mm": "40",
        "logo_size": "0.22",
        "frame": "none",
        "frame_text": "SCAN ME",
    }

    saved = await ada.post(f"/links/{link.id}/qrcode", STYLE)
    assert (saved.status_code, saved.headers["location"]) == (303, f"/links/{link.id}/qrcode?done=saved")
    page = await ada.get(saved.headers["location"])
    assert values(page.text) == STYLE | {"foreground": "#00aa33"}
    preview = await ada.get(preview_of(page.text))
    assert (preview.headers["content-type"], "#00aa33" in preview.text) == ("image/svg+xml", True)
    assert "sandbox" in preview.headers["content-security-policy"]
    for form, kind in (("png", "image/png"), ("svg", "image/svg+xml"), ("pdf", "application/pdf")):
        url = unescape(
            re.search(rf'href="({BASE_URL}[^"]+/image/{form}[^"]+)" download="{link.slug}.{form}"', page.text)[1]
        )
        image = await (await place.browser()).get(url)
        assert (image.status_code, image.headers["content-type"]) == (200, kind)


async def test_without_a_plan_a_change_is_refused(place: WebApp) -> None:
    bob = await place.browser("bob@example.com", plan="none")
    link = await link_of(place, bob)
    refused = await bob.post(f"/links/{link.id}/qrcode", STYLE)
    assert (refused.status_code, 'notice bad" role="alert"' in refused.text, "View plan" in refused.text) == (
        402,
        True,
        True,
    )
    assert 'class="notice" role="status"' not in refused.text


async def test_previews_a_style_before_it_is_saved(place: WebApp) -> None:
    ada = await place.browser("ada@example.com")
    link = await link_of(place, ada)
    tried = await ada.get(f"/links/{link.id}/qrcode/look", params=STYLE | {"foreground": "#eee", "size": "64"})
    assert "contrast of 1.1:1" in tried.text
    assert "hard to read" in tried.text
    assert "not saved yet" in tried.text
    assert "#eeeeee" in (await ada.get(preview_of(tried.text))).text
    styles = [STYLE | {"foreground": f"#00{number}"} for number in range(9)]  # as fast as one can type
    drawn = await asyncio.gather(*(ada.get(f"/links/{link.id}/qrcode/preview", params=each) for each in styles))
    assert [f"#0000{number}{number}" in each.text for number, each in enumerate(drawn)] == [True] * 9
    without_scripts = await ada.get(f"/links/{link.id}/qrcode", params=STYLE)
    assert values(without_scripts.text) == STYLE
    assert "#00aa33" in (await ada.get(preview_of(without_scripts.text))).text
    assert values((await ada.get(f"/links/{link.id}/qrcode")).text)["style"] == "squares"


async def test_shows_faults_and_keeps_the_input(place: WebApp) -> None:
    ada = await place.browser("ada@example.com")
    link = await link_of(place, ada)
    typed = STYLE | {"foreground": '"><script>alert(1)</script>', "background": "red", "size": "9999", "margin": "many"}
    refused = await ada.post(f"/links/{link.id}/qrcode", typed)
    assert refused.status_code == 422
    assert values(refused.text) == typed
    reported = re.findall(r'<p class="error" id="(\w+)-error">([^<]+)</p>', refused.text)
    assert {name: text[:16] for name, text in reported} == {
        "foreground": "This must be a h",
        "background": "This must be a h",
        "size": "This must be at ",
        "margin": "This must be an ",
    }
    assert "<script>alert" not in refused.text
    tried = await ada.get(f"/links/{link.id}/qrcode/look", params=typed)
    assert (tried.status_code, "Size: This must be at most 2,048" in tried.text, "download" in tried.text) == (
        200,
        True,
        False,
    )
    assert (await ada.get(f"/links/{link.id}/qrcode/preview", params=typed)).status_code == 422
    assert values((await ada.get(f"/links/{link.id}/qrcode")).text)["size"] == "512"


async def test_belongs_to_its_owner_and_rejects_cross_site_posts(place: WebApp) -> None:
    ada, bob = await place.browser("ada@example.com"), await place.browser("bob@example.com")
    link = await link_of(place, ada)
    for id_ in (link.id, uuid4(), "1"):
        path = f"/links/{id_}/qrcode"
        answers = [await bob.get(each) for each in (path, f"{path}/look", f"{path}/preview")]
        assert [each.status_code for each in (*answers, await bob.post(path, STYLE))] == [404] * 4
    for headers in ({"Sec-Fetch-Site": "cross-site"}, {"Origin": "https://evil.test"}, {}):
        answer = await ada.client.post(f"/links/{link.id}/qrcode", data=STYLE, headers=headers)
        assert answer.status_code == 403
    nobody = await place.browser()
    assert (await nobody.get(f"/links/{link.id}/qrcode/preview")).status_code == 303
    assert values((await ada.get(f"/links/{link.id}/qrcode")).text)["style"] == "squares"


async def test_presets_are_links_to_previews(place: WebApp) -> None:
    ada = await place.browser("ada@example.com")
    link = await link_of(place, ada)
    page = await ada.get(f"/links/{link.id}/qrcode", params=STYLE)
    links = re.findall(r'<a href="(\?[^"]+)" data-preset="[^"]+"( aria-current="true")?>', page.text)
    assert [current for _, current in links] == [""] * 6
    for url, _ in links:
        chosen = await ada.get(f"/links/{link.id}/qrcode{unescape(url)}")
        assert chosen.text.count(' aria-current="true"><svg') == 1
        assert "Easy to scan." in (await ada.get(f"/links/{link.id}/qrcode{unescape(url)}&margin=4&size=512")).text
        assert values(chosen.text)["frame_text"] == STYLE["frame_text"]


async def test_uploads_and_deletes_logos(place: WebApp) -> None:
    ada = await place.browser("ada@example.com")
    link = await link_of(place, ada)
    path, file = f"/links/{link.id}/qrcode", {"file": ("a.png", encoded(Image.new("RGB", (90, 90), "red")))}
    refused = await ada.post(f"{path}/logo", {}, files={"file": ("a.svg", b"<svg/>")})
    assert (refused.status_code, 'id="file-error">This must be a PNG' in refused.text) == (422, True)
    for cut, name, message in (
        ({"cut_top": "x"}, "cut_top", "This must be an integer."),
        ({"cut_left": "60", "cut_right": "40"}, "file", NOTHING_LEFT),
    ):
        refused = await ada.post(f"{path}/logo", cut | {"crop": "square"}, files=file)
        assert (refused.status_code, f'id="{name}-error">{message}<' in refused.text) == (422, True)
        assert '<option value="square" selected>' in refused.text
    assert (await ada.post(f"{path}/logo", {"crop": "whole", "cut_left": "50"}, files=file)).status_code == 303
    assert re.search(r'src="/media/logos/[^"]+" width="45" height="90"', (await ada.get(path)).text)
    uploaded = await ada.post(f"{path}/logo", {}, files=file)
    assert uploaded.status_code == 303
    page = await ada.get(uploaded.headers["location"])
    assert 'name="logo" value="true" checked' in page.text
    assert "data:image/png;base64," in (await ada.get(preview_of(page.text))).text
    assert (await ada.get(re.search(r'src="(/media/logos/[^"]+)"', page.text)[1])).headers[
        "content-type"
    ] == "image/png"
    too_large = await ada.get(f"{path}/look", params=STYLE | {"logo": "true", "logo_size": "0.3"})
    assert re.search(r"Logo size: .*The largest is 0\.2\d\.", too_large.text)
    assert (await ada.post(f"{path}/domain-logo", {}, files=file)).status_code == 404  # it is on the shared domain
    assert (await ada.post(path, STYLE | {"logo": "true"})).status_code == 303
    assert (await ada.post(f"{path}/logo/delete")).headers["location"] == f"{path}?done=logo-deleted"
    without = await ada.get(path)
    assert ("Easy to scan" in without.text, "Delete logo" in without.text) == (False, False)  # its margin is narrow
    assert "data:image" not in (await ada.get(preview_of(without.text))).text
