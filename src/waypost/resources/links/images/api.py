"""Serves uploaded images, for display only."""

from pathlib import Path

from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

from waypost.kit.errors import NotFound
from waypost.resources.links.images.media import NAME, PATH, ImageStore

TYPES = {"jpg": "image/jpeg", "png": "image/png", "webp": "image/webp", "gif": "image/gif"}
DISPLAY_ONLY = {
    "Content-Security-Policy": "sandbox; default-src 'none'",
    "X-Content-Type-Options": "nosniff",
}
HEADERS = DISPLAY_ONLY | {"Cache-Control": "public, max-age=31536000, immutable"}


def route(store: ImageStore) -> Route:
    async def show(request: Request) -> Response:
        """Serve an image. Only names that `new_name` generates are accepted."""
        name = request.path_params["name"]
        match = NAME.fullmatch(name)
        image = await store.find(name) if match else None
        if match is None or image is None:
            raise NotFound
        media_type = TYPES[match[1]]
        if isinstance(image, Path):
            return FileResponse(image, media_type=media_type, headers=HEADERS)
        return Response(image, media_type=media_type, headers=HEADERS)

    return Route(PATH + "/{name}", show)
