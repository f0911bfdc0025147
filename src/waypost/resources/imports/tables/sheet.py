"""A CSV file with its columns, and what all of its rows have in common, such as the order of day and month."""

from array import array
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice, pairwise
from pathlib import Path
from typing import NamedTuple

from waypost.kit.csv_cells import read_cell
from waypost.resources.imports.encodings import Encoding, find_encoding, is_broken, name_of, readings
from waypost.resources.imports.short_urls import split
from waypost.resources.imports.source import Address, SourceError, SourceOptions, UnexpectedAnswer
from waypost.resources.imports.tables.columns import DATES, Column, Description, choose_fields, is_code, is_own
from waypost.resources.imports.tables.dates import DateColumn
from waypost.resources.imports.tables.records import Table, require_text
from waypost.resources.imports.tables.shifts import Shifts
from waypost.resources.imports.tables.values import EDGES, trim

_LISTED_NAMES = 20
_LISTED_NAME = 40  # characters
_SAMPLES, _SAMPLE = 3, 100
"""Rows, and characters of a cell."""
_HTTP_STATUSES = frozenset(("200", "301", "302", "303", "307", "308", "404", "410"))
_BUCKETS = 256
"""Of hashes, so that sorting one takes little memory."""

Fields = Mapping[str, str]
"""The values of a row that are not empty, by the names of `columns.FIELDS`."""


class SheetRow(NamedTuple):
    line: int
    """In the file, from 1 on."""
    fields: Fields
    problem: str | None
    """Why it is refused."""
    surplus: int
    """Cells that the header has no column for; less than 0 if the row is short."""
    is_padded: bool
    """It lacks its last value, and has an empty cell for it."""
    cells: list[str]


@dataclass(slots=True)
class _Survey:
    shifts: Shifts
    count: int = 0
    problems: int = 0
    short: int = 0
    """Rows with fewer cells than the header."""
    first_short: int = 0
    """The line of the first one."""
    is_padded: bool = False
    """Some rows are."""
    repeated: frozenset[int] = frozenset()
    """Hashes of ids that several rows have."""
    http_statuses: set[str] = field(default_factory=set)
    """Fields that have no other values."""
    dates: Mapping[str, DateColumn] = field(default_factory=lambda: {name: DateColumn() for name in DATES})


class Sheet:
    def __init__(self, path: Path, options: SourceOptions) -> None:
        """Raises SourceError."""
        require_text(path)
        self._path, self._options = path, options
        self._encoding = Encoding(options.encoding) if options.encoding else find_encoding(path)
        self._table = Table(path, self._encoding)
        self._is_chosen = options.columns is not None and len(options.columns) == len(self._table.header)
        self._fields = [*(options.columns or ())] if self._is_chosen else choose_fields(self._table.header)
        """Of each column; empty if it is left out."""
        self._is_own = is_own(self._table.header)
        self._survey, self._is_surveyed = _Survey(Shifts(self._fields)), False

    @property
    def count(self) -> int:
        """Of rows. Call `survey` before."""
        return self._survey.count

    @property
    def dates(self) -> Mapping[str, DateColumn]:
        """Call `survey` before."""
        return self._survey.dates

    def describe(self) -> Description:
        """Return what is known so far: after `survey`, by all rows."""
        rows = [*islice((cells for _, cells, _ in self._table.records() if any(map(trim, cells))), _SAMPLES)]
        samples = [[row[index][:_SAMPLE] for row in rows if index < len(row)] for index in range(len(self._fields))]
        fields = self._fields
        if not (self._is_surveyed or self._is_chosen):
            named = zip(fields, samples, strict=True)
            fields = self._without({name for name, some in named if _HTTP_STATUSES.issuperset(some)})
        encoding, note = self._encoding, self._encoding.note
        if self._options.encoding is not None:
            encoding, note = find_encoding(self._path), "The file does not show its encoding: it was read as you chose"
        columns = [*map(Column, self._table.header, samples, fields)]
        return Description(columns, self._encoding.codec, note, [*readings(encoding.sample)] if encoding.sample else [])

    def require_columns(self) -> None:
        """Raises SourceError."""
        if self._options.columns is not None and not self._is_chosen:
            raise SourceError("The columns were chosen for another file. Choose them again.")
        if "destination" not in self._fields:
            raise UnexpectedAnswer(
                f"{self._path.name} has no column with destinations. Name it “Destination URL” in the first row,"
                " and the others “Short link” (or “Domain” and “Slug”), “Title”, “Tags”, “Created at” and “Clicks”."
            )

    def survey(self) -> list[str]:
        """Read all rows, and return what the report says of the file. Raises UnexpectedAnswer."""
        warnings = [self._encoding.note] if self._encoding.note else []
        survey = self._look()
        if self._table.has_backslashes:
            before, self._table = self._table, Table(self._path, self._encoding, has_escapes=True)
            unescaped = self._look()
            if unescaped.problems < survey.problems:
                survey = unescaped
                warnings.append("Backslashes before quotation marks were read as escapes")
            else:
                self._table = before
        fields = self._fields if self._is_chosen else self._without(survey.http_statuses)
        if fields != self._fields:
            self._fields = fields
            survey = self._look()
        if survey.shifts.needs_proof:
            for row in self._read():
                survey.shifts.compare(row.fields, row.cells)
        self._survey, self._is_surveyed = survey, True
        left_out = [name for name, field in zip(self._table.header, self._fields, strict=True) if name and not field]
        if left_out:
            listed = ", ".join(name[:_LISTED_NAME] for name in left_out[:_LISTED_NAMES])
            warnings.append(f"Columns that are not imported: {listed}{', …' if len(left_out) > _LISTED_NAMES else ''}")
        if short := survey.short:
            rows = "A row has" if short == 1 else f"{short:,} rows have"
            place = f"line {survey.first_short:,}"
            warnings.append(f"{rows} fewer cells than the header, such as {place}. What is missing was read as empty")
        return warnings

    def _look(self) -> _Survey:
        survey, hashes = _Survey(Shifts(self._fields)), [array("q") for _ in range(_BUCKETS)]
        statuses: set[str] = {name for name in ("path", "status") if name in self._fields}
        dates = [(name, column) for name, column in survey.dates.items() if name in self._fields]
        for line, fields, problem, surplus, is_padded, cells in self._read():
            survey.count += 1
            if problem:
                survey.problems += 1
                continue
            survey.shifts.see(line, fields, cells)
            if is_padded:
                survey.is_padded = True
            elif surplus < 0:
                survey.short += 1
                survey.first_short = survey.first_short or line
            for name, column in dates:
                if name in fields:
                    column.see(fields[name])
            if statuses:
                statuses -= {name for name in statuses if fields.get(name, "200") not in _HTTP_STATUSES}
            if source_id := self.id_of(fields, self.address_of(fields)):
                key = hash(source_id)
                hashes[key % _BUCKETS].append(key)
        survey.http_statuses = statuses
        survey.repeated = frozenset(one for some in hashes for one, next_ in pairwise(sorted(some)) if one == next_)
        return survey

    def _without(self, http_statuses: Collection[str]) -> list[str]:
        """Leave out columns that have the statuses of redirects."""
        return [
            "" if name in http_statuses and (name == "status" or is_code(title)) else name
            for title, name in zip(self._table.header, self._fields, strict=True)
        ]

    def rows(self) -> Iterator[SheetRow]:
        """Yield each row that is not empty. Call `survey` before. Raises UnexpectedAnswer."""
        survey, lines = self._survey, dict[int, int]()  # lines of the first rows whose ids are repeated
        for row in self._read():
            problem = row.problem
            if problem is None and row.surplus > 0 and survey.is_padded:
                problem = self._surplus_problem(row.surplus)
            elif problem is None and (shifted := survey.shifts.find_problem(row.line, row.cells)):
                problem = shifted
            elif problem is None and survey.repeated:
                key = hash(self.id_of(row.fields, self.address_of(row.fields)))
                if key in lines:
                    problem = f"Line {lines[key]:,} has the same {self._identity(row.fields)}."
                elif key in survey.repeated:
                    lines[key] = row.line
            yield row if problem is None else row._replace(problem=problem)

    def _read(self) -> Iterator[SheetRow]:
        width, names, is_valid = len(self._table.header), self._fields, self._encoding.is_valid
        for line, cells, problem_of_record in self._table.records():
            problem, fields = problem_of_record, dict[str, str]()
            for name, cell in zip(names, cells, strict=False):
                if name and (text := cell.strip() if cell.isascii() else cell.strip(EDGES)):  # as `trim`
                    fields[name] = read_cell(text) if self._is_own else text
            if not (fields or problem or any(map(trim, cells))):
                continue
            surplus = len(cells) - width
            if surplus > 0 and any(map(trim, cells[width:])):
                problem = self._surplus_problem(surplus)
            elif not is_valid and is_broken("".join(fields.values())):
                problem = f"The row has bytes that are not {name_of(self._encoding.codec)}."
            yield SheetRow(line, fields, problem, surplus, surplus == 0 and not cells[-1], cells)

    def _surplus_problem(self, surplus: int) -> str:
        width = len(self._table.header)
        return (
            f"The row has {width + surplus} cells, and the header {width}."
            " A cell that contains the separator must be in quotation marks."
        )

    def address_of(self, fields: Fields) -> Address | None:
        """Return None if the row names no short link."""
        hostname, path = fields.get("domain"), fields.get("path")
        short_url = fields.get("short_url")
        if path and "://" in path:
            short_url, path = path, None
        if short_url:
            host, ending = split(short_url)
            hostname, path = hostname or host, path or ending
        if path is None:
            return None
        if hostname and "/" in hostname:
            hostname = split(hostname)[0]
        return Address(hostname or self._options.site, path.removeprefix("/"))

    def option(self, fields: Fields, name: str) -> str | None:
        """Return None if the file has no such column, and "" for an empty cell."""
        return fields.get(name, "" if name in self._fields else None)

    def id_of(self, fields: Fields, address: Address | None) -> str | None:
        """Return None for a row without any. `address`: see `address_of`."""
        if "id" in fields:
            return fields["id"]
        if address:
            return f"{address.hostname or ''}/{address.path}" if address.path else None
        return fields.get("destination")

    def _identity(self, fields: Fields) -> str:
        if "id" in fields:
            return f"ID, {fields['id'][:100]}"
        return "short link" if self.address_of(fields) else "destination, and both name no short link"
