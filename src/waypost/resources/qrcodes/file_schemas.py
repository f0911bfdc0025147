"""The bodies of requests for many codes in one file."""

from typing import Annotated, ClassVar

from pydantic import AfterValidator, Field

from waypost.kit.docs import field
from waypost.kit.errors import Problems
from waypost.kit.fields import NOT_BLANK, REQUIRED, Body, Text, max_characters, max_entries
from waypost.resources.links.bulk.schemas import ID_FORMAT, NOT_EMPTY
from waypost.resources.qrcodes.file_names import check_pattern
from waypost.resources.qrcodes.labels import A4, GRIDS, MIN_SIDE, LabelCaption, LabelGrid, LabelSheet
from waypost.resources.qrcodes.style import ImageFormat

MAX_CODES = 1_000
"""In one file."""


class CodeSelection(Body):
    """Which codes are put into one file."""

    ids: Annotated[list[Text], ID_FORMAT, max_entries(MAX_CODES), NOT_EMPTY] | None = field(
        "IDs of links, 1 to 1,000. Send one of `ids`, `tag` and `hostname`", ["01a1fbb2-2855-72ee-8e77-c161c4205e89"]
    )
    tag: Annotated[Text, NOT_BLANK] | None = field("All links that have the tag", "sale")
    hostname: Annotated[Text, NOT_BLANK] | None = field("All links on the domain", "go.brand.com")


class NewArchive(CodeSelection):
    EXAMPLE: ClassVar = {"tag": "sale", "format": "svg", "name": "{title}"}

    format: ImageFormat | None = field("Format of the images", "png")
    name: Annotated[Text, max_characters(255), NOT_BLANK, AfterValidator(check_pattern)] | None = field(
        "Names of the files without their ending: text with `{slug}`, `{title}`, `{hostname}` and `{id}`", "{slug}"
    )


LABELS_OR_GRID = "Send either labels or grid."
TOO_SMALL = (
    f"Each label must be at least {MIN_SIDE:.0f} mm wide and high."
    " Use fewer columns or rows, or smaller margins and gaps."
)
_MARGIN = 10.0
Count = Annotated[int, Field(ge=1, le=100)]
Length = Annotated[float, Field(ge=0, le=100)]


class LabelGridFields(Body):
    """A grid of labels on A4. What margins and gaps leave is divided among the labels."""

    EXAMPLE: ClassVar = {"columns": 4, "rows": 10, "margin_top": 12.5, "margin_bottom": 12.5, "gap_x": 2.5}
    REQUIRED = ("columns", "rows")

    columns: Count | None = field("Labels in a row", 4)
    rows: Count | None = field("Labels in a column", 10)
    margin_top: Length | None = field("Millimeters above the first row; default: 10", 12.5)
    margin_right: Length | None = field("Millimeters beside the last column; default: 10", 8.5)
    margin_bottom: Length | None = field("Millimeters below the last row; default: 10", 12.5)
    margin_left: Length | None = field("Millimeters beside the first column; default: 10", 8.5)
    gap_x: Length | None = field("Millimeters between two columns; default: 0", 2.5)
    gap_y: Length | None = field("Millimeters between two rows; default: 0", 0.5)

    def to_grid(self) -> LabelGrid:
        columns, rows, gap_x, gap_y = self.columns or 1, self.rows or 1, self.gap_x or 0, self.gap_y or 0
        sent = self.margin_top, self.margin_right, self.margin_bottom, self.margin_left
        top, right, bottom, left = (_MARGIN if margin is None else margin for margin in sent)
        width = (A4[0] - left - right - (columns - 1) * gap_x) / columns
        height = (A4[1] - top - bottom - (rows - 1) * gap_y) / rows
        return LabelGrid(columns, rows, left, top, width, height, gap_x, gap_y)


class NewSheet(CodeSelection):
    EXAMPLE: ClassVar = {"tag": "sale", "labels": "L7160", "caption": "title", "start": 4}
    NESTED: ClassVar = {"grid": LabelGridFields}

    labels: LabelSheet | None = field("Sheet of Avery: 189 labels of 25.4 by 10 mm, or 21 of 63.5 by 38.1 mm", "L7160")
    grid: LabelGridFields | None = field("Own grid in place of `labels`")
    caption: LabelCaption | None = field("Text of each label, cut to fit", "slug")
    start: Annotated[int, Field(ge=1)] | None = field("Label to start at, on a sheet of which some are used", 1)
    copies: Annotated[int, Field(ge=1, le=MAX_CODES)] | None = field("Labels of each code", 1)

    def find_grid(self, problems: Problems) -> LabelGrid:
        """Return the grid of the labels, and check what depends on it."""
        if self.grid is None:
            grid = GRIDS[self.labels or "L7160"]
        else:
            missing = Problems()
            self.grid.check_required(missing)
            for name in missing.errors:
                problems.add(f"grid.{name}", REQUIRED)
            grid = self.grid.to_grid()
            if self.labels:
                problems.add("grid", LABELS_OR_GRID)
            elif not missing and min(grid.width, grid.height) < MIN_SIDE:
                problems.add("grid", TOO_SMALL)
        if (self.start or 1) > grid.labels:
            problems.add("start", f"The sheet has {grid.labels} labels.")
        return grid
