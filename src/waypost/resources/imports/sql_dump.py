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
_VALUE = rb"\s*+(?:_\w+\s++)?(?:'((?:[^'\\]++|\\.|'')*+)'|([-+.\w]++))\s*+"
"""A string as it is quoted, or a number, NULL or 0x…."""
_BETWEEN = re.compile(rb"\s*+,")
_REST = re.compile(
    rb"""(?:[^;'"`/#-]++|'(?:[^'\\]++|\\.)*+'|"(?:[^"\\]++|\\.)*+"|`[^`]*+`|--[^\n]*+|\#[^\n]*+|/\*.*?\*/|[^;])*+;?""",
    re.DOTALL,
)
"""Up to the semicolon that ends a statement."""
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
                at = _after(_REST, dump, at)
                names = [name.decode() for name in _COLUMN.findall(dump, create.end(), at)]
                known[create["table"].strip(b"`")] = names
                has_table |= columns <= set(names)
                continue
            insert = _INSERT.match(dump, at)
            names = _columns(insert["columns"]) or known.get(insert["table"].strip(b"`"), []) if insert else []
            if not insert or not columns <= set(names):
                at = _after(_REST, dump, at)
                continue
            has_table, at, is_open = True, insert.end(), True
            row_of = re.compile(rb"\s*+\(%b\)" % b",".join([_VALUE] * len(names)), re.DOTALL)
            while is_open:
                row = row_of.match(dump, at)
                if not row:
                    raise _broken(at)
                at, found = row.end(), row.groups()
                yield dict(zip(names, map(_text, found[::2], found[1::2]), strict=True))
                between = _BETWEEN.match(dump, at)
                is_open, at = bool(between), between.end() if between else _after(_REST, dump, at)
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


def _columns(text: bytes | None) -> list[str]:
    return [name.strip().strip(b"`").decode() for name in text.split(b",")] if text else []


def _text(quoted: bytes | None, word: bytes | None) -> str | None:
    if quoted is not None:
        found = _ESCAPE.sub(_unescaped, quoted) if b"\\" in quoted or b"'" in quoted else quoted
    elif word is None or word.upper() == b"NULL":
        return None
    else:
        found = bytes.fromhex(word[2:].decode()) if word.startswith(b"0x") else word
    return found.decode(errors="replace")


def _unescaped(match: re.Match[bytes]) -> bytes:
    return _ESCAPED.get(match[1], match[1]) if match[1] else b"'"


def _broken(at: int) -> UnexpectedAnswer:
    return UnexpectedAnswer(f"The dump breaks off or is not of MySQL, at byte {at}. Write it again.")
