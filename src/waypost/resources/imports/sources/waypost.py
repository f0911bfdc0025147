"""Another installation of Waypost, by the archive of an account: its links, with their ids and all fields."""

from dataclasses import replace
from typing import ClassVar

from pydantic import ValidationError

from waypost.outbound import Outbound
from waypost.resources.imports.archive.links import read_link
from waypost.resources.imports.archive.reader import Archive
from waypost.resources.imports.archive.rows import LinkRow, reason_of
from waypost.resources.imports.client import Wait
from waypost.resources.imports.source import LinkPage, RefusedRow, SourceError, SourceOptions

_FILE = "links.ndjson"
_LINKS_AT_ONCE = 500


class Waypost(Archive):
    name: ClassVar = "waypost"
    ignores_case: ClassVar = False

    async def link_page(self, cursor: str | None) -> LinkPage:
        """The cursor is how many rows of links come before."""
        start, links, refused = int(cursor or 0), [], []
        rows = await self.read_batch(_FILE, _LINKS_AT_ONCE, start)
        for number, row in enumerate(rows, start + 1):
            place = f"Line {number:,} of {_FILE}"
            try:
                links.append(replace(read_link(LinkRow.model_validate(row)), place=place))
            except ValidationError as error:
                refused.append(RefusedRow(str(row.get("id", "?")), f"{place}: {reason_of(error)}"))
        following = str(start + len(rows)) if rows else None
        return LinkPage(links, following, refused, total=self.count_rows(_FILE), is_of_file=True)


def open_source(options: SourceOptions, _outbound: Outbound, _wait: Wait) -> Waypost:
    if options.file is None:
        raise SourceError("Name the ZIP file of `waypost export all` or of the dashboard with --file.")
    return Waypost.open(options.file)
