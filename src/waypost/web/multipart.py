"""Multipart bodies, with nested values named as PHP and browsers name them: `tags[]`, `tags[0]`, `utm_params[x]`."""

import re
from collections.abc import Iterable
from typing import Any

from python_multipart.multipart import parse_options_header

from waypost.kit.errors import Invalid
from waypost.kit.fields import Upload

Value = str | Upload | None

_NAME = re.compile(r"([^\[\]]+)\[([^\[\]]*)\]")
_PARTS = 300
_HEAD = 1_024  # bytes of a part's headers
_OPTIONS = 20  # of one header

_Part = tuple[dict[bytes, bytes], bytes]
"""Headers, their names in lower case; content."""


def read_multipart(body: bytes, boundary: bytes) -> dict[str, Any]:
    """Raises Invalid on `body`."""
    return nest(_named(*part) for part in _parts(body, boundary))


def malformed(why: str) -> Invalid:
    return Invalid({"body": [why]})


def _parts(body: bytes, boundary: bytes) -> list[_Part]:
    """Cut by what runs at memory's speed whatever the body holds: a parser of single bytes could be kept busy."""
    if not boundary:
        raise malformed("The multipart body's Content-Type names no boundary.")
    parts: list[_Part] = []
    _, *pieces = (b"\r\n" + body).split(b"\r\n--" + boundary, _PARTS + 1)
    for piece in pieces:
        if piece.startswith(b"--"):
            return parts
        if len(parts) == _PARTS:
            raise malformed(f"The multipart body may have at most {_PARTS} parts.")
        parts.append(_part(piece))
    raise malformed("The multipart body ends before its last boundary.")


def _part(piece: bytes) -> _Part:
    padding, _, rest = piece.partition(b"\r\n")
    head, blank_line, content = rest.partition(b"\r\n\r\n")
    if padding.strip(b" \t") or not blank_line:
        raise malformed("The multipart body is malformed.")
    if len(head) > _HEAD:
        raise malformed(f"The headers of a part of the multipart body may have at most {_HEAD} bytes.")
    return dict(_header(line) for line in head.split(b"\r\n")), content


def _header(line: bytes) -> tuple[bytes, bytes]:
    name, _, value = line.partition(b":")
    return name.lower(), value.strip(b" \t")


def _named(headers: dict[bytes, bytes], content: bytes) -> tuple[str, Value]:
    disposition = headers.get(b"content-disposition", b"")
    if disposition.count(b";") > _OPTIONS:  # telling them apart takes the square of their number
        raise malformed("A part of the multipart body is named with too many semicolons.")
    _, options = parse_options_header(disposition)
    if b"name" not in options:
        raise malformed("A part of the multipart body has no name.")
    name = _text(options[b"name"])
    if b"filename" not in options:
        return name, _text(content) or None
    filename = _text(options[b"filename"])
    if not filename and not content:  # a browser's file input in which nothing was chosen
        return name, None
    return name, Upload(filename, headers.get(b"content-type", b"").decode("latin-1"), content)


def nest(values: Iterable[tuple[str, Value]]) -> dict[str, Any]:
    """`a[]` and `a[0]` make a list in the order sent, `a[x]` an object; of a name sent twice the last value stands.

    An empty element is none: a form with a row left blank means the others, and `a[]=` alone an empty list.
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
