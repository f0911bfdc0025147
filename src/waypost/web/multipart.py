"""Multipart bodies, with nested values named as PHP and browsers name them: `tags[]`, `tags[0]`, `utm_params[x]`."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header

from waypost.kit.errors import Invalid
from waypost.web.fields import Upload

Value = str | Upload | None

_NAME = re.compile(r"([^\[\]]+)\[([^\[\]]*)\]")
_PARTS = 2_000


@dataclass(slots=True)
class _Part:
    headers: dict[str, bytes] = field(default_factory=dict)
    content: bytearray = field(default_factory=bytearray)


def read_multipart(body: bytes, boundary: bytes) -> dict[str, Any]:
    """Raises Invalid on `body`."""
    return _nest(_named(part) for part in _parts(body, boundary))


def malformed(why: str) -> Invalid:
    return Invalid({"body": [why]})


def _parts(body: bytes, boundary: bytes) -> list[_Part]:
    if not boundary:
        raise malformed("The multipart body's Content-Type names no boundary.")
    collector = _Collector()
    try:
        parser = MultipartParser(boundary, collector.callbacks())
        parser.write(body)
        parser.finalize()
    except FormParserError as error:
        raise malformed("The multipart body is malformed.") from error
    if not collector.is_complete:
        raise malformed("The multipart body ends before its last boundary.")
    return collector.parts


class _Collector:
    """The parser calls back with slices of its buffer, names and values possibly in pieces."""

    def __init__(self) -> None:
        self.parts: list[_Part] = []
        self.is_complete = False
        self._name = b""
        self._value = b""

    def callbacks(self) -> Any:
        return {
            "on_part_begin": self._begin,
            "on_part_data": self._data,
            "on_header_field": self._header_name,
            "on_header_value": self._header_value,
            "on_header_end": self._header_end,
            "on_end": self._end,
        }

    def _begin(self) -> None:
        if len(self.parts) >= _PARTS:
            raise malformed("The multipart body has too many parts.")
        self.parts.append(_Part())

    def _data(self, data: bytes, start: int, end: int) -> None:
        self.parts[-1].content += data[start:end]

    def _header_name(self, data: bytes, start: int, end: int) -> None:
        self._name += data[start:end]

    def _header_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]

    def _header_end(self) -> None:
        self.parts[-1].headers[self._name.decode("latin-1").lower()] = self._value
        self._name = self._value = b""

    def _end(self) -> None:
        self.is_complete = True


def _named(part: _Part) -> tuple[str, Value]:
    _, options = parse_options_header(part.headers.get("content-disposition", b""))
    if b"name" not in options:
        raise malformed("A part of the multipart body has no name.")
    name = _text(options[b"name"])
    if b"filename" not in options:
        return name, _text(bytes(part.content)) or None
    filename = _text(options[b"filename"])
    if not filename and not part.content:  # a browser's file input in which nothing was chosen
        return name, None
    content_type = part.headers.get("content-type", b"").decode("latin-1")
    return name, Upload(filename, content_type, bytes(part.content))


def _nest(values: Iterable[tuple[str, Value]]) -> dict[str, Any]:
    """`a[]` and `a[0]` make a list in the order sent, `a[x]` an object; of a name sent twice the last value stands."""
    fields: dict[str, Any] = {}
    for name, value in values:
        nested = _NAME.fullmatch(name)
        if nested is None:
            fields[name] = value
            continue
        outer, inner = nested.groups()
        if inner == "" or (inner.isascii() and inner.isdigit()):
            _inside(fields, outer, list).append(value)
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
