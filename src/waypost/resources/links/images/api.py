"""Serves uploaded images, for display only."""

from pathlib import Path

from fastapi import APIRouter
from fastapi.responses import FileResponse, Response

from waypost.kit.errors import NotFound
from waypost.resources.links.images.media import NAME, PATH, ImageStore

TYPES = {"jpg": "image/jpeg", "png": "image/png", "webp": "image/webp", "gif": "image/gif"}
DISPLAY_ONLY = {
    "Content-Security-Policy": "sandbox; default-src 'none'",
    "X-Content-Type-Options": "nosniff",
}
_HEADERS = DISPLAY_ONLY | {"Cache-Control": "public, max-age=31536000, immutable"}


def endpoints(store: ImageStore) -> APIRouter:
    router = APIRouter()

    @router.api_route(PATH + "/{name}", methods=["GET", "HEAD"], include_in_schema=False)
    async def show(name: str) -> Response:
        """Serve an image. Only names that `new_name` generates are accepted."""
        match = NAME.fullmatch(name)
        image = await store.find(name) if match else None
        if match is None or image is None:
            raise NotFound
        media_type = TYPES[match[1]]
        if isinstance(image, Path):
            return FileResponse(image, media_type=media_type, headers=_HEADERS)
        return Response(image, media_type=media_type, headers=_HEADERS)

    return router
