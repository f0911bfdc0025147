"""Draws one label of a sheet: a code with a line of text."""

import unicodedata

from waypost.resources.qrcodes.drawing.letters import find_unknown, outlines_at, width_of
from waypost.resources.qrcodes.drawing.logo_image import LogoImage
from waypost.resources.qrcodes.drawing.pdf import add_code, polygon
from waypost.resources.qrcodes.drawing.pdf_file import PdfFile
from waypost.resources.qrcodes.labels import LabelCaption, SheetSettings, plan_label
from waypost.resources.qrcodes.model import SelectedCode

_ELLIPSIS = "…"


def add_label(file: PdfFile, sheet: SheetSettings, url: str, code: SelectedCode) -> int:
    """Add the drawing of a label in millimeters, and return its number."""
    grid, text = sheet.grid, caption(code, sheet.caption)
    plan = plan_label(grid, has_text=bool(text))
    form, side = add_code(file, url, code.style, LogoImage(*code.logo) if code.logo else None)
    box, scale = plan.code, plan.code.width / side
    content = [f"q {scale:.6f} 0 0 {scale:.6f} {box.left:.3f} {grid.height - box.top - box.height:.3f} cm/C Do Q 0 g"]
    text = cut(text, plan.text_width / plan.capitals)
    left = plan.text_left - (width_of(text) * plan.capitals / 2 if plan.is_centered else 0)
    start = left, plan.text_middle + plan.capitals / 2
    shapes = outlines_at(text, start, plan.capitals)
    content += [polygon((x, grid.height - y) for x, y in shape) for shape in shapes]
    return file.add_form((grid.width, grid.height), "\n".join([*content, "f"]), f"/XObject<</C {form} 0 R>>")


def caption(code: SelectedCode, kind: LabelCaption) -> str:
    """Return the text of a label: the title without what the letters lack, or the slug if nothing is left of it."""
    if kind == "title":
        title = unicodedata.normalize("NFC", code.link.title)
        unknown = find_unknown(title)
        shown = " ".join("".join(char for char in title if char not in unknown).split())
        if any(map(str.isalnum, shown)):
            return shown
    return "" if kind == "none" else code.link.slug


def cut(text: str, width: float) -> str:
    """Cut a text that is wider. `width`: in heights of a capital."""
    if width_of(text) <= width:
        return text
    while text and width_of(text + _ELLIPSIS) > width:
        text = text[:-1]
    return text.rstrip() + _ELLIPSIS
