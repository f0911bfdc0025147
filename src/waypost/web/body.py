"""Request bodies, JSON or multipart, with a size limit. An invalid body gets 413 or 422, never a server error.

Nested values of a multipart body are named as in PHP forms: `tags[]`, `tags[0]`, `utm_params[x]`.
"""

import json
import math
import re
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, NoReturn

from python_multipart.multipart import parse_options_header
from starlette.requests import Request

from waypost.kit.errors import Invalid, TooLarge
from waypost.kit.fields import Upload

Reader = Callable[[Request], Awaitable[dict[str, Any]]]

MAX_JSON = 1 << 20
MAX_BULK = 4 << 20
MAX_MULTIPART = 3 << 20
MAX_BODY = max(MAX_JSON, MAX_BULK, MAX_MULTIPART)
_MAX_CONTENT_TYPE = 256
_READ = "waypost.body"
"""Key in the ASGI scope: the body, if it was read before."""


FormValue = str | Upload | None

_NAME = re.compile(r"([^\[\]]+)\[([^\[\]]*)\]")
_MAX_PARTS = 300
_MAX_HEADERS = 1_024  # bytes per part
_MAX_OPTIONS = 20  # per header

_Part = tuple[dict[bytes, bytes], bytes]
"""Headers, with names in lower case, and content."""


def has_no_content(request: Request) -> bool:
    return "transfer-encoding" not in request.headers and request.headers.get("content-length", "0") == "0"


async def read_fields(request: Request) -> dict[str, Any]:
    content_type = request.headers.get("content-type", "")
    if len(content_type) > _MAX_CONTENT_TYPE:  # parsing its parameters takes quadratic time
        raise malformed(f"The Content-Type must have at most {_MAX_CONTENT_TYPE} characters.")
    kind, options = parse_options_header(content_type)
    if kind == b"multipart/form-data":
        return read_multipart(await read_body(request, MAX_MULTIPART), options.get(b"boundary", b""))
    if kind in {b"", b"application/json"} or kind.endswith(b"+json"):
        return _json(await read_body(request, MAX_JSON))
    raise malformed("Send JSON (Content-Type: application/json) or a multipart/form-data body.")


async def read_bulk(request: Request) -> dict[str, Any]:
    """Read a JSON body with the fields of many resources."""
    return await _read_json(request, MAX_BULK)


async def read_json(request: Request) -> dict[str, Any]:
    """Read a body that must be JSON."""
    return await _read_json(request, MAX_JSON)


async def _read_json(request: Request, limit: int) -> dict[str, Any]:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in {"", "application/json"} and not kind.endswith("+json"):
        raise malformed("Send JSON (Content-Type: application/json).")
    return _json(await read_body(request, limit))


async def read_once(request: Request, limit: int) -> bytes:
    """Read the body before the endpoint does, which gets the same bytes from `read_body`."""
    body = request.scope[_READ] = await read_body(request, limit)
    return body


async def read_body(request: Request, limit: int) -> bytes:
    """Read the body. Raises TooLarge, and Invalid for a compressed body: a few bytes could decompress to gigabytes."""
    if request.headers.get("content-encoding", "identity").strip().lower() not in {"", "identity"}:
        raise malformed("Send the body uncompressed, without Content-Encoding.")
    declared = request.headers.get("content-length", "")
    if declared.isdigit() and int(declared) > limit:
        raise TooLarge(limit)
    if _READ in request.scope:
        read: bytes = request.scope[_READ]
        if len(read) > limit:
            raise TooLarge(limit)
        return read
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > limit:
            raise TooLarge(limit)
    return bytes(body)


def _json(body: bytes) -> dict[str, Any]:
    try:
        value = load_json(body.decode())
    except UnicodeDecodeError:
        raise malformed("The body must be JSON in UTF-8.") from None
    except RepeatedKey:
        raise malformed("The body names a key twice.") from None
    except RecursionError:
        raise malformed("The body is nested too deeply.") from None
    except ValueError:  # also an integer with more digits than Python reads
        raise malformed("The body must be valid JSON.") from None
    if not isinstance(value, dict):
        raise malformed("The body must be a JSON object.")
    return value


class RepeatedKey(ValueError):
    """An object has a key twice: two parsers may each use a different value."""


def load_json(text: str) -> Any:
    """Raises RepeatedKey and ValueError, and RecursionError for deeply nested values."""
    return json.loads(text, object_pairs_hook=_object, parse_constant=_refuse_constant, parse_float=_finite)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise RepeatedKey
    return members


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(name)


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(text)
    return number


def read_multipart(body: bytes, boundary: bytes) -> dict[str, Any]:
    """Read the fields. Raises Invalid on `body`."""
    return nest(_read_part(*part) for part in _split(body, boundary))


def malformed(reason: str) -> Invalid:
    return Invalid({"body": [reason]})


def _split(body: bytes, boundary: bytes) -> list[_Part]:
    """Split with bytes methods, which are fast for any body; a byte-by-byte parser could be kept busy."""
    if not boundary:
        raise malformed("The multipart body's Content-Type names no boundary.")
    parts: list[_Part] = []
    _, *pieces = (b"\r\n" + body).split(b"\r\n--" + boundary, _MAX_PARTS + 1)
    for piece in pieces:
        if piece.startswith(b"--"):
            return parts
        if len(parts) == _MAX_PARTS:
            raise malformed(f"The multipart body must have at most {_MAX_PARTS} parts.")
        parts.append(_parse_part(piece))
    raise malformed("The multipart body ends before its last boundary.")


def _parse_part(piece: bytes) -> _Part:
    padding, _, rest = piece.partition(b"\r\n")
    head, blank_line, content = rest.partition(b"\r\n\r\n")
    if padding.strip(b" \t") or not blank_line:
        raise malformed("The multipart body is malformed.")
    if len(head) > _MAX_HEADERS:
        raise malformed(f"The headers of a part of the multipart body must have at most {_MAX_HEADERS} bytes.")
    return dict(_header(line) for line in head.split(b"\r\n")), content


def _header(line: bytes) -> tuple[bytes, bytes]:
    name, _, value = line.partition(b":")
    return name.lower(), value.strip(b" \t")


def _read_part(headers: dict[bytes, bytes], content: bytes) -> tuple[str, FormValue]:
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
            _nested(fields, outer, list).extend([] if value is None else [value])
        else:
            _nested(fields, outer, dict)[inner] = value
    return fields


def _nested(fields: dict[str, Any], name: str, kind: type[Any]) -> Any:
    if not isinstance(fields.get(name), kind):
        fields[name] = kind()
    return fields[name]


def _text(raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        raise malformed("The multipart body contains text that is not UTF-8.") from None
