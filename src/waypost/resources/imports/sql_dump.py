"""Reads rows of a dump of MySQL or MariaDB, as mysqldump, mariadb-dump and phpMyAdmin write it.

A dump is read from front to back, in memory that does not grow with it.
"""

import mmap
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from waypost.resources.imports.source import NotThere, SourceError, UnexpectedAnswer

DumpRow = Mapping[str, str | None]

_NAME = rb"(?:`[^`]+`|[\w$]+)"
_TABLE = rb"(?:%b\s*\.\s*)?(?P<table>%b)" % (_NAME, _NAME)
_SPACE = re.compile(rb"(?:\s++|--[^\n]*+|#[^\n]*+|/\*.*?\*/;?)*+", re.DOTALL)
_CREATE = re.compile(rb"CREATE\s+TABLE\s+(?:IF\s+NOT\s+EXISTS\s+)?%b\s*\(" % _TABLE, re.IGNORECASE)
_COLUMN = re.compile(rb"^\s*+`([^`]+)`\s", re.MULTILINE)
_INSERT = re.compile(
    rb"(?:INSERT|REPLACE)\s+(?:(?:LOW_PRIORITY|DELAYED|HIGH_PRIORITY|IGNORE)\s+)*(?:INTO\s+)?"
    rb"%b\s*(?:\((?P<columns>[^)]*)\)\s*)?VALUES?\s*" % _TABLE,
    re.IGNORECASE,
)
_OPEN = re.compile(rb"\s*+\(")
_VALUE = re.compile(
    rb"\s*+(?:_\w+\s+)?(?:'(?P<text>(?:[^'\\]++|\\.|'')*+)'|0x(?P<hex>[0-9A-F]*+)|(?P<null>NULL)|(?P<word>[-+.\w]++))"
    rb"\s*+(?P<after>[,)])",
    re.DOTALL | re.IGNORECASE,
)
_BETWEEN = re.compile(rb"\s*+,")
_PIECE = re.compile(
    rb"""[^;'"`/#-]++|'(?:[^'\\]++|\\.)*+'|"(?:[^"\\]++|\\.)*+"|`[^`]*+`|--[^\n]*+|\#[^\n]*+|/\*.*?\*/|.""", re.DOTALL
)
_ESCAPE = re.compile(rb"\\(.)|''", re.DOTALL)
_ESCAPED = {b"0": b"\0", b"b": b"\b", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"Z": b"\x1a"}
_RELEASED = 16 << 20
"""Bytes of the file that stay in memory after they were read."""
_COMPRESSED = {b"\x1f\x8b", b"PK"}
_UTF_16 = {b"\xff\xfe", b"\xfe\xff"}


def table_rows(path: Path, columns: frozenset[str]) -> Iterator[DumpRow]:
    """Yield the rows of each table that has all these columns, whatever its name. Text is read as UTF-8.

    Raises NotThere if there is no such table, UnexpectedAnswer for a dump that ends in the middle, SourceError for a
    file that cannot be read.
    """
    with _mapped(path) as dump:
        known: dict[bytes, list[str]] = {}
        has_table, at, released = False, 0, 0
        while (at := _after(_SPACE, dump, at)) < len(dump):
            if create := _CREATE.match(dump, at):
                at = _end_of_statement(dump, at)
                names = [name.decode() for name in _COLUMN.findall(dump, create.end(), at)]
                known[create["table"].strip(b"`")] = names
                has_table |= columns <= set(names)
                continue
            insert = _INSERT.match(dump, at)
            names = _columns(insert["columns"]) or known.get(insert["table"].strip(b"`"), []) if insert else []
            if not insert or not columns <= set(names):
                at = _end_of_statement(dump, at)
                continue
            has_table, at, is_open = True, insert.end(), True
            while is_open:
                values, at = _row(dump, at)
                if len(values) != len(names):
                    raise _broken(at)
                yield dict(zip(names, values, strict=True))
                between = _BETWEEN.match(dump, at)
                is_open, at = bool(between), between.end() if between else _end_of_statement(dump, at)
                if at - released > _RELEASED:
                    released = at - at % mmap.PAGESIZE
                    dump.madvise(mmap.MADV_DONTNEED, 0, released)
        if not has_table:
            raise NotThere(f"{path.name} has no table with the columns {', '.join(sorted(columns))}.")


@contextmanager
def _mapped(path: Path) -> Iterator[mmap.mmap]:
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as dump:
            if dump[:2] in _COMPRESSED:
                raise SourceError(f"{path.name} is compressed. Unpack it first.")
            if dump[:2] in _UTF_16:
                raise SourceError(f"{path.name} is UTF-16. Write the dump with --result-file instead of >.")
            yield dump
    except OSError as error:
        raise SourceError(f"{path.name} cannot be read: {error.strerror}.") from None
    except ValueError:
        raise SourceError(f"{path.name} is empty.") from None


def _after(pattern: re.Pattern[bytes], dump: mmap.mmap, at: int) -> int:
    match = pattern.match(dump, at)
    return match.end() if match else at


def _end_of_statement(dump: mmap.mmap, at: int) -> int:
    for piece in _PIECE.finditer(dump, at):
        if dump[piece.start()] == ord(";"):
            return piece.end()
    return len(dump)


def _columns(text: bytes | None) -> list[str]:
    return [name.strip().strip(b"`").decode() for name in text.split(b",")] if text else []


def _row(dump: mmap.mmap, at: int) -> tuple[list[str | None], int]:
    """Return the values of `(…)` and where it ends."""
    values: list[str | None] = []
    after = b","
    bracket = _OPEN.match(dump, at)
    if not bracket:
        raise _broken(at)
    at = bracket.end()
    while after == b",":
        value = _VALUE.match(dump, at)
        if not value:
            raise _broken(at)
        values.append(_text(value))
        at, after = value.end(), value["after"]
    return values, at


def _text(value: re.Match[bytes]) -> str | None:
    text, digits, null, word = value.group("text", "hex", "null", "word")
    if null:
        return None
    if digits is not None:
        text = bytes.fromhex(digits.decode())
    elif text is None:
        text = word
    elif b"\\" in text or b"'" in text:
        text = _ESCAPE.sub(_unescaped, text)
    decoded: str = text.decode(errors="replace")
    return decoded


def _unescaped(match: re.Match[bytes]) -> bytes:
    return _ESCAPED.get(match[1], match[1]) if match[1] else b"'"


def _broken(at: int) -> UnexpectedAnswer:
    return UnexpectedAnswer(f"The dump breaks off or is not of MySQL, at byte {at}. Write it again.")
