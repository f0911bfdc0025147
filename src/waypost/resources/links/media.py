"""Uploaded images: their names, their URLs, and the endpoint that serves them, for display only.

An `ImageStore` keeps them: files of this machine (`image_files`), or rows that all nodes share (`image_rows`).
"""

import re
import secrets
from pathlib import Path
from typing import NamedTuple, Protocol

from fastapi import APIRouter
from fastapi.responses import FileResponse, Response

from waypost.kit.errors import NotFound
from waypost.resources.links.images import ReencodedImage

PATH = "/media"
NAME = re.compile(r"[0-9a-f]{32}\.(jpg|png|webp|gif)")
TYPES = {"jpg": "image/jpeg", "png": "image/png", "webp": "image/webp", "gif": "image/gif"}
DISPLAY_ONLY = {
    "Content-Security-Policy": "sandbox; default-src 'none'",
    "X-Content-Type-Options": "nosniff",
}
_HEADERS = DISPLAY_ONLY | {"Cache-Control": "public, max-age=31536000, immutable"}


class UploadedImage(NamedTuple):
    name: str
    size: int
    """Bytes."""


class ImageStore(Protocol):
    async def save(self, image: ReencodedImage) -> UploadedImage:
        """Save the image durably under a name of its own. Raises Unavailable."""

    async def delete(self, name: str | None) -> None:
        """Delete the image. If that fails, it is logged, and the request succeeds anyway."""

    async def find(self, name: str) -> Path | bytes | None:
        """Return the image's file, or its content. Raises Unavailable."""


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


def new_name(extension: str) -> str:
    """Return a name that nobody can guess and that no other image ever gets."""
    return f"{secrets.token_hex(16)}.{extension}"


def url(base_url: str, name: str) -> str:
    return f"{base_url}{PATH}/{name}"


def is_url(base_url: str, text: str) -> bool:
    """Whether this is the URL of an uploaded image, existing or not."""
    prefix = url(base_url, "")
    return text.startswith(prefix) and NAME.fullmatch(text.removeprefix(prefix)) is not None
