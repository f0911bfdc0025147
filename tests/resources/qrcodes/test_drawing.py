"""All formats draw the same modules, in the same shapes, in exactly the size that is asked for."""

import io
import re
from dataclasses import replace
from datetime import UTC, datetime
from itertools import product
from typing import get_args
from xml.etree import ElementTree as ET

import pytest
from PIL import Image, ImageChops, ImageDraw, ImageStat

from bench.qr_readers import printed, rasterised
from waypost.kit.ids import new_id
from waypost.resources.domains.logos.model import Logo
from waypost.resources.qrcodes.drawing import LogoImage, TooLong, make_matrix, pdf, png, svg
from waypost.resources.qrcodes.drawing.matrix import Matrix
from waypost.resources.qrcodes.drawing.pdf import compressed_image
from waypost.resources.qrcodes.layout import lay_out
from waypost.resources.qrcodes.style import CodeStyle, ErrorCorrection, FrameStyle, ModuleStyle

TEXT = "https://go.example/spring?r=qr"
STYLES, LEVELS = get_args(ModuleStyle), get_args(ErrorCorrection)
MODULE = 16  # pixels: a whole number, so that edges are where a test styles for them
SVG = "{http://www.w3.org/2000/svg}"


def opened(file: bytes) -> Image.Image:
    return Image.open(io.BytesIO(file))


def images(code_style: CodeStyle, logo: LogoImage | None = None) -> dict[str, Image.Image]:
    """In shades of grey."""
    side = "-scale-to", str(code_style.size)
    files = {
        "png": png(TEXT, code_style, logo),
        "svg": rasterised(svg(TEXT, code_style, logo)),
        "pdf": printed(pdf(TEXT, code_style, logo), *side)[0],
    }
    return {name: opened(file).convert("L") for name, file in files.items()}


def matrix_of(level: ErrorCorrection) -> Matrix:
    return make_matrix(TEXT, lay_out(TEXT, CodeStyle(level=level)))


def even(style: ModuleStyle, level: ErrorCorrection = "M", margin: int = 4) -> CodeStyle:
    return CodeStyle(style=style, level=level, margin=margin, size=MODULE * (matrix_of(level).size + 2 * margin))


def test_a_png_has_its_size_and_colors() -> None:
    image = opened(png(TEXT, CodeStyle(foreground="#7a1f5c", background="#ffe9b8")))
    assert (image.format, image.mode, image.size) == ("PNG", "P", (512, 512))
    assert image.convert("RGB").getpixel((0, 0)) == (0xFF, 0xE9, 0xB8)
    assert image.convert("RGB").getpixel((60, 60)) == (0x7A, 0x1F, 0x5C)


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize(("level", "margin"), [("L", 0), ("M", 4), ("Q", 1), ("H", 10)])
def test_the_middle_of_a_module_has_its_color(style: ModuleStyle, level: ErrorCorrection, margin: int) -> None:
    code_style, matrix = even(style, level, margin), matrix_of(level)
    middles = [MODULE * place + MODULE // 2 for place in range(matrix.size + 2 * margin)]
    rim = bytes(margin)
    expected = [bytes(len(middles))] * margin + [rim + row + rim for row in matrix.rows]
    expected += [bytes(len(middles))] * margin
    for name, image in images(code_style).items():
        seen = [bytes(image.getpixel((x, y)) == 0 for x in middles) for y in middles]
        assert seen == expected, name


@pytest.mark.parametrize("name", ["png", "svg", "pdf"])
def test_fluid_is_round_only_where_both_neighbours_are_light(name: str) -> None:
    code_style, matrix = even("fluid"), matrix_of("M")
    image, dark = images(code_style)[name], set(matrix.dark)
    for x, y in dark:
        for dx, dy in product((-1, 1), repeat=2):
            corner = [
                MODULE * (place + code_style.margin) + (step > 0) * (MODULE - 1) for place, step in ((x, dx), (y, dy))
            ]
            is_round = (x + dx, y) not in dark and (x, y + dy) not in dark
            assert (image.getpixel(tuple(corner)) > 200) == is_round, (x, y, dx, dy)


@pytest.mark.parametrize("name", ["png", "svg", "pdf"])
def test_dots_are_separate_and_finders_square(name: str) -> None:
    code_style, matrix = even("dots"), matrix_of("M")
    image = images(code_style)[name]
    for x, y in matrix.dark:
        left, top = MODULE * (x + code_style.margin), MODULE * (y + code_style.margin)
        corners = {image.getpixel((left + dx, top + dy)) for dx, dy in product((0, MODULE - 1), repeat=2)}
        assert corners == ({0} if matrix.is_eye(x, y) else {255}), (x, y)


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("frame", ["none", "bottom"])
def test_all_formats_look_the_same_with_logo_and_frame(style: ModuleStyle, frame: FrameStyle) -> None:
    logo = Image.new("RGBA", (300, 200))
    ImageDraw.Draw(logo).ellipse((0, 0, 299, 199), fill=(255, 240, 240, 255))
    file = io.BytesIO()
    logo.save(file, "PNG")
    image = LogoImage(Logo(new_id(), "a", 300, 200, "#fff0f0", datetime.now(UTC)), file.getvalue())
    plain = CodeStyle(style=style, logo=True, frame=frame, frame_text="Größe: Σ4")
    code_style = replace(plain, size=MODULE * lay_out(TEXT, plain, (300, 200)).side)
    one, *others = images(code_style, image).values()
    for other in others:
        assert ImageStat.Stat(ImageChops.difference(one, other)).mean[0] < 1


def test_codes_in_pdf_files_share_the_work_for_their_logo() -> None:
    file = io.BytesIO()
    Image.new("RGBA", (30, 20), "#123456").save(file, "PNG")
    logo = LogoImage(Logo(new_id(), "b", 30, 20, None, datetime.now(UTC)), file.getvalue())
    compressed_image.cache_clear()
    files = [pdf(f"{TEXT}{number}", CodeStyle(logo=True), logo) for number in range(3)]
    assert (compressed_image.cache_info().misses, len({*files})) == (1, 3)


@pytest.mark.parametrize("style", STYLES)
def test_all_formats_look_the_same(style: ModuleStyle) -> None:
    one, *others = images(even(style)).values()
    for other in others:
        apart = ImageChops.difference(one, other)
        assert apart.getextrema()[1] < 96, "but for how edges are smoothed"
        assert ImageStat.Stat(apart).mean[0] < 1


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("size", [64, 65, 127, 333, 1023, 2048])
def test_centres_the_code_at_every_size(style: ModuleStyle, size: int) -> None:
    for margin in (0, 3, 10):
        code_style = CodeStyle(style=style, size=size, margin=margin)
        image = opened(png(TEXT, code_style)).convert("L")
        assert image.size == (size, size)
        left, top, right, bottom = ImageChops.invert(image).point(lambda value: 255 * (value > 127)).getbbox()
        assert left == top
        assert left == size - right
        assert abs(size - bottom - top) <= (0 if style == "squares" else size // 20), "may end in light modules"
        assert re.search(rb'width="(\d+)" height="(\d+)"', svg(TEXT, code_style)).groups() == (
            b"%d" % size,
            b"%d" % size,
        )


@pytest.mark.parametrize("style", STYLES)
def test_an_svg_is_a_background_and_one_path(style: ModuleStyle) -> None:
    code_style = CodeStyle(style=style, foreground="#1d3557", background="#f1faee", margin=2)
    image = ET.fromstring(svg(TEXT, code_style))
    side = 2 * (matrix_of("M").size + 4)
    assert (image.tag, image.get("viewBox")) == (f"{SVG}svg", f"0 0 {side} {side}")
    assert image.get("shape-rendering") == ("crispEdges" if style == "squares" else "geometricPrecision")
    ground, code = image
    assert [(each.tag, each.get("fill")) for each in image] == [(f"{SVG}path", "#f1faee"), (f"{SVG}path", "#1d3557")]
    assert ground.get("d") == f"M0 0h{side}v{side}H0z"
    assert re.fullmatch(r"[Mmahvz0-9. -]+", code.get("d"))


@pytest.mark.parametrize("style", STYLES)
def test_a_pdf_has_its_width_on_paper_and_its_colors(style: ModuleStyle) -> None:
    file = pdf(TEXT, CodeStyle(style=style, foreground="#7a1f5c", background="#ffe9b8", width_mm=127))
    [page] = printed(file, "-r", "100")
    image = opened(page).convert("RGB")
    assert image.size == (500, 500), "five inches"
    assert image.getpixel((0, 0)) == image.getpixel((499, 499)) == (0xFF, 0xE9, 0xB8)
    assert image.getpixel((60, 60)) == (0x7A, 0x1F, 0x5C)
    assert b"/Image" not in file
    assert len(file) < 8_000


@pytest.mark.parametrize("style", STYLES)
def test_the_same_style_gives_the_same_bytes(style: ModuleStyle) -> None:
    first = [draw(TEXT, CodeStyle(style=style)) for draw in (png, svg, pdf)]
    make_matrix.cache_clear()
    assert [draw(TEXT, CodeStyle(style=style)) for draw in (png, svg, pdf)] == first


@pytest.mark.parametrize(("level", "most"), [("L", 2953), ("M", 2331), ("Q", 1663), ("H", 1273)])
def test_rejects_a_text_that_is_too_long(level: ErrorCorrection, most: int) -> None:
    assert lay_out("é" * (most // 2) + "x" * (most % 2), CodeStyle(level=level)).modules == 177
    for draw in (png, svg, pdf):
        with pytest.raises(TooLong):
            draw("x" * (most + 1), CodeStyle(level=level))
