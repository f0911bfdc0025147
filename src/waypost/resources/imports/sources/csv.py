"""CSV files, as services export them and spreadsheets save them. Columns are found by their names.

The file is read as a stream, so its size does not matter. The cursor is the number of rows that were read.
"""

import asyncio
import codecs
import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime
from itertools import chain, islice
from pathlib import Path
from sys import getsizeof
from typing import TYPE_CHECKING, TextIO
from urllib.parse import unquote, urlsplit

from waypost.kit.clock import parse_timestamp
from waypost.outbound import Outbound
from waypost.resources.imports import batches
from waypost.resources.imports.client import Wait
from waypost.resources.imports.source import (
    Address,
    LinkPage,
    RefusedRow,
    SourceError,
    SourceLink,
    SourceOptions,
    UnexpectedAnswer,
)

if TYPE_CHECKING:
    from _csv import Reader

PAGE = 500
_SAMPLE = 1 << 16  # bytes
_MAX_ROW = 256 << 10
"""Bytes of memory: a text with one emoji takes four bytes for each character."""
_MAX_COLUMNS = 10_000
_MAX_TAGS = 200
"""Of a row, beyond which the others are not split."""
_LISTED_NAMES = 20
_LISTED_NAME = 40  # characters
_DELIMITERS = ",;\t|"
_MAX_SECONDS = 1e11  # numbers beyond are milliseconds
_NAMES: Mapping[str, Sequence[str]] = {
    "id": ("id", "linkid"),
    "destination": (
        *("destination", "destinationurl", "longurl", "longlink", "originalurl", "targeturl", "target", "url"),
        *("redirecturl", "redirectto"),
    ),
    "short_url": ("shorturl", "shortlink", "bitlink", "link"),
    "domain": ("domain", "hostname", "domainname"),
    "path": ("path", "shortcode", "slug", "slashtag", "key", "keyword", "alias", "backhalf", "code", "custombackhalf"),
    "title": ("title", "name"),
    "tags": ("tags", "labels"),
    "created_at": ("createdat", "created", "datecreated", "creationdate", "timestamp"),
    "expires_at": ("expiresat", "expires", "expirationdate", "validuntil", "expirydate"),
    "clicks": ("clicks", "clickcount", "totalclicks", "visits", "visitcount"),
    "status": ("status",),
}
"""Names of columns in lower case, without spaces and punctuation."""
_FIELDS = {name: field for field, names in _NAMES.items() for name in names}
_TOO_LONG = "A row is too long. A quotation mark that is never closed may be the cause."
_DISABLED = {"inactive", "disabled", "banned", "blocked", "paused"}


def open_source(options: SourceOptions, _outbound: Outbound, _wait: Wait) -> "Csv":
    if options.file is None:
        raise SourceError("Name the CSV file with --file.")
    return Csv(options.file, options)


class Csv:
    name = "csv"
    ignores_case = False

    def __init__(self, path: Path, options: SourceOptions) -> None:
        self._path = path
        self._options = options
        self._rows: Iterator[Mapping[str, str]] | None = None
        self._position = 0
        self._warnings: list[str] = []

    async def check(self) -> None:
        await asyncio.to_thread(self._check)

    async def link_page(self, cursor: str | None) -> LinkPage:
        return await asyncio.to_thread(self._link_page, cursor)

    def _check(self) -> None:
        with closing(_open(self._path)) as file:
            _read_header(self._path, _Lines(self._path, file))

    def _link_page(self, cursor: str | None) -> LinkPage:
        position = int(cursor or 0)
        if self._rows is None or position != self._position:
            self._rows = islice(_read(self._path, self._warnings), position, None)
            self._position = position
        links: list[SourceLink] = []
        refused: list[RefusedRow] = []
        found, is_last = batches.take(self._rows, PAGE, lambda row: sum(map(getsizeof, row.values())))
        for number, row in enumerate(found, position + 1):
            try:
                links.append(self._link(row))
            except ValueError as error:
                refused.append(RefusedRow(_source_id(row, self._address(row)) or f"row {number}", str(error)))
        self._position += len(found)
        total = sum(1 for _ in _read(self._path, [])) if cursor is None else None
        warnings = list(dict.fromkeys(self._warnings))
        self._warnings.clear()
        return LinkPage(links, None if is_last else str(self._position), refused, warnings, total)

    def _link(self, row: Mapping[str, str]) -> SourceLink:
        """Raises ValueError with what is wrong."""
        if "destination" not in row:
            raise ValueError("The row has no destination.")
        address = self._address(row)
        clicks = row.get("clicks", "").replace(",", "")
        return SourceLink(
            source_id=_source_id(row, address) or row["destination"],
            address=address,
            destination_url=row["destination"],
            title=row.get("title"),
            tags=row.get("tags", "").split("|" if "|" in row.get("tags", "") else ",", _MAX_TAGS)[:_MAX_TAGS],
            created_at=self._time(row.get("created_at")),
            expires_at=self._time(row.get("expires_at")),
            is_enabled=row.get("status", "").lower() not in _DISABLED,
            clicks=int(clicks) if clicks.isascii() and clicks.isdigit() and len(clicks) < 16 else None,
        )

    def _address(self, row: Mapping[str, str]) -> Address | None:
        """None if the row names no short link."""
        hostname, path = row.get("domain"), row.get("path")
        if short_url := row.get("short_url"):
            try:
                parts = urlsplit(short_url if "://" in short_url else f"//{short_url}")
                hostname, path = hostname or parts.hostname, path or unquote(parts.path)
            except ValueError:
                path = path or short_url
        if path is None:
            return None
        return Address(hostname or self._options.site, path.removeprefix("/"))

    def _time(self, text: str | None) -> datetime | None:
        """Raises ValueError."""
        if text is None:
            return None
        try:
            if text.isdigit():
                return datetime.fromtimestamp(float(text) / (1000 if float(text) > _MAX_SECONDS else 1), UTC)
            at = parse_timestamp(text)
        except (ValueError, OverflowError, OSError):
            raise ValueError(f"{text[:40]} is not a time such as 2026-01-31T12:00:00Z.") from None
        if re.search(r"(Z|[+-]\d{2}(:?\d{2})?)$", text[10:], re.IGNORECASE):
            return at
        if self._options.timezone is None:
            self._warnings.append(
                "Times without a time zone were read as UTC. If that is wrong, import again with the zone"
            )
            return at
        return at.replace(tzinfo=self._options.timezone)


def _read(path: Path, warnings: list[str]) -> Iterator[Mapping[str, str]]:
    """Yield the fields of each row that is not empty, and add what the file has besides. Raises UnexpectedAnswer."""
    with closing(_open(path)) as file:
        lines = _Lines(path, file)
        reader, header = _read_header(path, lines)
        fields = [_FIELDS.get(_plain(name)) for name in header]
        unknown = [name for name, field in zip(header, fields, strict=True) if field is None and name.strip()]
        if unknown:
            listed = ", ".join(name[:_LISTED_NAME] for name in unknown[:_LISTED_NAMES])
            warnings.append(f"Columns that are not imported: {listed}{', …' if len(unknown) > _LISTED_NAMES else ''}")
        try:
            for cells in reader:
                lines.row_size = 0
                row: dict[str, str] = {}
                for field, cell in zip(fields, cells, strict=False):
                    if field and cell.strip():
                        row.setdefault(field, cell.strip())
                if row:
                    yield row
        except (csv.Error, UnicodeError) as error:
            raise UnexpectedAnswer(f"{path.name}, line {reader.line_num}: {_reason(error)}") from None


def _open(path: Path) -> TextIO:
    try:
        return path.open(encoding=_encoding(path), newline="")
    except OSError as error:
        raise SourceError(f"{path.name} cannot be read: {error.strerror}") from None


class _Lines:
    """The lines of a file, none of them long. The reader of rows sets `row_size` to 0 after each row."""

    def __init__(self, path: Path, file: TextIO) -> None:
        self._path = path
        self._file = file
        self.row_size = 0

    def __iter__(self) -> "_Lines":
        return self

    def __next__(self) -> str:
        line = self._file.readline(_MAX_ROW + 1)
        self.row_size += getsizeof(line)
        if self.row_size > _MAX_ROW:
            raise UnexpectedAnswer(f"{self._path.name}: {_TOO_LONG}")
        if not line:
            raise StopIteration
        return line


def _read_header(path: Path, lines: _Lines) -> "tuple[Reader, list[str]]":
    """Raises UnexpectedAnswer."""
    try:
        first = next(lines, "")
        delimiter = first.strip()[4:5] if first.lower().startswith("sep=") else ""  # as Excel writes it
        if delimiter:
            first = next(lines, "")
        reader = csv.reader(chain([first], lines), delimiter=delimiter or _delimiter(first))
        header = next(reader, [])
    except (csv.Error, UnicodeError) as error:
        raise UnexpectedAnswer(f"{path.name}: {_reason(error)}") from None
    lines.row_size = 0
    if len(header) > _MAX_COLUMNS:
        raise UnexpectedAnswer(f"{path.name} has more than {_MAX_COLUMNS:,} columns.")
    if "destination" not in {_FIELDS.get(_plain(name)) for name in header}:
        raise UnexpectedAnswer(
            f"{path.name} has no column with destinations. Name it “Destination URL” in the first row,"
            " and the others “Short link” (or “Domain” and “Slug”), “Title”, “Tags”, “Created at” and “Clicks”."
        )
    return reader, header


def _source_id(row: Mapping[str, str], address: Address | None) -> str | None:
    return row.get("id") or (f"{address.hostname or ''}/{address.path}" if address else row.get("destination"))


def _encoding(path: Path) -> str:
    """Return the encoding that the file begins with; without a mark UTF-8, or Windows-1252 if it is not UTF-8."""
    with path.open("rb") as file:
        start = file.read(_SAMPLE)
        if start.startswith(codecs.BOM_UTF8):
            return "utf-8-sig"
        if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            return "utf-16"
        if b"\0" in start[:2]:
            return "utf-16-be" if start[:1] == b"\0" else "utf-16-le"
        decoder = codecs.getincrementaldecoder("utf-8")()
        try:
            decoder.decode(start)
            while chunk := file.read(1 << 20):
                decoder.decode(chunk)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            return "cp1252"
    return "utf-8"


def _delimiter(header: str) -> str:
    return max(_DELIMITERS, key=lambda delimiter: len(next(csv.reader([header], delimiter=delimiter), [])))


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _reason(error: Exception) -> str:
    if isinstance(error, UnicodeError):
        return "The file is not text, or its encoding is broken. Save it as CSV in UTF-8."
    if "field larger" in str(error):
        return _TOO_LONG
    return f"This is not CSV: {error}."
