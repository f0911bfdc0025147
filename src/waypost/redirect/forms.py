"""Reads forms that visitors send to short links."""

from urllib.parse import parse_qsl, urlsplit

from starlette.types import Receive


async def read_form(receive: Receive, max_body: int) -> dict[str, str] | None:
    """Return the fields of a sent form. None if the body is larger than `max_body` bytes, or is not a form."""
    body, is_complete = b"", False
    while not is_complete:
        message = await receive()
        body += message.get("body", b"")
        is_complete = message["type"] != "http.request" or not message.get("more_body", False)
        if len(body) > max_body:
            return None
    try:
        return dict(parse_qsl(body.decode("ascii"), keep_blank_values=True, max_num_fields=10, errors="strict"))
    except ValueError:
        return None


def is_from_other_site(headers: dict[bytes, bytes]) -> bool:
    """Return whether a browser says that a page of another site sent the form.

    Over plain HTTP browsers send only Origin. What sends neither header is no browser that visits pages of others.
    """
    site = headers.get(b"sec-fetch-site")
    if site is not None:
        return site != b"same-origin"
    origin = headers.get(b"origin")
    if origin is None:
        return False
    try:
        netloc = urlsplit(origin.decode("ascii")).netloc
    except ValueError:
        return True
    return netloc.lower().encode() != headers.get(b"host", b"").lower()
