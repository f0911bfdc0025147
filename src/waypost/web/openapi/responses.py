"""What every operation of the OpenAPI document may answer besides success."""

from typing import Any

from waypost.http.status import STATUSES
from waypost.web.envelope import BARE, CODES, DESTINATION_CHECK
from waypost.web.openapi.parameters import Schema
from waypost.web.openapi.schemas import reference

_KINDS: dict[int | str, Any] = {status: kind for kind, status in STATUSES.items()}
RATE_LIMITED = frozenset({200, 201, 202, 204, 304, 404, 406, 409, 412, 413, 422, 429})
"""Statuses of answers to requests that were counted and allowed by key, plan and scope."""
_UNNAMED: dict[int | str, str] = {"default": "OtherError", 304: "NotModified"}
_RETRY = frozenset({409, 429})
_FORBIDDEN = (
    "The key lacks the scope, or the member who created it the role, that the endpoint needs; the account is"
    " suspended; or the signature of an image's URL is missing or wrong."
)


def _header(description: str, example: str | int, *, const: str = "", is_required: bool = True) -> Schema:
    kind = {"type": "integer" if isinstance(example, int) else "string"}
    about = {"description": description} | ({"required": True} if is_required else {})
    return {**about, "schema": kind | ({"const": const} if const else {}), "example": example}


HEADERS: Schema = {
    "X-RateLimit-Limit": _header("Requests that the key may send per minute", 60),
    "X-RateLimit-Remaining": _header("Requests that the key may still send in this minute", 59),
    "Retry-After": _header("Seconds to wait before the request is sent again", 1),
    "Idempotent-Replayed": _header(
        "The response of an earlier request with the same `Idempotency-Key`: nothing was done again",
        "true",
        const="true",
        is_required=False,
    ),
    "ETag": _header(
        "The version of the resource, and after a hyphen, if there is one, a tag of its counters and"
        " other fields that callers do not change. `If-Match` compares the version only, `If-None-Match` all of it.",
        '"1f0c5a7be2d94c3a8f61-5b2e9d04"',
    ),
    "Link": _header(
        "URLs of other pages, as in `links` (RFC 8288). Left out if it would be longer than 3,000 characters",
        '<https://go.example.com/api/v1/links?page=2>; rel="next"',
        is_required=False,
    ),
    DESTINATION_CHECK: _header(
        "A destination could not be reached, and the settings accept that: its page has not been read",
        "unreachable",
        const="unreachable",
        is_required=False,
    ),
    "WWW-Authenticate": _header("How to authenticate", "Bearer", const="Bearer"),
}
_OTHER: Schema = {
    "description": "Other errors: 400 for plain HTTP where HTTPS is required, 500 for an error of Waypost, 503 with"
    " `Retry-After` if Waypost, its database or the share of the account is busy",
    "content": {
        "application/json": {
            "schema": reference("ErrorResponse"),
            "examples": {
                "unavailable": {
                    "summary": "503, with Retry-After",
                    "value": {
                        "error": {
                            "code": "http_error",
                            "message": "Waypost cannot do this right now. Try again in a moment.",
                        }
                    },
                },
                "server_error": {
                    "summary": "500",
                    "value": {
                        "error": {
                            "code": "server_error",
                            "message": "Something went wrong on our side. The error ID is"
                            " 3f2b8a1c5d7e4f60a9b8c7d6e5f40312.",
                        }
                    },
                },
            },
        }
    },
}


def error_responses() -> Schema:
    """Return the named responses, to which operations refer."""
    named = {_KINDS[status].__name__: _named(status) for status in (401, 402, 403, 404, 406, 409, 412, 413, 429)}
    unchanged = {
        "description": "The response would be that of an ETag in `If-None-Match`",
        "headers": headers(304, "ETag"),
    }
    return {**named, "NotModified": unchanged, "OtherError": _OTHER}


def error_response(status: int | str) -> Schema:
    name = _UNNAMED.get(status) or _KINDS[status].__name__
    return {"$ref": f"#/components/responses/{name}"}


def validation_error(field: str, message: str) -> Schema:
    """Return the response to an invalid request, with an example that names one of its fields."""
    error = {"code": CODES[422], "message": _message(422), "errors": {field: [message]}}
    return {
        "description": _meaning(422),
        "headers": headers(422),
        "content": {"application/json": {"schema": reference("ValidationErrorResponse"), "example": {"error": error}}},
    }


def headers(status: int, *more: str) -> Schema:
    names = ("X-RateLimit-Limit", "X-RateLimit-Remaining") if status in RATE_LIMITED else ()
    return {name: {"$ref": f"#/components/headers/{name}"} for name in (*names, *more)}


def _named(status: int) -> Schema:
    message = _message(status)
    error = (
        {"message": message}
        if status in BARE
        else {"error": {"code": CODES.get(status, "http_error"), "message": message}}
    )
    name = "BareError" if status in BARE else "ErrorResponse"
    more = ["Retry-After"] if status in _RETRY else ["WWW-Authenticate"] if status == 401 else []
    # the images of QR codes, which have no rate limit, answer 403 and 404 as well
    counted = {} if status == 404 else headers(status, *more)
    return {
        "description": _meaning(status),
        "content": {"application/json": {"schema": reference(name), "example": error}},
    } | ({"headers": counted} if counted else {})


def _message(status: int) -> str:
    return (_KINDS[status].__doc__ or "").partition("\n")[0]


def _meaning(status: int) -> str:
    if status == 403:
        return _FORBIDDEN
    # as code what is quoted: descriptions are Markdown, where <key> is an element and disappears
    return _message(status).replace('"', "`")
