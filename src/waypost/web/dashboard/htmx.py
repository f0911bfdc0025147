"""Requests of htmx, which replaces fragments of a page."""

from starlette.requests import Request


def is_fragment_request(request: Request, target: str | None = None) -> bool:
    """Return whether htmx requests a fragment, for the element `target` if that is given."""
    headers = request.headers
    if "hx-request" not in headers or "hx-history-restore-request" in headers:
        return False
    return target is None or headers.get("hx-target") == target
