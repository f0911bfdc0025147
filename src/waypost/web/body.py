"""Request bodies, JSON or multipart, with a size limit. An invalid body gets 413 or 422, never a server error."""

import json
import math
from collections.abc import Awaitable, Callable
from typing import Any, Generic, NoReturn, TypeVar

from python_multipart.multipart import parse_options_header
from starlette.requests import Request

from waypost.kit.errors import Problems, TooLarge
from waypost.kit.fields import Body, parse
from waypost.web.multipart import malformed, read_multipart

B = TypeVar("B", bound=Body)
Reader = Callable[[Request], Awaitable[dict[str, Any]]]

JSON_LIMIT = 1 << 20
MULTIPART_LIMIT = 3 << 20
_TYPE_LIMIT = 256


class ParsedBody(Generic[B]):
    """A dependency: the valid fields as a model, and the problems of the others.

    Declare it after the guard, whose refusals come first. The OpenAPI document reads the model from it.
    """

    def __init__(self, model: type[B], read: Reader | None = None, *, is_required: bool = True) -> None:
        self.model = model
        self.is_required = is_required
        self._read = read or read_fields

    async def __call__(self, request: Request) -> tuple[B, Problems]:
        return parse(self.model, await self._read(request))


async def read_fields(request: Request) -> dict[str, Any]:
    content_type = request.headers.get("content-type", "")
    if len(content_type) > _TYPE_LIMIT:  # parsing its parameters takes quadratic time
        raise malformed(f"The Content-Type may have at most {_TYPE_LIMIT} characters.")
    kind, options = parse_options_header(content_type)
    if kind == b"multipart/form-data":
        return read_multipart(await read_body(request, MULTIPART_LIMIT), options.get(b"boundary", b""))
    if kind in {b"", b"application/json"} or kind.endswith(b"+json"):
        return _json(await read_body(request, JSON_LIMIT))
    raise malformed("Send JSON (Content-Type: application/json) or a multipart/form-data body.")


async def read_body(request: Request, limit: int) -> bytes:
    """Raises Invalid on `body` for a compressed body: a few bytes could decompress to gigabytes."""
    if request.headers.get("content-encoding", "identity").strip().lower() not in {"", "identity"}:
        raise malformed("Send the body uncompressed, without Content-Encoding.")
    declared = request.headers.get("content-length", "")
    if declared.isdigit() and int(declared) > limit:
        raise TooLarge(limit)
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > limit:
            raise TooLarge(limit)
    return bytes(body)


def _json(body: bytes) -> dict[str, Any]:
    try:
        value = json.loads(
            body.decode(), object_pairs_hook=_object, parse_constant=_refuse_constant, parse_float=_finite
        )
    except UnicodeDecodeError:
        raise malformed("The body must be JSON in UTF-8.") from None
    except RecursionError:
        raise malformed("The body is nested too deeply.") from None
    except ValueError:  # also an integer with more digits than Python reads
        raise malformed("The body must be valid JSON.") from None
    if not isinstance(value, dict):
        raise malformed("The body must be a JSON object.")
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse a repeated key: two parsers may each use a different value."""
    members = dict(pairs)
    if len(members) < len(pairs):
        raise malformed("The body names a key twice.")
    return members


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(name)


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(text)
    return number
