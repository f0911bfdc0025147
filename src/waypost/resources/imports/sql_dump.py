"""Reads rows of a dump of MySQL or MariaDB, as mysqldump, mariadb-dump and phpMyAdmin write it.

A dump is mapped into memory, and reading goes on at any row.
"""

import mmap
import re
from binascii import unhexlify
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from waypost.resources.imports.source import NotThere, SourceError, UnexpectedAnswer

DumpRow = Mapping[str, str | None]

_NAME = rb"(?:`[^`]{1,256}`|[\w$]{1,256})"
_TABLE = rb"(?:%b\s*\.\s*)?(?P<table>%b)" % (_NAME, _NAME)
_SPACE = re.compile(rb"(?:\s++|--[^\n]*+|#[^\n]*+|/\*.*?\*/;?)*+", re.DOTALL)
_CREATE = re.compile(rb"CREATE\s+TABLE\s+(?:IF\s+NOT\s+EXISTS\s+)?%b\s*\(" % _TABLE, re.IGNORECASE)
_COLUMN = re.compile(rb"^[ \t]*+`([^`\n]{1,256}+)`\s", re.MULTILINE)
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
_COMPRESSED = {b"\x1f\x8b", b"PK"}
_UTF_16 = {b"\xff\xfe", b"\xfe\xff"}
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


def table_rows(path: Path, required: frozenset[str], start: Position | None) -> Iterator[tuple[DumpRow, Position]]:
    """Yield the rows of each table that has all columns in `required`, whatever its name. Text is read as UTF-8.

    `start`: the position of the last row that was read. Raises NotThere if there is no such table, UnexpectedAnswer
    for a dump that ends in the middle, SourceError for a file that cannot be read.
    """
    with _mapped(path) as dump:
        known = {start.table: start.columns} if start else {}
        is_found, at = start is not None, 0
        if start:
            at = yield from _rows(dump, start)
        while (at := _after(_SPACE, dump, at)) < len(dump):
            if create := _CREATE.match(dump, at):
                at = _after(_REST, dump, at)
                columns = islice(_COLUMN.finditer(dump, create.end(), at), _MAX_COLUMNS + 1)
                names = [column[1].decode(errors="replace") for column in columns]
                if _has(required, names) and len(known) < _MAX_TABLES:
                    known[_name(create)] = names
                    is_found = True
                continue
            insert = _INSERT.match(dump, at)
            names = _columns(insert["columns"]) or known.get(_name(insert), []) if insert else []
            if insert and _has(required, names):
                is_found = True
                at = yield from _rows(dump, Position(insert.end(), _name(insert), names), is_first=True)
            else:
                at = _after(_REST, dump, at)
        if not is_found:
            raise NotThere(f"{path.name} has no table with the columns {', '.join(sorted(required))}.")


def _rows(
    dump: mmap.mmap, position: Position, *, is_first: bool = False
) -> Generator[tuple[DumpRow, Position], None, int]:
    """Yield the rows of a statement from this position on. Return where the statement ends."""
    at, table, names = position
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
        is_first, at, found = False, row.end(), row.groups()
        values = map(_text, found[::2], found[1::2])
        yield dict(zip(names, values, strict=True)), Position(at, table, names)
    end = _after(_REST, dump, at)
    if dump[end - 1] != ord(";"):
        raise _broken(end)
    return end


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


def _has(required: frozenset[str], names: list[str]) -> bool:
    return len(names) <= _MAX_COLUMNS and required <= set(names)


def _after(pattern: re.Pattern[bytes], dump: mmap.mmap, at: int) -> int:
    match = pattern.match(dump, at)
    return match.end() if match else at


def _name(statement: re.Match[bytes]) -> str:
    return statement["table"].strip(b"`").decode(errors="replace")


def _columns(text: bytes | None) -> list[str]:
    names = text.split(b",", _MAX_COLUMNS) if text else []
    return [name.strip().strip(b"`").decode(errors="replace") for name in names]


def _text(quoted: bytes | None, word: bytes | None) -> str | None:
    if quoted is not None:
        found = _ESCAPE.sub(_unescaped, quoted) if b"\\" in quoted or b"'" in quoted else quoted
    elif word is None or word.upper() == b"NULL":
        return None
    else:
        found = unhexlify(word[2:]) if _HEX.fullmatch(word) else word
    return found.decode(errors="replace")


def _unescaped(match: re.Match[bytes]) -> bytes:
    return _ESCAPED.get(match[1], match[1]) if match[1] else b"'"


def _broken(at: int) -> UnexpectedAnswer:
    return UnexpectedAnswer(f"The dump breaks off or is not of MySQL, at byte {at}. Write it again.")
