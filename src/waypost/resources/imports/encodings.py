"""Finds the encoding of a file of text: by its mark, by what it declares, as valid UTF-8, or else by a guess.

A guess is named in the report. Bytes that are not of the encoding refuse their row, and never become other letters.
"""

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import BinaryIO

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_NAMES = {
    "cp1252": "Windows-1252",
    "cp1251": "Windows-1251",
    "cp1250": "Windows-1250",
    "iso8859-2": "ISO 8859-2",
    "cp932": "Shift JIS",
    "mac-roman": "Mac Roman",
}
"""What may be guessed, and what people call it."""
_CHOICES = ("utf-8", *_NAMES)
_SHOWN, _MAX_SHOWN = 3, 30
"""Lines of which some letters are shown, and how many."""
_LETTERS = re.compile(rb'([^\x80-\xff\r\n,;\t|"]{0,20}[\x80-\xff][^\r\n,;\t|"]*)[^\r\n]*')
"""A line, with its first letter that is not ASCII and those around it in its cell."""
_CHUNK = 1 << 20
_LINE = 1 << 16
_SAMPLE = 1 << 16
"""Bytes."""
_MAX_SHARE = 10
"""Broken lines for each line whose letters are UTF-8. If there are more of them, the file has another encoding."""
_BROKEN = re.compile("[\udc80-\udcff]")


@dataclass(frozen=True, slots=True)
class Encoding:
    codec: str
    note: str | None = None
    """For the report, if the file does not show it for certain."""
    is_valid: bool = False
    """All bytes are of this encoding."""
    sample: bytes = b""
    """Lines that are not UTF-8, if it was guessed."""

    @property
    def errors(self) -> str:
        """Other bytes become what `is_broken` finds. In UTF-16 and UTF-32, nothing could be read after them."""
        return "strict" if self.codec.startswith(("utf-16", "utf-32")) else "surrogateescape"


def is_broken(text: str) -> bool:
    return bool(_BROKEN.search(text))


def name_of(codec: str) -> str:
    return _NAMES.get(codec, codec.upper())


def require_codec(name: str) -> str:
    """Raises LookupError for what is no encoding of text."""
    try:
        b"text".decode(name, "replace")
    except UnicodeError:  # of codecs for other things than files, such as idna
        raise LookupError(name) from None
    codec = codecs.lookup(name).name
    return "cp1252" if codec == "iso8859-1" else codec  # as browsers do: files that are called Latin-1 are of Windows


def find_encoding(path: Path, declared: str | None = None) -> Encoding:
    """`declared`: the codec that the file names. Raises OSError."""
    with path.open("rb") as file:
        if marked := _find_marked(file.read(4)):
            return Encoding(marked)
        is_utf8, is_ascii = _check_utf8(file)
        if is_utf8 and not is_ascii and declared not in {None, "utf-8"}:
            return Encoding("utf-8", f"The file names {name_of(declared)}, but its letters are UTF-8", is_valid=True)
        if is_utf8:
            return Encoding("utf-8", is_valid=True)
        if declared not in {None, "utf-8"}:
            return Encoding(declared, f"The file was read as {name_of(declared)}, which it names")
        utf8, broken, sample = _count_lines(file)
    if utf8 * _MAX_SHARE >= broken:
        lines = "a line is" if broken == 1 else f"{broken:,} lines are"
        return Encoding("utf-8", f"The file was read as UTF-8, although {lines} not", sample=sample)
    codec = _guess(sample)
    advice = "If letters are wrong, choose another encoding, or save the file as UTF-8 and import it again"
    note = f"The file is not UTF-8. By its letters it was read as {name_of(codec)}. {advice}"
    return Encoding(codec, note, sample=sample)


def readings(sample: bytes) -> Iterator[tuple[str, str, str]]:
    """Yield each encoding that a file may have, its name, and how its letters in some lines of the file read."""
    parts = [match[1] for match in islice(_LETTERS.finditer(sample), _SHOWN)]
    for codec in _CHOICES:
        texts = [part.decode(codec, "replace").strip()[:_MAX_SHOWN] for part in parts]
        yield codec, name_of(codec), " … ".join(texts)


def _find_marked(start: bytes) -> str | None:
    for mark, codec in _MARKS:
        if start.startswith(mark):
            return codec
    if b"\0" in start[:2]:
        return "utf-16-be" if start[:1] == b"\0" else "utf-16-le"
    return None


def _check_utf8(file: BinaryIO) -> tuple[bool, bool]:
    """Return whether it is UTF-8, and whether it is ASCII."""
    file.seek(0)
    decoder = codecs.getincrementaldecoder("utf-8")()
    is_ascii = True
    try:
        while chunk := file.read(_CHUNK):
            is_ascii = is_ascii and chunk.isascii()
            decoder.decode(chunk)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False, False
    return True, is_ascii


def _count_lines(file: BinaryIO) -> tuple[int, int, bytes]:
    """Return how many lines have letters in UTF-8, how many have other bytes, and those as far as they are needed."""
    file.seek(0)
    utf8 = broken = 0
    sample = bytearray()
    for line in iter(partial(file.readline, _LINE), b""):
        if line.isascii():
            continue
        try:
            line.decode()
            utf8 += 1
        except UnicodeDecodeError:
            broken += 1
            if len(sample) < _SAMPLE:
                sample += line
    return utf8, broken, bytes(sample)


def _guess(sample: bytes) -> str:
    from chardet import detect  # noqa: PLC0415  # takes 36 MB, and few files need it

    found = detect(sample, include_encodings=_NAMES, compat_names=False)["encoding"]
    return codecs.lookup(found or "cp1252").name
