"""Files of uploaded images: they have random names, are written atomically, and served for display only."""

import asyncio
import os
import re
import secrets
from pathlib import Path
from typing import NamedTuple

import structlog
from fastapi import APIRouter
from fastapi.responses import FileResponse

from waypost.kit.errors import NotFound, Unavailable
from waypost.resources.links.images import ReencodedImage

PATH = "/media"
_NAME = re.compile(r"[0-9a-f]{32}\.(jpg|png|webp|gif)")
TYPES = {"jpg": "image/jpeg", "png": "image/png", "webp": "image/webp", "gif": "image/gif"}
DISPLAY_ONLY = {
    "Content-Security-Policy": "sandbox; default-src 'none'",
    "X-Content-Type-Options": "nosniff",
}
_HEADERS = DISPLAY_ONLY | {"Cache-Control": "public, max-age=31536000, immutable"}

log = structlog.get_logger()


def endpoints(directory: Path) -> APIRouter:
    router = APIRouter()

    @router.api_route(PATH + "/{name}", methods=["GET", "HEAD"], include_in_schema=False)
    async def show(name: str) -> FileResponse:
        """Serve a file. Only names that `save` generated are accepted."""
        match = _NAME.fullmatch(name)
        if match is None or not (directory / name).is_file():
            raise NotFound
        return FileResponse(directory / name, media_type=TYPES[match[1]], headers=_HEADERS)

    return router


def url(base_url: str, name: str) -> str:
    return f"{base_url}{PATH}/{name}"


def is_url(base_url: str, text: str) -> bool:
    """Whether this is the URL of an uploaded image, existing or not."""
    prefix = url(base_url, "")
    return text.startswith(prefix) and _NAME.fullmatch(text.removeprefix(prefix)) is not None


class UploadedImage(NamedTuple):
    name: str
    size: int
    """Bytes."""


async def save(directory: Path, image: ReencodedImage) -> UploadedImage:
    """Write the file and sync it to disk. Raises Unavailable."""
    name = f"{secrets.token_hex(16)}.{image.extension}"
    writing = asyncio.create_task(asyncio.to_thread(_write, directory, name, image.content))
    try:
        await asyncio.shield(writing)
    except OSError as error:
        raise Unavailable("The image could not be saved. Try again in a moment.") from error
    except asyncio.CancelledError:
        await asyncio.wait([writing])  # the thread goes on and would leave the file behind
        await delete(directory, name)
        raise
    return UploadedImage(name, len(image.content))


async def delete(directory: Path, name: str | None) -> None:
    """Delete the file. If that fails, it is logged, and the request succeeds anyway."""
    if name:
        try:
            await asyncio.to_thread((directory / name).unlink, missing_ok=True)
        except OSError as error:
            log.error("image file not deleted", name=name, reason=str(error))


def _write(directory: Path, name: str, content: bytes) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    part = directory / f".{name}.part"
    try:
        with part.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        part.replace(directory / name)
    finally:
        part.unlink(missing_ok=True)  # frees the space on a full disk
    descriptor = os.open(directory, os.O_RDONLY)  # the name has to be on disk, too
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
