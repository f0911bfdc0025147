"""The headers of responses with images, and whether a client has the image already."""

from starlette.requests import Request

from waypost.resources.qrcodes.image_cache import CodeImage
from waypost.resources.qrcodes.style import MEDIA_TYPES

SAFE_HEADERS = {
    "Content-Security-Policy": "sandbox; default-src 'none'; style-src 'unsafe-inline'",
    "X-Content-Type-Options": "nosniff",
}
"""A browser displays the image and runs nothing in it."""

CACHING = {"Cache-Control": "public, max-age=86400"}

_Headers = list[tuple[bytes, bytes]]


def _raw(headers: dict[str, str]) -> _Headers:
    return [(name.lower().encode(), value.encode()) for name, value in headers.items()]


_CACHING = _raw(CACHING)
_OF_FORMAT = {
    image_format: _raw(CACHING | SAFE_HEADERS | {"Content-Type": media_type})
    for image_format, media_type in MEDIA_TYPES.items()
}


def image_headers(image: CodeImage, slug: bytes, length: int | None) -> _Headers:
    """Return the headers of a response. `length`: of the content; None if the client has it already."""
    etag = (b"etag", image.etag.encode())
    if length is None:
        return [etag, *_CACHING]
    name = b'inline; filename="%b.%b"' % (slug, image.format.encode())
    return [etag, *_OF_FORMAT[image.format], (b"content-disposition", name), (b"content-length", b"%d" % length)]


def is_cached(request: Request, etag: str) -> bool:
    """Return whether the client has this version. `If-None-Match` compares weakly (RFC 9110)."""
    etags = ",".join(request.headers.getlist("if-none-match")).split(",")
    return any(text.strip().removeprefix("W/") in {etag, "*"} for text in etags)
