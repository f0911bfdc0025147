"""Where the labels of a sheet are, and what is where on each. Lengths are in millimeters. No I/O."""

from typing import Literal, NamedTuple

from waypost.resources.qrcodes.layout import Box

PDF, SHEET = "application/pdf", "qr-labels.pdf"
"""Media type and file name."""
A4 = 210.0, 297.0
MIN_SIDE = 8.0
"""Of a label. Most printers blur the modules of a smaller code."""
LabelSheet = Literal["L4731", "L7160"]
LabelCaption = Literal["slug", "title", "none"]

_MAX_PADDING, _PADDING = 2.0, 0.05
_FLAT = 2.0
"""A label that is more times as wide as high has its text beside the code."""
_MIN_CAPITALS, _MAX_CAPITALS = 1.2, 2.4
_CAPITALS = 0.06
"""Of the height of the label."""


class LabelGrid(NamedTuple):
    columns: int
    rows: int
    left: float
    top: float
    width: float
    height: float
    gap_x: float
    gap_y: float

    @property
    def labels(self) -> int:
        return self.columns * self.rows

    def label(self, number: int) -> Box:
        """Return the place of a label. They are numbered from 0, row by row."""
        row, column = divmod(number, self.columns)
        left, top = self.left + column * (self.width + self.gap_x), self.top + row * (self.height + self.gap_y)
        return Box(left, top, self.width, self.height)


def _centered(columns: int, rows: int, width: float, height: float, gap_x: float) -> LabelGrid:
    left = (A4[0] - columns * width - (columns - 1) * gap_x) / 2
    return LabelGrid(columns, rows, left, (A4[1] - rows * height) / 2, width, height, gap_x, 0)


GRIDS: dict[LabelSheet, LabelGrid] = {
    "L4731": _centered(7, 27, 25.4, 10, 2.5),
    "L7160": _centered(3, 7, 63.5, 38.1, 2.5),
}
"""Sheets of Avery."""


class SheetSettings(NamedTuple):
    grid: LabelGrid
    caption: LabelCaption
    start: int
    """Number of the first label that is printed on, from 1."""
    copies: int
    """Labels of each code."""


class LabelPlan(NamedTuple):
    code: Box
    text_left: float
    """Left end of the text, or its middle if it is centered."""
    text_middle: float
    """From the top of the label."""
    text_width: float
    capitals: float
    """Height of capitals."""
    is_centered: bool


def plan_label(grid: LabelGrid, *, has_text: bool) -> LabelPlan:
    """Place the code, and the text beneath it, or beside it on flat labels."""
    padding = min(_MAX_PADDING, _PADDING * min(grid.width, grid.height))
    capitals = min(max(_CAPITALS * grid.height, _MIN_CAPITALS), _MAX_CAPITALS)
    is_flat = grid.width > _FLAT * grid.height
    line = 2 * capitals if has_text and not is_flat else 0.0
    side = min(grid.width - 2 * padding, grid.height - 2 * padding - line)
    left = padding if has_text and is_flat else (grid.width - side) / 2
    top = (grid.height - side - line) / 2
    code = Box(left, top, side, side)
    if is_flat:
        start = padding + side
        return LabelPlan(code, start, grid.height / 2, grid.width - start - padding, capitals, is_centered=False)
    middle = top + side + line / 2
    return LabelPlan(code, grid.width / 2, middle, grid.width - 2 * padding, capitals, is_centered=True)
