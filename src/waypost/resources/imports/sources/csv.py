"""CSV files, as services export them and spreadsheets save them.

The file is read as a stream, so its size does not matter: once for what its rows have in common, and then for the
links. The cursor is the number of rows that were read.
"""

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from sys import getsizeof

from waypost.outbound import Outbound
from waypost.resources.imports import batches
from waypost.resources.imports.client import Wait
from waypost.resources.imports.source import LinkPage, RefusedRow, SourceError, SourceLink, SourceOptions
from waypost.resources.imports.tables.columns import FIELDS, Description
from waypost.resources.imports.tables.dates import ZeroDate
from waypost.resources.imports.tables.sheet import Fields, Sheet, SheetRow
from waypost.resources.imports.tables.values import is_enabled, read_count

PAGE = 500
_MAX_TAGS = 200
"""Of a row, beyond which the others are not split."""
_MAX_WORD = 40
"""Characters of a value that a warning repeats."""
_ASSUMED_UTC = "Times without a time zone were read as UTC. If that is wrong, import again with the zone"


def open_source(options: SourceOptions, _outbound: Outbound, _wait: Wait) -> "Csv":
    if options.file is None:
        raise SourceError("Name the CSV file with --file.")
    return Csv(options.file, options)


class Csv:
    name = "csv"
    ignores_case = False

    def __init__(self, file: Path, options: SourceOptions) -> None:
        self._file = file
        self._options = options
        self._sheet: Sheet | None = None
        self._rows: Iterator[SheetRow] | None = None
        self._position = 0
        self._warnings: list[str] = []

    async def check(self) -> None:
        await asyncio.to_thread(self._check)

    async def link_page(self, cursor: str | None) -> LinkPage:
        return await asyncio.to_thread(self._link_page, int(cursor or 0))

    async def describe(self) -> Description:
        """Return what each column is taken for, with values of the first rows. Raises SourceError."""
        return await asyncio.to_thread(lambda: self._open().describe())

    def _open(self) -> Sheet:
        """Raises SourceError."""
        if self._sheet is None:
            self._sheet = Sheet(self._file, self._options)
        return self._sheet

    def _check(self) -> Sheet:
        """Raises SourceError, also for a file without destinations."""
        sheet = self._open()
        sheet.require_columns()
        return sheet

    def _link_page(self, position: int) -> LinkPage:
        sheet = self._check()
        if self._rows is None:
            self._warnings += sheet.survey()
        if self._rows is None or position != self._position:
            self._rows, self._position = islice(sheet.rows(), position, None), position
        links: list[SourceLink] = []
        refused: list[RefusedRow] = []
        found, is_last = batches.take(self._rows, PAGE, lambda row: sum(map(getsizeof, row.fields.values())))
        for number, row in enumerate(found, position + 1):
            try:
                links.append(self._link(row, sheet))
            except ValueError as error:
                source_id = None if row.problem else sheet.id_of(row.fields, sheet.address_of(row.fields))
                refused.append(RefusedRow(source_id or f"row {number}", f"Line {row.line:,}: {error}"))
        self._position += len(found)
        warnings = list(dict.fromkeys(self._warnings))
        self._warnings.clear()
        next_cursor = None if is_last else str(self._position)
        return LinkPage(links, next_cursor, refused, warnings, sheet.count, is_of_file=True)

    def _link(self, row: SheetRow, sheet: Sheet) -> SourceLink:
        """Raises ValueError with what is wrong."""
        fields = row.fields
        if row.problem:
            raise ValueError(row.problem)
        if "destination" not in fields:
            raise ValueError("The row has no destination.")
        address = sheet.address_of(fields)
        if address and not address.path:
            raise ValueError("The short link is a domain without a slug.")
        left_out: list[str] = []
        clicks = read_count(fields["clicks"]) if "clicks" in fields else None
        if clicks is None and "clicks" in fields:
            left_out.append("the clicks, which are no whole number")
        is_on = is_enabled(fields["status"]) if "status" in fields else True
        if is_on is None:
            left_out.append(f"the unknown status “{fields['status'][:_MAX_WORD]}”. The link is disabled")
        tags = fields.get("tags", "")
        return SourceLink(
            source_id=sheet.id_of(fields, address) or fields["destination"],
            address=address,
            destination_url=fields["destination"],
            title=fields.get("title"),
            tags=tags.split("|" if "|" in tags else ",", _MAX_TAGS)[:_MAX_TAGS],
            created_at=self._time(sheet, fields, "created_at", left_out),
            expires_at=self._time(sheet, fields, "expires_at", left_out),
            is_enabled=bool(is_on),
            clicks=clicks,
            note=sheet.option(fields, "note"),
            external_id=sheet.option(fields, "external_id"),
            left_out=left_out,
            place=f"Line {row.line:,}",
        )

    def _time(self, sheet: Sheet, fields: Fields, name: str, left_out: list[str]) -> datetime | None:
        """Raises ValueError."""
        if name not in fields:
            return None
        try:
            at = sheet.dates[name].read(fields[name])
        except ZeroDate:
            left_out.append(f"the {FIELDS[name].lower()} “{fields[name][:_MAX_WORD]}”, which is no date")
            return None
        if at is None or at.tzinfo:
            return at
        if self._options.timezone is None:
            self._warnings.append(_ASSUMED_UTC)
        return at.replace(tzinfo=self._options.timezone or UTC)
