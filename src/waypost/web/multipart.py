"""Multipart bodies. Nested values are named as in PHP forms: `tags[]`, `tags[0]`, `utm_params[x]`."""

import re
from collections.abc import Iterable
from typing import Any

from python_multipart.multipart import parse_options_header

from waypost.kit.errors import Invalid
from waypost.kit.fields import Upload

FormValue = str | Upload | None

_NAME = re.compile(r"([^\[\]]+)\[([^\[\]]*)\]")
_MAX_PARTS = 300
_MAX_HEADERS = 1_024  # bytes per part
_MAX_OPTIONS = 20  # per header

_Part = tuple[dict[bytes, bytes], bytes]
"""Headers, with names in lower case, and content."""


def read_multipart(body: bytes, boundary: bytes) -> dict[str, Any]:
    """Raises Invalid on `body`."""
    return nest(_named(*part) for part in _parts(body, boundary))


def malformed(why: str) -> Invalid:
    return Invalid({"body": [why]})


def _parts(body: bytes, boundary: bytes) -> list[_Part]:
    """Split with bytes methods, which are fast for any body; a byte-by-byte parser could be kept busy."""
    if not boundary:
        raise malformed("The multipart body's Content-Type names no boundary.")
    parts: list[_Part] = []
    _, *pieces = (b"\r\n" + body).split(b"\r\n--" + boundary, _MAX_PARTS + 1)
    for piece in pieces:
        if piece.startswith(b"--"):
            return parts
        if len(parts) == _MAX_PARTS:
            raise malformed(f"The multipart body may have at most {_MAX_PARTS} parts.")
        parts.append(_part(piece))
    raise malformed("The multipart body ends before its last boundary.")


def _part(piece: bytes) -> _Part:
    padding, _, rest = piece.partition(b"\r\n")
    head, blank_line, content = rest.partition(b"\r\n\r\n")
    if padding.strip(b" \t") or not blank_line:
        raise malformed("The multipart body is malformed.")
    if len(head) > _MAX_HEADERS:
        raise malformed(f"The headers of a part of the multipart body may have at most {_MAX_HEADERS} bytes.")
    return dict(_header(line) for line in head.split(b"\r\n")), content


def _header(line: bytes) -> tuple[bytes, bytes]:
    name, _, value = line.partition(b":")
    return name.lower(), value.strip(b" \t")


def _named(headers: dict[bytes, bytes], content: bytes) -> tuple[str, FormValue]:
    disposition = headers.get(b"content-disposition", b"")
    if disposition.count(b";") > _MAX_OPTIONS:  # parsing them takes quadratic time
        raise malformed("A part of the multipart body is named with too many semicolons.")
    _, options = parse_options_header(disposition)
    if b"name" not in options:
        raise malformed("A part of the multipart body has no name.")
    name = _text(options[b"name"])
    if b"filename" not in options:
        return name, _text(content) or None
    filename = _text(options[b"filename"])
    if not filename and not content:  # an empty file input of a browser
        return name, None
    return name, Upload(filename, headers.get(b"content-type", b"").decode("latin-1"), content)


def nest(values: Iterable[tuple[str, FormValue]]) -> dict[str, Any]:
    """Make a list of `a[]` and `a[0]` in the order sent, an object of `a[x]`. The last value of a name wins.

    Empty list elements are dropped: a form may have a blank row, and `a[]=` alone means an empty list.
    """
    fields: dict[str, Any] = {}
    for name, value in values:
        nested = _NAME.fullmatch(name)
        if nested is None:
            fields[name] = value
            continue
        outer, inner = nested.groups()
        if inner == "" or (inner.isascii() and inner.isdigit()):
            _inside(fields, outer, list).extend([] if value is None else [value])
        else:
            _inside(fields, outer, dict)[inner] = value
    return fields


def _inside(fields: dict[str, Any], name: str, kind: type[Any]) -> Any:
    if not isinstance(fields.get(name), kind):
        fields[name] = kind()
    return fields[name]


def _text(raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        raise malformed("The multipart body holds text that is not UTF-8.") from None
