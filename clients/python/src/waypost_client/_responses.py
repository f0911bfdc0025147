"""What a response means: JSON, or an error. Pure."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from waypost_client import errors
from waypost_client._attempts import parse_retry_after

if TYPE_CHECKING:
    from httpx import Response

T = TypeVar("T")

ERRORS: Mapping[int, type[errors.WaypostError]] = {
    401: errors.Unauthenticated,
    402: errors.PaymentRequired,
    403: errors.Forbidden,
    404: errors.NotFound,
    406: errors.ValidationError,
    422: errors.ValidationError,
    429: errors.RateLimited,
}
_TEXT_LIMIT = 500


def read_response(response: Response, read: Callable[[Any], T]) -> T:
    """Return what `read` makes of the JSON, which is None for an empty body. Raises WaypostError."""
    if not response.is_success:
        raise _error(response)
    if response.status_code == 204:
        return read(None)
    try:
        return _with_etag(read(json.loads(response.content)), response.headers.get("ETag"))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise _unexpected(response) from error


def _with_etag(result: T, etag: str | None) -> T:
    if etag and hasattr(result, "etag"):
        vars(result)["etag"] = etag
    return result


def read_file(response: Response) -> bytes:
    if not response.is_success:
        raise _error(response)
    return response.content


def retry_after(response: Response) -> float | None:
    return parse_retry_after(response.headers.get("Retry-After"))


def _error(response: Response) -> errors.WaypostError:
    status = response.status_code
    details = _details(response)
    if details is None and status < 500 and status != 429:
        return _unexpected(response)
    details = details or {}
    message = str(details.get("message") or f"The service answered {status} {response.reason_phrase}.")
    code = details.get("code")
    if status >= 500:
        return errors.ServerError(message, status=status, code=code, retry_after=retry_after(response))
    if status == 429:
        return errors.RateLimited(message, status=status, code=code, retry_after=retry_after(response))
    kind = ERRORS.get(status, errors.WaypostError)
    if kind is errors.ValidationError:
        # a name that cannot be a domain gets 406, and its message is not assigned to a field
        problems = details.get("errors") or {"hostname": [message]} if status == 406 else details.get("errors")
        return errors.ValidationError(message, status=status, code=code, errors=problems)
    return kind(message, status=status, code=code)


def _details(response: Response) -> dict[str, Any] | None:
    """Return `code`, `message` and `errors`; None if the response is not an error of Waypost."""
    try:
        body = json.loads(response.content)
    except ValueError:
        return None
    if not isinstance(body, dict):
        return None
    details = body if response.status_code == 406 else body.get("error")
    return details if isinstance(details, dict) and "message" in details else None


def _unexpected(response: Response) -> errors.UnexpectedResponse:
    request, status = response.request, response.status_code
    kind = response.headers.get("Content-Type", "no content type").partition(";")[0]
    if response.has_redirect_location:
        what = f"a redirect to {_short(response.headers['Location'])}"
    else:
        what = f"{status} {response.reason_phrase} ({kind})".replace(
            " (", " with a page (" if kind == "text/html" else " ("
        )
    return errors.UnexpectedResponse(
        f"{request.method} {request.url.copy_with(query=None)} got {what}, which is not a response of Waypost's API."
        " Check base_url: it is the origin of the service, such as https://go.example.com.",
        status=status,
    )


def _short(text: str) -> str:
    return text if len(text) <= _TEXT_LIMIT else text[:_TEXT_LIMIT] + "…"
