"""Reads the rows of CSV, each with the line that it begins in.

A quotation mark that is never closed refuses its line only: the lines after it are read again.
"""

import csv
import re
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from sys import getsizeof
from typing import TYPE_CHECKING, NamedTuple, TextIO

from waypost.resources.imports.encodings import Encoding
from waypost.resources.imports.source import SourceError, UnexpectedAnswer
from waypost.resources.imports.tables.columns import find_field

if TYPE_CHECKING:
    from _csv import Reader

MAX_ROW = 256 << 10
"""Bytes of memory: a text with one emoji takes four bytes for each character."""
_MAX_COLUMNS = 10_000
_MAX_READ_AGAIN = 64 << 20
"""Bytes of memory of the lines that are read again, or else each line of a file might be."""
_DELIMITERS = ",;\t|"
_QUOTED = re.compile(r'"(?:[^"]|"")*"')
_TOO_LONG = "The row is too long. A quotation mark that is never closed may be the cause."
_QUOTES = "A quotation mark is never closed, or is inside of a cell and not doubled."
_FORMATS = (
    (b"PK\x03\x04", "a workbook of Excel or another spreadsheet. Open it, and save the sheet as CSV"),
    (b"\xd0\xcf\x11\xe0", "a workbook of Excel. Open it, and save the sheet as CSV"),
    (b"\x1f\x8b", "compressed. Unpack it first"),
    (b"%PDF", "a PDF. Export the links as CSV"),
    (b"<", "a web page or XML. Export the links as CSV"),
)
"""What is uploaded as CSV, by its first bytes."""


class Record(NamedTuple):
    line: int
    """From 1 on, with the header."""
    cells: list[str]
    problem: str | None = None
    """Why there are no cells."""


class Table:
    def __init__(self, path: Path, encoding: Encoding, *, has_escapes: bool = False) -> None:
        """`has_escapes`: a backslash is before each quotation mark in a cell. Raises SourceError."""
        self._path = path
        self._encoding = encoding
        self._has_escapes = has_escapes
        self.has_backslashes = False
        """Whether a line that could not be read had such ones."""
        with self._open() as lines:
            self._delimiter, self.header = self._read_header(lines)
            self._header_lines = lines.number

    def records(self) -> Iterator[Record]:
        """Yield the rows after the header. Raises UnexpectedAnswer for text that cannot be decoded."""
        with self._open() as lines:
            for _ in range(self._header_lines):
                next(lines)
            reader = self._reader(lines)
            while True:
                lines.begin_row()
                line, problem, cells = lines.number + 1, None, list[str]()
                try:
                    cells = next(reader)
                    if len(lines.of_row) > 1 and self._has_rows(lines.of_row):
                        problem = _QUOTES
                except StopIteration:
                    return
                except csv.Error as error:
                    problem = _TOO_LONG if "larger" in str(error) else _QUOTES
                    if problem == _QUOTES and (cells := self._read_leniently(lines.of_row)):
                        problem = None
                    self.has_backslashes |= '\\"' in lines.of_row[0]
                except _RowTooLong:
                    problem = _TOO_LONG
                if problem:
                    lines.read_again()
                yield Record(line, [] if problem else cells, problem)

    def _read_leniently(self, lines: list[str]) -> list[str]:
        """Return the cells of a line with blanks after a closing quotation mark; none if other marks are wrong."""
        if len(lines) > 1 or lines[0].count('"') % 2:
            return []
        cells = next(csv.reader(lines, delimiter=self._delimiter, skipinitialspace=True), [])
        return cells if len(cells) == len(self.header) and '"' not in "".join(cells) else []

    def _has_rows(self, lines: list[str]) -> bool:
        """Whether a cell contains what looks like other rows: then its quotation marks belong to two cells."""
        others = [line.partition('"')[0] for line in lines[1:]]
        return any("://" in text and text.count(self._delimiter) >= max(1, len(self.header) - 1) for text in others)

    def _read_header(self, lines: "_Lines") -> tuple[str, list[str]]:
        """Raises UnexpectedAnswer."""
        try:
            first = next((line for line in lines if line.strip()), "").removeprefix("\ufeff")
            separator = re.match(r"sep=([^\w\s\"\\]|\t)", first, re.IGNORECASE)  # as Excel writes it
            if separator:
                first = next(lines, "")
            lines.put_back(first)
            lines.begin_row()
            delimiter = separator[1] if separator else _find_delimiter(first)
            header = next(self._reader(lines, delimiter), [])
        except _RowTooLong:
            raise UnexpectedAnswer(f"{self._path.name}: {_TOO_LONG}") from None
        except csv.Error as error:
            reason = _TOO_LONG if "larger" in str(error) else _QUOTES
            raise UnexpectedAnswer(f"{self._path.name}: {reason}") from None
        if len(header) > _MAX_COLUMNS:
            raise UnexpectedAnswer(f"{self._path.name} has more than {_MAX_COLUMNS:,} columns.")
        return delimiter, header

    def _reader(self, lines: "_Lines", delimiter: str | None = None) -> "Reader":
        escape = "\\" if self._has_escapes else None
        return csv.reader(
            lines, delimiter=delimiter or self._delimiter, escapechar=escape, skipinitialspace=True, strict=True
        )

    @contextmanager
    def _open(self) -> Iterator["_Lines"]:
        lines = None
        try:
            with self._path.open(encoding=self._encoding.codec, errors=self._encoding.errors, newline="") as file:
                lines = _Lines(file)
                yield lines
        except OSError as error:
            raise SourceError(f"{self._path.name} cannot be read: {error.strerror}.") from None
        except UnicodeError:
            place = f"{self._path.name}, line {lines.number + 1 if lines else 1}"
            reason = "The file is not text, or its encoding is broken. Save it as CSV in UTF-8."
            raise UnexpectedAnswer(f"{place}: {reason}") from None


class _RowTooLong(Exception):
    pass


class _Lines:
    """The lines of a file, none of them long."""

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self._again: deque[str] = deque()
        self._size = self._read_again = 0
        self.number = 0
        """Of the last line."""
        self.of_row: list[str] = []

    def __iter__(self) -> "_Lines":
        return self

    def __next__(self) -> str:
        line = self._again.popleft() if self._again else self._file.readline(MAX_ROW + 1)
        if not line:
            raise StopIteration
        self.number += 1
        self.of_row.append(line)
        self._size += getsizeof(line)
        if self._size > MAX_ROW:
            raise _RowTooLong
        return line

    def begin_row(self) -> None:
        self.of_row.clear()
        self._size = 0

    def put_back(self, line: str) -> None:
        self._again.appendleft(line)
        self.number -= 1

    def read_again(self) -> None:
        """Leave out the first line of the row. Raises UnexpectedAnswer."""
        self._read_again += self._size
        if self._read_again > _MAX_READ_AGAIN:
            raise UnexpectedAnswer("The file has too many quotation marks that are never closed.")
        line, *others = self.of_row
        self._again.extendleft(reversed(others))
        self.number -= len(others)
        while not others and line and not line.endswith(("\n", "\r")):  # the rest of a line that is too long
            line = self._file.readline(MAX_ROW)


def require_text(path: Path) -> None:
    """Raises SourceError for what cannot be CSV."""
    try:
        with path.open("rb") as file:
            start = file.read(64).removeprefix(b"\xef\xbb\xbf").lstrip()
    except OSError as error:
        raise SourceError(f"{path.name} cannot be read: {error.strerror}.") from None
    for mark, what in _FORMATS:
        if start.startswith(mark):
            raise UnexpectedAnswer(f"{path.name} is {what}.")


def _find_delimiter(header: str) -> str:
    """Return the one that finds the most fields, and of equal ones that with the most columns."""
    unquoted = _QUOTED.sub("", header)

    def count(delimiter: str) -> tuple[int, int]:
        try:
            names = next(csv.reader([header], delimiter=delimiter, skipinitialspace=True), [])
        except csv.Error:  # all names are one cell, which is too long
            names = []
        return sum(find_field(name) is not None for name in names), unquoted.count(delimiter)

    return max(_DELIMITERS, key=count)
