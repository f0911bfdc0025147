"""Reads rows of a dump of MySQL or MariaDB, as mysqldump, mariadb-dump and phpMyAdmin write it.

A dump is mapped into memory. It is read once for its tables and settings; reading of rows goes on at any row.
"""

import mmap
import re
from array import array
from binascii import unhexlify
from bisect import bisect_right
from codecs import BOM_UTF8
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta, timezone, tzinfo
from itertools import islice
from pathlib import Path
from typing import NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from waypost.resources.imports.encodings import Encoding, find_encoding
from waypost.resources.imports.source import NotThere, SourceError, UnexpectedAnswer

DumpRow = Mapping[str, str | None]

_NAME = rb"(?:`[^`]{1,256}`|\"[^\"]{1,256}\"|[\w$]{1,256})"
_TABLE = rb"(?:(?P<database>%b)\s*\.\s*)?(?P<table>%b)" % (_NAME, _NAME)
_SPACE = re.compile(rb"(?:\s++|--[^\n]*+|#[^\n]*+|/\*.*?\*/;?)*+", re.DOTALL)
_CREATE = re.compile(rb"CREATE\s+TABLE\s+(?:IF\s+NOT\s+EXISTS\s+)?%b\s*\(" % _TABLE, re.IGNORECASE)
_COLUMN = re.compile(
    rb"""^[ \t]*+(?!(?:PRIMARY|UNIQUE|KEY|INDEX|FULLTEXT|SPATIAL|CONSTRAINT|FOREIGN|CHECK|PARTITION)\b)"""
    rb"""(?P<name>`[^`\n]{1,256}+`|"[^"\n]{1,256}+"|\w{1,256}+)\s++(?P<type>\w++)""",
    re.MULTILINE | re.IGNORECASE,
)
_SET = re.compile(rb"SET\s++([^;]{0,1000})", re.IGNORECASE)
_SET_IN_COMMENT = re.compile(rb"/\*M?!\d*+\s++SET\s++([^;]{0,1000})", re.IGNORECASE)
_CHARSET = re.compile(rb"NAMES\s++['\"]?(\w++)", re.IGNORECASE)
_TIMEZONE = re.compile(rb"\bTIME_ZONE\s*+=\s*+['\"]([^'\"]{1,64})['\"]", re.IGNORECASE)
_USE = re.compile(rb"USE\s++(?P<database>%b)" % _NAME, re.IGNORECASE)
_INSERT = re.compile(
    rb"(?:INSERT|REPLACE)\s+(?:(?:LOW_PRIORITY|DELAYED|HIGH_PRIORITY|IGNORE)\s+)*(?:INTO\s+)?"
    rb"%b\s*(?:\((?P<columns>[^);]{0,65536})\)\s*)?VALUES?\s*" % _TABLE,
    re.IGNORECASE,
)
_VALUE = rb"\s*+(?:_\w+\s++)?(?:'((?:[^'\\]++|\\.|'')*+)'|([-+.\w]++))\s*+"
"""A string as it is quoted, or a number, NULL or 0x…."""
_BETWEEN = re.compile(rb"\s*+,")
_REST = re.compile(
    rb"""(?:[^;'"`/#-]++|'(?:[^'\\]++|\\.)*+(?:'|\\?\Z)|"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)|`[^`]*+(?:`|\Z)"""
    rb"""|--[^\n]*+|\#[^\n]*+|/\*.*?(?:\*/|\Z)|[^;])*+;?""",
    re.DOTALL,
)
"""Up to the semicolon that ends a statement. What is never closed ends with the file: so each byte is read once."""
_ESCAPE = re.compile(rb"\\(.)|''", re.DOTALL)
_ESCAPED = {b"0": b"\0", b"b": b"\b", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"Z": b"\x1a"}
_HEX = re.compile(rb"0x(?:[0-9A-Fa-f]{2})*")
_QUOTES = b'`"'
_COMPRESSED = {b"\x1f\x8b", b"PK"}
_UTF_16 = {b"\xff\xfe", b"\xfe\xff"}
_CHARSETS = {
    **dict.fromkeys(("utf8", "utf8mb3", "utf8mb4"), "utf-8"),
    "latin1": "cp1252",
    "latin2": "iso8859-2",
    "latin5": "iso8859-9",
    "latin7": "iso8859-13",
    "koi8r": "koi8-r",
    "koi8u": "koi8-u",
    "greek": "iso8859-7",
    "hebrew": "iso8859-8",
    "macroman": "mac-roman",
    "ujis": "euc-jp",
    "eucjpms": "euc-jp",
    "euckr": "euc-kr",
    **{name: name for name in ("cp850", "cp852", "cp866", "cp1250", "cp1251", "cp1256", "cp1257")},
}
"""Those of MySQL by the names of Python."""
_AMBIGUOUS_CHARSETS = {"sjis", "cp932", "gbk", "gb2312", "gb18030", "big5"}
"""In these, letters may contain the bytes of backslashes."""
_MAX_TABLES = 100
_MAX_COLUMNS = 100
_MAX_ROW = 256 << 10
"""Bytes."""


class Position(NamedTuple):
    """After a row: where it ends, and what the rows after it belong to."""

    at: int
    """In bytes."""
    table: str
    columns: list[str]
    number: int = 0
    """Of the row in its table, from 1 on."""


@dataclass(slots=True)
class DumpTable:
    name: str
    columns: list[str]
    timestamps: frozenset[str] = frozenset()
    """Columns with times in the time zone of the dump. Those of other columns have none."""
    timezone: tzinfo | None = None
    """What the dump names."""
    inserts: "array[int]" = field(default_factory=lambda: array("Q"))
    """Where the statements with its rows begin."""


class Dump:
    """A dump of which those tables are read that have certain columns, whatever their names are."""

    def __init__(self, path: Path, required: Sequence[frozenset[str]], encoding: str | None = None) -> None:
        """Raises SourceError."""
        self._path = path
        self._required = required
        self._tables: list[DumpTable] = []
        self._charset = ""
        with _mapped(path) as dump:
            self._survey(dump)
        self._encoding = Encoding(encoding) if encoding else find_encoding(path, _CHARSETS.get(self._charset))
        if self._charset in _AMBIGUOUS_CHARSETS and not (encoding or self._encoding.is_valid):
            raise SourceError(f"{path.name} is in {self._charset}. Write it with --default-character-set=utf8mb4.")

    @property
    def notes(self) -> list[str]:
        """What the report says of it."""
        return [self._encoding.note] if self._encoding.note else []

    def table(self, columns: frozenset[str]) -> DumpTable:
        """Return the one that has these columns. Raises NotThere, or SourceError if several have rows."""
        found = [table for table in self._tables if columns <= {*table.columns}]
        if not found:
            raise NotThere(f"{self._path.name} has no table with the columns {', '.join(sorted(columns))}.")
        with_rows = [table for table in found if table.inserts]
        if len(with_rows) > 1:
            names = " and ".join(table.name for table in with_rows)
            raise SourceError(f"{self._path.name} has several sites, in {names}. Dump and import each of them alone.")
        return (with_rows or found)[0]

    def rows(self, table: DumpTable, start: Position | None) -> Iterator[tuple[DumpRow, Position]]:
        """Yield the rows of a table. `start`: the position of the last one that was read.

        Raises UnexpectedAnswer for a dump that ends in the middle, SourceError for a file that cannot be read.
        """
        with _mapped(self._path) as dump:
            number = 0
            if start:
                number = yield from self._rows(dump, start)
            for at in table.inserts[bisect_right(table.inserts, start.at) if start else 0 :]:
                insert = _INSERT.match(dump, at)
                if insert is None:  # the file was changed meanwhile
                    raise _broken(at)
                names = _columns(insert["columns"]) or table.columns
                number = yield from self._rows(dump, Position(insert.end(), table.name, names, number), is_first=True)

    def _survey(self, dump: mmap.mmap) -> None:
        at = len(BOM_UTF8) if dump[: len(BOM_UTF8)] == BOM_UTF8 else 0
        database, zone, known = "", None, dict[str, DumpTable]()
        while at < len(dump):
            end = _after(_SPACE, dump, at)
            settings = [*_SET_IN_COMMENT.finditer(dump, at, end), _SET.match(dump, end)]
            for each in filter(None, settings):
                zone = self._read_settings(each[1], zone)
            at, end = end, _after(_REST, dump, end)
            if create := _CREATE.match(dump, at):
                table = _created(create, database, dump, end)
                known.pop(table.name, None)
                self._keep(table, known)
            elif insert := _INSERT.match(dump, at):
                name, columns = _name(insert, database), _columns(insert["columns"])
                table = known.get(name) or DumpTable(name, columns)
                if self._is_read(columns or table.columns):
                    self._keep(table, known)
                    table.timezone = table.timezone if table.inserts else zone
                    table.inserts.append(at)
            elif use := _USE.match(dump, at):
                database = _plain(use["database"])
            at = end

    def _keep(self, table: DumpTable, known: dict[str, DumpTable]) -> None:
        if table.name not in known and self._is_read(table.columns) and len(self._tables) < _MAX_TABLES:
            known[table.name] = table
            self._tables.append(table)

    def _is_read(self, columns: Sequence[str]) -> bool:
        return len(columns) <= _MAX_COLUMNS and any(required <= {*columns} for required in self._required)

    def _read_settings(self, settings: bytes, zone: tzinfo | None) -> tzinfo | None:
        """Return the time zone from there on."""
        if charset := _CHARSET.match(settings):
            self._charset = self._charset or charset[1].decode().lower()
        named = _TIMEZONE.search(settings)
        return _zone(named[1].decode(errors="replace")) if named else zone

    def _rows(
        self, dump: mmap.mmap, position: Position, *, is_first: bool = False
    ) -> Generator[tuple[DumpRow, Position], None, int]:
        """Yield the rows of a statement from this position on. Return the number of the last one."""
        at, table, names, number = position
        codec, errors = self._encoding.codec, self._encoding.errors
        row_of = re.compile(rb"\s*+\(%b\)" % b",".join([_VALUE] * len(names)), re.DOTALL)
        while True:
            if not is_first:
                between = _BETWEEN.match(dump, at)
                if not between:
                    break
                at = between.end()
            row = row_of.match(dump, at, at + _MAX_ROW)
            if not row:
                raise _broken(at)
            is_first, at, found, number = False, row.end(), row.groups(), number + 1
            values = (
                value if value is None else value.decode(codec, errors)
                for value in map(_value, found[::2], found[1::2])
            )
            yield dict(zip(names, values, strict=True)), Position(at, table, names, number)
        end = _after(_REST, dump, at)
        if dump[end - 1] != ord(";"):
            raise _broken(end)
        return number


@contextmanager
def _mapped(path: Path) -> Iterator[mmap.mmap]:
    try:
        if path.stat().st_size == 0:
            raise SourceError(f"{path.name} is empty.")
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as dump:
            if dump[:2] in _COMPRESSED:
                raise SourceError(f"{path.name} is compressed. Unpack it first.")
            if dump[:2] in _UTF_16:
                raise SourceError(f"{path.name} is UTF-16. Write the dump with --result-file instead of >.")
            yield dump
    except OSError as error:
        raise SourceError(f"{path.name} cannot be read: {error.strerror}.") from None


def _created(create: re.Match[bytes], database: str, dump: mmap.mmap, end: int) -> DumpTable:
    found = [*islice(_COLUMN.finditer(dump, create.end(), end), _MAX_COLUMNS + 1)]
    if any(column["name"][:1] in _QUOTES for column in found):  # then all names are quoted
        found = [column for column in found if column["name"][:1] in _QUOTES]
    columns = [_plain(column["name"]) for column in found]
    timestamps = frozenset(_plain(column["name"]) for column in found if column["type"].lower() == b"timestamp")
    return DumpTable(_name(create, database), columns, timestamps)


def _after(pattern: re.Pattern[bytes], dump: mmap.mmap, at: int) -> int:
    match = pattern.match(dump, at)
    return match.end() if match else at


def _name(statement: re.Match[bytes], database: str) -> str:
    named = statement["database"]
    database = _plain(named) if named else database
    return f"{database}.{_plain(statement['table'])}".removeprefix(".")


def _columns(text: bytes | None) -> list[str]:
    return [_plain(name.strip()) for name in text.split(b",", _MAX_COLUMNS)] if text else []


def _plain(name: bytes) -> str:
    return name.strip(_QUOTES).decode(errors="replace")


def _zone(name: str) -> tzinfo | None:
    """Return None for that of the server, whatever it is."""
    if offset := re.fullmatch(r"([+-])(\d{1,2}):(\d\d)", name, re.ASCII):
        delta = timedelta(hours=int(offset[2]), minutes=int(offset[3]))
        return timezone(-delta if offset[1] == "-" else delta) if delta < timedelta(days=1) else None
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None


def _value(quoted: bytes | None, word: bytes | None) -> bytes | None:
    if quoted is not None:
        return _ESCAPE.sub(_unescaped, quoted) if b"\\" in quoted or b"'" in quoted else quoted
    if word is None or word.upper() == b"NULL":
        return None
    return unhexlify(word[2:]) if _HEX.fullmatch(word) else word


def _unescaped(match: re.Match[bytes]) -> bytes:
    return _ESCAPED.get(match[1], match[1]) if match[1] else b"'"


def _broken(at: int) -> UnexpectedAnswer:
    return UnexpectedAnswer(f"The dump breaks off or is not of MySQL, at byte {at}. Write it again.")
