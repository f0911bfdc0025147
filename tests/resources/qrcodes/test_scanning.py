"""Codes scan: two independent readers find the text and nothing else.

The complete table, with every color, size and distortion, is written by `python -m bench.scanning`.
"""

import base64
import io
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import get_args

import pytest
from browser.watching import chromium
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageDraw, ImageFilter
from playwright.async_api import Browser
from resources.qrcodes.codes_env import encoded

from bench.qr_readers import DISTORTIONS, ImageFile, printed, rasterised, read_by_zbar, read_by_zxing, written
from waypost.kit.ids import new_id
from waypost.resources.qrcodes.drawing import LogoImage, pdf, png, svg
from waypost.resources.qrcodes.layout import lay_out
from waypost.resources.qrcodes.logos.preparing import prepare
from waypost.resources.qrcodes.style import CodeStyle, ErrorCorrection, FrameStyle, ModuleStyle

__all__ = ["chromium"]

TEXT = "https://go.example/spring?r=qr"
COLORED = {"foreground": "#1b4332", "background": "#f4a261"}
STYLES, LEVELS = get_args(ModuleStyle), get_args(ErrorCorrection)

Reads = Callable[[list[ImageFile], list[str]], None]


@pytest.fixture
def reads(tmp_path: Path) -> Reads:
    """Asserts that both find each image's text."""

    def reads(images: list[ImageFile], texts: list[str]) -> None:
        expected = [{text} for text in texts]
        assert read_by_zbar(images, tmp_path) == expected
        assert read_by_zxing(images) == expected

    return reads


def drawn_of(text: str, code_style: CodeStyle) -> list[ImageFile]:
    """In all formats."""
    files = png(text, code_style), rasterised(svg(text, code_style)), *printed(pdf(text, code_style), "-r", "300")
    return [ImageFile(file) for file in files]


@pytest.mark.parametrize("style", STYLES)
def test_readers_scan_every_style_and_level(reads: Reads, style: ModuleStyle) -> None:
    styles = [CodeStyle(**colors, level=level, style=style) for level, colors in product(LEVELS, ({}, COLORED))]
    images = [image for code_style in styles for image in drawn_of(TEXT, code_style)]
    reads(images, [TEXT] * len(images))


@pytest.mark.parametrize("distortion", DISTORTIONS)
def test_scans_after_scaling_and_photographing(reads: Reads, distortion: str) -> None:
    drawn = [image for style in STYLES for image in drawn_of(TEXT, CodeStyle(style=style))]
    images = [DISTORTIONS[distortion](image, "#ffffff") for image in drawn]
    reads(images, [TEXT] * len(images))


def test_not_every_reader_scans_light_on_dark(tmp_path: Path) -> None:
    image = ImageFile(png(TEXT, CodeStyle(foreground="#ffffff", background="#000000")))
    assert read_by_zbar([image], tmp_path) == [set()], "then its warning can go"
    assert read_by_zxing([image]) == [{TEXT}]


@pytest.mark.parametrize("style", STYLES)
def test_scans_long_links_margins_and_small_sizes(reads: Reads, style: ModuleStyle) -> None:
    host = f"xn--bcher-kva.{'a' * 60}.{'b' * 60}.example"
    long, short = f"https://{host}/{'Way-post_1' * 25}12345?r=qr", "https://a.example/b?r=qr"
    drawn = [(long, CodeStyle(style=style, level=level, size=640)) for level in ("L", "H")]
    drawn += [(TEXT, CodeStyle(style=style, margin=margin, size=256)) for margin in (1, 2, 10)]
    drawn += [(short, CodeStyle(style=style, size=80, level="L"))]  # 2.4 pixels a module
    images = [image for text, code_style in drawn for image in drawn_of(text, code_style)]
    reads(images, [text for text, _ in drawn for _ in range(3)])


def test_a_frame_leaves_space_around_the_code(reads: Reads) -> None:
    styles = [CodeStyle(style=style, frame="bottom", margin=margin) for style in STYLES for margin in (0, 1)]
    images = [image for code_style in styles for image in drawn_of(TEXT, code_style)]
    reads(images, [TEXT] * len(images))


def test_scans_the_largest_size(reads: Reads) -> None:
    reads([ImageFile(png(TEXT, CodeStyle(style=style, size=2048))) for style in STYLES], [TEXT] * len(STYLES))


async def test_scans_from_the_screen_of_a_browser(reads: Reads, chromium: Browser) -> None:
    """At a size that is not the image's own, on a screen of odd density."""
    page = await (await chromium.new_context(device_scale_factor=1.5)).new_page()
    drawn = [svg(TEXT, CodeStyle(style=style)) for style in STYLES]
    sources = [f"data:image/svg+xml;base64,{base64.b64encode(each).decode()}" for each in drawn]
    await page.set_content("".join(f'<p><img width="180" src="{source}"></p>' for source in sources))
    images = await page.get_by_role("img").all()
    reads([ImageFile(await image.screenshot()) for image in images], [TEXT] * len(STYLES))


def compressed(image: Image.Image) -> ImageFile:
    file = io.BytesIO()
    image.save(file, "JPEG", quality=60)
    return ImageFile(file.getvalue())


CHANGES: Mapping[str, Callable[[Image.Image], ImageFile]] = {
    "as it is": written,
    "rotated": lambda image: written(image.rotate(13, Image.Resampling.BICUBIC, expand=True, fillcolor="white")),
    "JPEG": compressed,
    "blurred": lambda image: written(image.filter(ImageFilter.GaussianBlur(image.width / 400))),
    "a quarter": lambda image: written(image.resize((image.width // 4, image.height // 4), Image.Resampling.BICUBIC)),
}


@st.composite
def logos(draw: st.DrawFn) -> LogoImage:
    """Any shapes in any colors, on a ground of their own or on none."""
    width, height = draw(st.sampled_from([(200, 200), (300, 100), (100, 300), (400, 80), (150, 200)]))
    image = Image.new("RGBA", (width, height), draw(st.sampled_from(["#0000", "#000", "#fff", "#c81e3c"])))
    pen = ImageDraw.Draw(image)
    if draw(st.booleans()):  # a photo, at its worst
        image = Image.effect_noise((width, height), 200).convert("RGBA")
        pen = ImageDraw.Draw(image)
    for _ in range(draw(st.integers(1, 6))):
        x, y, side = draw(st.integers(0, width)), draw(st.integers(0, height)), draw(st.integers(20, 150))
        shape = draw(st.sampled_from([pen.ellipse, pen.rectangle]))
        shape((x - side, y - side, x + side, y + side), fill=f"#{draw(st.integers(0, 0xFFFFFF)):06x}")
    prepared = prepare(encoded(image))
    return LogoImage(prepared.of(new_id(), datetime.now(UTC)), prepared.content)


@settings(max_examples=3 if settings().max_examples < 100 else 100, derandomize=True)
@given(
    logo=logos(),
    slug=st.integers(1, 40).map("a".__mul__),
    style=st.sampled_from(STYLES),
    level=st.sampled_from(LEVELS),
    size=st.integers(10, 30).map(lambda hundredths: hundredths / 100),
    frame=st.sampled_from(get_args(FrameStyle)),
)
def test_codes_with_logos_scan(
    logo: LogoImage, slug: str, style: ModuleStyle, level: ErrorCorrection, size: float, frame: FrameStyle
) -> None:
    """What is accepted, and the size that is named where one is refused."""
    text = f"https://go.example/{slug}?r=qr"
    code_style = CodeStyle(style=style, level=level, size=1024, logo=True, logo_size=size, frame=frame)
    layout = lay_out(text, code_style, (logo.logo.width, logo.logo.height))
    assert 0 < layout.logo_size <= size
    accepted = lay_out(text, replace(code_style, logo_size=layout.logo_size), (logo.logo.width, logo.logo.height))
    assert accepted == layout
    file = ImageFile(png(text, code_style, logo))
    images = {name: change(file.opened().convert("RGB")) for name, change in CHANGES.items()}
    assert dict(zip(images, read_by_zxing(list(images.values())), strict=True)) == {name: {text} for name in images}
    if not layout.hides_alignment:  # zbar looks for the hidden pattern in the logo; a warning says so
        with TemporaryDirectory() as directory:
            found = read_by_zbar(list(images.values()), Path(directory))
        assert dict(zip(images, found, strict=True)) == {name: {text} for name in images}
