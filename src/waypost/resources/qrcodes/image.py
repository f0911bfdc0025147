"""A code's picture over HTTP, without a key: looked at as often as pages and documents that show it are read."""

from typing import get_args
from uuid import UUID

from starlette.requests import Request
from starlette.responses import Response

from waypost.kit.errors import NotFound
from waypost.resources.qrcodes import service
from waypost.resources.qrcodes.deps import Deps
from waypost.resources.qrcodes.image_cache import CodeImage
from waypost.resources.qrcodes.urls import Format

FORMATS: tuple[Format, ...] = get_args(Format)
TYPES = {"png": "image/png", "svg": "image/svg+xml"}

_KEPT = {"Cache-Control": "public, max-age=86400"}
SAFE = {
    "Content-Security-Policy": "sandbox; default-src 'none'; style-src 'unsafe-inline'",
    "X-Content-Type-Options": "nosniff",
}


async def show(deps: Deps, request: Request, code: str, form: str) -> Response:
    """Raises NotFound, Forbidden, Unavailable."""
    if form not in FORMATS:
        raise NotFound
    scope = request.scope
    style = deps.urls.read(scope["raw_path"], scope["query_string"])
    account, target = await service.target_of(deps, UUID(code))
    picture = CodeImage(deps.encoded(target), style, form)
    headers = {"ETag": picture.etag, **_KEPT}
    if _is_had(request, picture.etag):
        return Response(status_code=304, headers=headers)
    content = await deps.image_cache.content(picture, account=account)
    headers |= SAFE | {"Content-Disposition": f'inline; filename="{target.slug}.{form}"'}
    headers["Content-Length"] = str(len(content))
    return Response(b"" if scope["method"] == "HEAD" else content, media_type=TYPES[form], headers=headers)


def _is_had(request: Request, etag: str) -> bool:
    """Whether the visitor's copy is this one. Copies are compared weakly, as RFC 9110 asks of `If-None-Match`."""
    given = ",".join(request.headers.getlist("if-none-match"))
    return any(each.strip().removeprefix("W/") in {etag, "*"} for each in given.split(",")) if given else False
