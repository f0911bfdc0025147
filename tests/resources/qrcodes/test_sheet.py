"""POST /v1/qrcodes/sheet, read from the printed page by both readers."""

import io
from pathlib import Path
from types import SimpleNamespace
from typing import Any, get_args

import httpx
import pytest
import zxingcpp
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from resources.clicks.visited import new_link
from resources.links.added import add_links
from resources.links.env import SHARED, faults
from resources.qrcodes.codes_env import Env

from bench.qr_readers import ImageFile, printed, read_by_zbar
from waypost.resources.qrcodes.account_data import add_styles
from waypost.resources.qrcodes.drawing.label import caption, cut
from waypost.resources.qrcodes.drawing.letters import width_of
from waypost.resources.qrcodes.file_schemas import LabelGridFields
from waypost.resources.qrcodes.labels import A4, GRIDS, LabelGrid, plan_label
from waypost.resources.qrcodes.layout import Box
from waypost.resources.qrcodes.style import CodeStyle, ModuleStyle

PATH = "/api/v1/qrcodes/sheet"
DPI = 600
MM = DPI / 25.4
"""Pixels."""
OWN = {"columns": 4, "rows": 6, "margin_top": 12, "margin_left": 15, "gap_x": 3, "gap_y": 2.5}


async def ask(env: Env, **body: Any) -> httpx.Response:
    return await env.client.post(PATH, headers=env.links.alice.headers, json=body)


async def pages_of(env: Env, **body: Any) -> list[Image.Image]:
    answer = await ask(env, **body)
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/pdf"), answer.text
    return [Image.open(io.BytesIO(page)).convert("L") for page in printed(answer.content, "-r", str(DPI), "-gray")]


async def make_links(env: Env, count: int, title: str = "Sale") -> list[str]:
    links = [new_link(env.links.alice.account_id, slug=f"s{number}", title=title) for number in range(count)]
    styles = get_args(ModuleStyle)
    async with env.deps.db.write() as tx:
        await add_links(tx, links)
        await add_styles(
            tx, [(link.id, CodeStyle(style=styles[number % 3]), link.created_at) for number, link in enumerate(links)]
        )
    return [str(link.id) for link in links]


def cropped(page: Image.Image, box: Box) -> Image.Image:
    left, top, width, height = box
    return page.crop((round(left * MM), round(top * MM), round((left + width) * MM), round((top + height) * MM)))


def found(page: Image.Image, grid: LabelGrid, directory: Path) -> dict[int, str]:
    """What both readers find in each label that is not blank."""
    labels = {number: cropped(page, grid.label(number)) for number in range(grid.labels)}
    shown = {number: label for number, label in labels.items() if label.getextrema()[0] < 255}
    files = []
    for label in shown.values():
        file = io.BytesIO()
        label.save(file, "PNG", compress_level=1)
        files.append(ImageFile(file.getvalue()))
    by_zbar = read_by_zbar(files, directory)
    by_zxing = [{each.text for each in zxingcpp.read_barcodes(label)} for label in shown.values()]
    assert by_zbar == by_zxing
    return {number: text for number, [text] in zip(shown, by_zxing, strict=True)}


@pytest.mark.parametrize(
    ("body", "grid"),
    [
        ({"labels": "L7160", "caption": "title"}, GRIDS["L7160"]),
        ({"labels": "L4731"}, GRIDS["L4731"]),
        ({"grid": OWN, "caption": "none"}, LabelGridFields.model_validate(OWN).to_grid()),
    ],
    ids=["L7160", "L4731", "own"],
)
async def test_prints_each_code_on_its_label(env: Env, tmp_path: Path, body: dict[str, Any], grid: LabelGrid) -> None:
    ids = await make_links(env, grid.labels - 5)
    [first, second] = await pages_of(env, ids=[*ids, *ids[:8]], start=3, **body)
    assert first.size == tuple(round(side * MM) for side in A4)
    urls = [f"http://{SHARED}/s{number}?r=qr" for number in range(len(ids))]
    printed_on = [*urls, *urls[:8]]
    assert found(first, grid, tmp_path) == dict(enumerate(printed_on[: grid.labels - 2], start=2))
    assert found(second, grid, tmp_path) == dict(enumerate(printed_on[grid.labels - 2 :]))


async def test_prints_copies_of_each_code(env: Env, tmp_path: Path) -> None:
    await make_links(env, 2)
    [page] = await pages_of(env, hostname=SHARED, copies=3)
    texts = [text[-7:] for text in found(page, GRIDS["L7160"], tmp_path).values()]
    assert texts == ["s1?r=qr"] * 3 + ["s0?r=qr"] * 3, "newest first"
    one, three = [(await ask(env, hostname=SHARED, copies=copies)).content for copies in (1, 3)]
    assert len(three) < 1.2 * len(one), "drawn once"


@pytest.mark.parametrize("name", [*GRIDS])
def test_the_sheets_of_avery_are_centered_on_the_page(name: Any) -> None:
    grid, (width, height) = GRIDS[name], A4
    first, last = grid.label(0), grid.label(grid.labels - 1)
    assert first.left == pytest.approx(width - last.left - last.width)
    assert first.top == pytest.approx(height - last.top - last.height)
    assert (grid.labels, first.width, first.height) == {"L4731": (189, 25.4, 10), "L7160": (21, 63.5, 38.1)}[name]


@given(st.floats(8, 200), st.floats(8, 280), st.booleans())
def test_code_and_text_are_on_the_label(width: float, height: float, has_text: bool) -> None:
    grid = LabelGrid(1, 1, 0, 0, width, height, 0, 0)
    plan = plan_label(grid, has_text=has_text)
    code = plan.code
    assert code.width == code.height > 4
    assert min(code.left, code.top) >= 0
    assert max(code.left + code.width - width, code.top + code.height - height) < 1e-9
    if has_text:
        half = plan.text_width / 2 if plan.is_centered else 0
        left, right = plan.text_left - half, plan.text_left - half + plan.text_width
        assert 0 <= left < right <= width + 1e-9
        assert plan.text_middle + plan.capitals / 2 < height
        assert left >= code.left + code.width - 1e-9 or plan.text_middle - plan.capitals / 2 > code.top + code.height


@pytest.mark.parametrize(
    ("title", "kind", "text"),
    [
        ("Spring", "title", "Spring"),
        ("Spring", "slug", "the-slug"),
        ("Spring", "none", ""),
        ("Größe Привет Σίγμα", "title", "Größe Привет Σίγμα"),
        ("Gro\u0308ße", "title", "Größe"),
        ("Sale 🎉 now", "title", "Sale now"),
        ("日本語", "title", "the-slug"),
        ("שלום!", "title", "the-slug"),
        ("a\u202eb", "title", "ab"),
    ],
)
def test_captions_have_what_the_letters_can_show(title: str, kind: Any, text: str) -> None:
    code: Any = SimpleNamespace(link=SimpleNamespace(title=title, slug="the-slug"))
    assert caption(code, kind) == text


@given(st.text("aW-i ", max_size=300), st.floats(2, 40))
def test_captions_are_cut_to_fit(text: str, width: float) -> None:
    shown = cut(text, width)
    assert width_of(shown) <= width
    assert shown == text or (shown.endswith("…") and text.startswith(shown[:-1]))


@pytest.mark.parametrize(
    ("body", "errors"),
    [
        ({}, {"ids": "Send one of ids, tag and hostname"}),
        ({"labels": "L1"}, {"labels": "This must be one of: L4731, L7160."}),
        ({"labels": "L4731", "grid": OWN}, {"grid": "Send either labels or grid."}),
        ({"grid": {}}, dict.fromkeys(["grid.columns", "grid.rows"], "This field is required.")),
        ({"grid": {"columns": 100, "rows": 1}}, {"grid": "Each label must be at least 8 mm wide and high."}),
        ({"grid": {"columns": 2, "rows": 2, "gap_x": 100, "margin_left": 100}}, {"grid": "Each label must be at"}),
        (
            {"grid": {"columns": 0, "rows": "1"}},
            {"grid.columns": "This must be at least 1", "grid.rows": "This must be an"},
        ),
        ({"grid": {"columns": 1, "rows": 1, "gap_x": -1}}, {"grid.gap_x": "This must be at least 0."}),
        ({"start": 22}, {"start": "The sheet has 21 labels."}),
        ({"start": 0}, {"start": "This must be at least 1."}),
        ({"copies": 1001}, {"copies": "This must be at most 1,000."}),
        ({"caption": "url"}, {"caption": "This must be one of: slug, title, none."}),
    ],
    ids=range(12),
)
async def test_reports_what_is_wrong(env: Env, body: dict[str, Any], errors: dict[str, str]) -> None:
    sent = body if body == {} else {"hostname": SHARED, **body}
    answer = await ask(env, **sent)
    assert {name: text[: len(errors.get(name, ""))] for name, [text] in faults(answer).items()} == errors


async def test_a_file_has_at_most_a_thousand_labels(env: Env) -> None:
    ids = await make_links(env, 2)
    assert faults(await ask(env, ids=ids, copies=501))["copies"][0].startswith("One file has at most 1,000 labels.")
    assert (await ask(env, ids=ids, copies=500)).status_code == 200
