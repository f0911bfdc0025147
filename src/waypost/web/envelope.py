"""JSON responses of the API: the `data` wrapper, and the only translator from errors to the error envelope.

Unexpected errors are logged once, without secrets. The response has nothing but the error's ID.
"""

import json
import re
import traceback
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Generic, Literal, TypeVar
from uuid import uuid4

import structlog
from pydantic_core import PydanticSerializationError, to_json
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Match
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from typing_extensions import TypedDict

from waypost.accounts import RateLimitResult
from waypost.http.status import headers_of, status_of
from waypost.kit import deprecation, errors
from waypost.kit.docs import doc

T = TypeVar("T")


ErrorCode = Literal[
    "unauthenticated",
    "payment_required",
    "forbidden",
    "not_found",
    "method_not_allowed",
    "validation_error",
    "rate_limited",
    "server_error",
    "http_error",
]

CODES: Mapping[int, ErrorCode] = {
    401: "unauthenticated",
    402: "payment_required",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    422: "validation_error",
    429: "rate_limited",
    500: "server_error",
}
"""Every other status is an `http_error`."""

BARE = frozenset({406})
"""Sent without the envelope."""

DESTINATION_CHECK = "X-Destination-Check"
"""Header of an answer whose destination was accepted although it could not be reached."""

RATE_LIMIT = "waypost.rate_limit"
"""Key in the ASGI scope: the result of the rate limiter, and its limit."""

DEPRECATIONS = "waypost.deprecations"
"""Key in the ASGI scope: what the request uses that will be removed, if anything."""

_METHODS = ("DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT")
_SECRET = re.compile(r"(wp_live_|whsec_)[\w+/-]+|(?<=Bearer )\S+|(?<=\[parameters: ).*")
"""Keys, and the values of a failed statement in SQLAlchemy's errors."""

_TOKEN_PATHS = {"confirm", "enter", "invite", "reset"}
"""First segments of paths whose second is a sign-in token."""

log = structlog.get_logger()


class Data(TypedDict, Generic[T]):
    data: Annotated[T, doc("The result")]


_CODE = "Code for programs"
_MESSAGE = "Text for people; it may change"


class ErrorJson(TypedDict):
    code: Annotated[ErrorCode, doc(_CODE, "not_found")]
    message: Annotated[str, doc(_MESSAGE, "The resource does not exist, or you do not have access to it.")]


class ValidationErrorJson(TypedDict):
    code: Annotated[ErrorCode, doc(_CODE, "validation_error")]
    message: Annotated[str, doc(_MESSAGE, "The given data was invalid.")]
    errors: Annotated[
        errors.Errors, doc("Problems of each field", {"slug": ["This slug is already taken. Choose another one."]})
    ]


class ErrorResponseJson(TypedDict):
    error: Annotated[ErrorJson, doc("The error")]


class ValidationErrorResponseJson(TypedDict):
    error: Annotated[ValidationErrorJson, doc("The error")]


class BareErrorJson(TypedDict):
    message: Annotated[str, doc(_MESSAGE, "The hostname cannot be registered.")]


class JsonResponse(Response):
    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        try:
            return to_json(content)
        except PydanticSerializationError:  # a lone surrogate has no UTF-8; its backslash escape is also JSON's own
            text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
            return text.encode(errors="backslashreplace")


def data(content: Any) -> JsonResponse:
    """Return `{"data": …}`."""
    return JsonResponse({"data": content})


def counted(rows: Sequence[Mapping[str, Any]], *statuses: str) -> JsonResponse:
    """Return rows with the number of those of each status: of `statuses`, and of others that occur."""
    meta = dict.fromkeys(statuses, 0) | Counter(row["status"] for row in rows)
    return JsonResponse({"data": rows, "meta": meta})


def error_response(error: errors.WaypostError) -> Response:
    status = status_of(error)
    if status in BARE:
        return JsonResponse({"message": error.message}, status)
    fields = error.errors if isinstance(error, errors.Invalid) else None
    return enveloped(status, error.message, fields, headers_of(error))


def enveloped(
    status: int, message: str, fields: errors.Errors | None = None, headers: Mapping[str, str] | None = None
) -> Response:
    error: dict[str, Any] = {"code": CODES.get(status, "http_error"), "message": message}
    if fields is not None:
        error["errors"] = fields
    return JsonResponse({"error": error}, status, headers)


class ServerErrors:
    """The outermost middleware: responds to unexpected errors, and adds the rate limit and deprecations to responses.

    Starlette's own would raise the error again, and the server would log it a second time.
    """

    def __init__(self, app: ASGIApp, respond: Callable[[Scope, str], Response]) -> None:
        """`respond`: builds the response to a scope with a message."""
        self._app = app
        self._respond = respond

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        has_started = False

        async def send_with_headers(message: Message) -> None:
            nonlocal has_started
            if message["type"] == "http.response.start":
                has_started = True
                _add_headers(message, scope)
            await send(message)

        try:
            await self._app(scope, receive, send_with_headers)
        except ClientDisconnect:
            return
        except Exception as error:  # noqa: BLE001  # the one place for unexpected errors
            error_id = log_server_error(error, scope)
            if not has_started:
                message = f"Something went wrong on our side. The error ID is {error_id}."
                response = self._respond(scope, message)
                await response(scope, receive, send_with_headers)


def _add_headers(message: Message, scope: Scope) -> None:
    if RATE_LIMIT in scope:
        result, limit = scope[RATE_LIMIT]
        message["headers"] = [
            *message["headers"],
            (b"x-ratelimit-limit", b"%d" % limit),
            (b"x-ratelimit-remaining", b"%d" % result.remaining),
        ]
    if DEPRECATIONS in scope:
        message["headers"] = [*message["headers"], *deprecation.headers(scope[DEPRECATIONS])]


def set_rate_limit(request: Request, result: RateLimitResult, limit: int) -> None:
    request.scope[RATE_LIMIT] = (result, limit)


def log_server_error(error: Exception, scope: Scope) -> str:
    """Log the error. Return the ID that the response shows."""
    error_id = uuid4().hex
    trace = _SECRET.sub("…", "".join(traceback.format_exception(error)))
    path = _without_token(scope["path"])
    log.error("request failed", error_id=error_id, method=scope["method"], path=path, trace=trace)
    return error_id


def _without_token(path: str) -> str:
    segment = path[1:].partition("/")[0]
    return f"/{segment}/…" if segment in _TOKEN_PATHS else path


async def domain_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, errors.WaypostError)  # noqa: S101  # registered for these alone
    if isinstance(error, errors.Unavailable) and not error.is_logged:
        cause = getattr(error.__cause__, "orig", error.__cause__)  # the driver's message, without the statement
        log.warning("service unavailable", path=request.scope["path"], message=error.message, cause=str(cause))
    return error_response(error)


async def http_error(request: Request, error: Exception) -> Response:
    """Handle Starlette's own errors: an unknown path, or a known path with another method."""
    assert isinstance(error, HTTPException)  # noqa: S101  # registered for these alone
    if error.status_code == 404:
        return enveloped(404, errors.NotFound().message)
    if error.status_code == 405:
        return error_response(errors.MethodNotAllowed(methods_of(request)))
    return enveloped(error.status_code, str(error.detail), headers=error.headers)


def methods_of(request: Request) -> list[str]:
    """Return all methods of the path: the framework knows only those of the first route that matches."""
    routes = request.app.router.routes

    def is_supported(method: str) -> bool:
        return any(route.matches({**request.scope, "method": method})[0] is Match.FULL for route in routes)

    return [method for method in _METHODS if is_supported(method)]
