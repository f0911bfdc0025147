"""Logos of the account and of domains: PUT, GET and DELETE, what becomes of images, and the codes that show them."""

import io
import random
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from domains import domain
from PIL import Image, ImageDraw
from resources.links.env import faults
from resources.qrcodes.codes_env import Env, encoded
from sqlalchemy import update

from waypost.resources.links.images.codec import TOO_MANY_PIXELS
from waypost.resources.links.images.media import BadImage
from waypost.resources.links.model import links
from waypost.resources.qrcodes.logos.preparing import MAX_BYTES, MIN_SIDE, prepare
from waypost.resources.qrcodes.logos.schemas import LogoCrop


def ellipse(width: int, height: int, color: str = "#c81e1e") -> Image.Image:
    image = Image.new("RGBA", (width, height))
    ImageDraw.Draw(image).ellipse((0, 0, width - 1, height - 1), fill=color)
    return image


async def test_a_logo_is_uploaded_shown_and_deleted(env: Env) -> None:
    assert (await env.logo("GET")).status_code == (await env.logo("DELETE")).status_code == 404
    made = await env.upload(ellipse(300, 150))
    assert list(made) == ["width", "height", "url", "updated_at"]
    assert (made["width"], made["height"]) == (300, 150)
    assert (await env.logo("GET")).json() == {"data": made}
    shown = await env.client.get(made["url"])
    assert (shown.status_code, shown.headers["content-type"]) == (200, "image/png")
    assert "sandbox" in shown.headers["content-security-policy"]
    env.clock.move(timedelta(hours=1))
    assert await env.upload(ellipse(300, 150)) == made, "the same again changes nothing"
    other = await env.upload(ellipse(100, 100))
    assert other["url"] != made["url"]
    assert other["updated_at"] > made["updated_at"]
    assert (await env.client.get(made["url"])).status_code == 404
    assert (await env.logo("DELETE")).status_code == 204
    assert (await env.logo("GET")).status_code == (await env.client.get(other["url"])).status_code == 404
    assert (await env.client.get(made["url"].rpartition("/")[0] + "/a.png")).status_code == 404


async def test_the_logo_of_a_domain_goes_before_that_of_the_account(env: Env) -> None:
    link = await env.links.make()
    assert list(faults(await env.ask("POST", link, json={"logo": True}))) == ["logo"]
    await env.upload(ellipse(90, 90, "#0000ff"))
    code = await env.set(link, logo=True)
    assert (code["logo"], code["logo_size"], code["level"] in "QH", code["warnings"]) == (True, 0.22, True, [])
    assert await env.find(link) == code
    assert await middle_of(env, code) == (0, 0, 255)
    own = await domain(env.deps.db, env.links.alice.account_id, "brand.example")
    async with env.deps.db.write() as tx:
        await tx.execute(update(links).values(domain_id=own))
    assert await middle_of(env, code) == (0, 0, 255)
    etag = (await env.image(code["image_url"])).headers["etag"]
    await env.upload(ellipse(90, 90, "#00ff00"), own)
    assert (await env.image(code["image_url"], If_None_Match=etag)).status_code == 200, "it has changed"
    assert await middle_of(env, code) == (0, 255, 0)
    assert (await env.logo("GET", domain=own)).json()["data"]["width"] == 90
    assert (await env.logo("DELETE", domain=own)).status_code == 204
    assert await middle_of(env, code) == (0, 0, 255)
    await env.logo("DELETE")
    without = await env.find(link)
    assert (without["logo"], without["level"], without["warnings"]) == (True, "M", [])
    assert (await env.image(code["image_url"])).content == (await env.image((await env.set(link))["image_url"])).content


async def middle_of(env: Env, code: dict[str, Any]) -> Any:
    answer = await env.image(code["image_url"])
    assert answer.status_code == 200
    image = Image.open(io.BytesIO(answer.content)).convert("RGB")
    return image.getpixel((image.width // 2, image.height // 2))


async def test_a_logo_belongs_to_its_account(env: Env) -> None:
    own = await domain(env.deps.db, env.links.alice.account_id, "brand.example")
    await env.upload(ellipse(90, 90), own)
    for other in (own, uuid4()):
        for method in ("GET", "PUT", "DELETE"):
            assert (await env.logo(method, env.bob, other, files={"file": PNG})).status_code == 404
    assert (await env.logo("GET", env.bob)).status_code == 404


async def test_a_logo_that_hides_too_much_is_refused_with_the_largest_size(env: Env) -> None:
    link = await env.links.make()
    await env.upload(ellipse(90, 90))
    refused = faults(await env.ask("POST", link, json={"logo": True, "logo_size": 0.3}))
    assert list(refused) == ["logo_size"]
    largest = float(refused["logo_size"][0].rpartition(" ")[2].rstrip("."))
    assert 0.22 <= largest < 0.3
    code = await env.set(link, logo=True, logo_size=largest)
    assert code["logo_size"] == largest
    await env.links.changed(link, slug="s" * 110)
    assert any("logo is drawn with a size of" in text for text in (await env.find(link))["warnings"])
    await env.links.changed(link, slug="s" * 250)
    assert any("left out" in text for text in (await env.find(link))["warnings"])
    assert list(faults(await env.ask("POST", link, json={"logo": True}))) == ["logo"]


NOISE = Image.frombytes("RGB", (700, 400), random.Random(7).randbytes(700 * 400 * 3))
PALETTE = Image.new("P", (200, 200))
PALETTE.putpalette([255, 0, 0, 0, 255, 0] + [0] * 762)
PALETTE.paste(1, (50, 50, 150, 120))
GREY = Image.new("I;16", (200, 100))
GREY.paste(40_000, (50, 20, 150, 80))
FRAMED = Image.new("RGB", (400, 300), "white")
FRAMED.paste("#123456", (100, 50, 300, 250))
MANY = {"save_all": True, "append_images": [Image.new("RGB", (64, 64), "blue")]}
PNG = encoded(ellipse(90, 90))


@pytest.mark.parametrize(
    ("file", "size", "color"),
    [
        (encoded(FRAMED), (200, 200), None),
        (encoded(FRAMED, "WEBP", lossless=True), (200, 200), None),
        (encoded(Image.new("RGB", (8_000, 3_000), "red")), (512, 192), None),
        (encoded(Image.new("CMYK", (300, 200), (0, 200, 200, 0)), "JPEG"), (300, 200), None),
        (encoded(GREY), (100, 60), None),
        (encoded(PALETTE, transparency=0), (100, 70), "#00ff00"),
        (encoded(NOISE, "JPEG", quality=40), (512, 293), None),
        (encoded(Image.frombytes("RGB", (600, 600), random.Random(7).randbytes(1_080_000))), (384, 384), None),
        (PNG + b"PK\x03\x04<script>alert(1)</script>", (90, 90), "#c81e1e"),
        (encoded(Image.new("RGBA", (2_000, 2), "black")), (512, 1), None),
    ],
    ids=["margin", "webp", "8,000 px", "CMYK", "16 bits", "palette", "noise", "larger noise", "polyglot", "line"],
)
def test_prepares_logos(file: bytes, size: tuple[int, int], color: str | None) -> None:
    prepared = prepare(file)
    opened = Image.open(io.BytesIO(prepared.content))
    assert (opened.format, opened.size) == ("PNG", size)
    assert (prepared.width, prepared.height, prepared.color) == (*size, color)
    assert len(prepared.content) <= MAX_BYTES
    assert b"script" not in prepared.content


@pytest.mark.parametrize(
    ("crop", "size"),
    [
        ({"crop": "content"}, (200, 200)),
        ({"crop": "whole"}, (400, 300)),
        ({"crop": "square"}, (300, 300)),
        ({"crop": "square", "cut_top": 50, "cut_right": 99}, (4, 4)),
        ({"crop": "whole", "cut_left": 25, "cut_bottom": 10}, (300, 270)),
        ({"cut_left": 50}, (100, 200)),
    ],
)
def test_crops_as_chosen(crop: dict[str, Any], size: tuple[int, int]) -> None:
    chosen = LogoCrop(**crop)
    if max(size) < MIN_SIDE:
        with pytest.raises(BadImage):
            prepare(encoded(FRAMED), chosen)
    else:
        prepared = prepare(encoded(FRAMED), chosen)
        assert (prepared.width, prepared.height) == size


@pytest.mark.parametrize(
    ("file", "reason"),
    [
        (encoded(Image.new("RGB", (1, 1))), "at least 16 pixels"),
        (encoded(Image.new("RGBA", (50, 50))), "no visible pixels"),
        (encoded(Image.new("1", (8_000, 8_000))), TOO_MANY_PIXELS),
        (encoded(Image.new("RGB", (64, 64), "red"), **MANY), "Animated"),
        (encoded(Image.new("RGB", (64, 64), "red"), "WEBP", **MANY), "Animated"),
        (encoded(Image.new("P", (64, 64)), "GIF"), "PNG, JPEG or WebP"),
        (encoded(NOISE, "JPEG")[:9_000], "PNG, JPEG or WebP"),
        (PNG[:150], "PNG, JPEG or WebP"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "PNG, JPEG or WebP"),
        (PNG + bytes(2 << 20), "2 MB"),
        (b"\x89PNG", "PNG, JPEG or WebP"),
    ],
    ids=["1 pixel", "empty", "64 MP", "APNG", "WebP", "GIF", "cut JPEG", "cut PNG", "SVG", "large", "nothing"],
)
async def test_refuses_what_is_no_logo(env: Env, file: bytes, reason: str) -> None:
    answer = await env.logo("PUT", files={"file": ("logo.png", file)})
    assert list(faults(answer)) == ["file"]
    assert reason in faults(answer)["file"][0]
    assert (await env.logo("GET")).status_code == 404


async def test_needs_a_file(env: Env) -> None:
    for sent in ({"json": {}}, {"json": {"file": "a"}}, {"files": {"other": b"a"}}, {"files": {"file": (None, "a")}}):
        assert list(faults(await env.logo("PUT", **sent))) == ["file"]
