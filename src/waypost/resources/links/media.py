"""Preview images we host: named by chance, written whole or not at all, served so that they can only be looked at."""

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
from waypost.resources.links.images import CleanImage

PATH = "/media"
_NAME = re.compile(r"[0-9a-f]{32}\.(jpg|png|webp|gif)")
TYPES = {"jpg": "image/jpeg", "png": "image/png", "webp": "image/webp", "gif": "image/gif"}
LOOKED_AT_ONLY = {
    "Content-Security-Policy": "sandbox; default-src 'none'",
    "X-Content-Type-Options": "nosniff",
}
_HEADERS = LOOKED_AT_ONLY | {"Cache-Control": "public, max-age=31536000, immutable"}

log = structlog.get_logger()


def routes(directory: Path) -> APIRouter:
    router = APIRouter()

    @router.api_route(PATH + "/{name}", methods=["GET", "HEAD"], include_in_schema=False)
    async def show(name: str) -> FileResponse:
        """A picture that is there, under a name we gave: nothing else of the directory can be reached."""
        known = _NAME.fullmatch(name)
        if known is None or not (directory / name).is_file():
            raise NotFound
        return FileResponse(directory / name, media_type=TYPES[known[1]], headers=_HEADERS)

    return router


def url(base_url: str, name: str) -> str:
    return f"{base_url}{PATH}/{name}"


def is_url(base_url: str, text: str) -> bool:
    """Whether it is the address of an image we host or once did."""
    start = url(base_url, "")
    return text.startswith(start) and _NAME.fullmatch(text.removeprefix(start)) is not None


class Hosted(NamedTuple):
    name: str
    """Of the file."""
    bytes: int


async def keep(directory: Path, image: CleanImage) -> Hosted:
    """When it returns, the file would outlive a power cut. Raises Unavailable."""
    name = f"{secrets.token_hex(16)}.{image.extension}"
    writing = asyncio.create_task(asyncio.to_thread(_write, directory, name, image.content))
    try:
        await asyncio.shield(writing)
    except OSError as error:
        raise Unavailable("The image cannot be kept right now. Try again in a moment.") from error
    except asyncio.CancelledError:
        await asyncio.wait([writing])  # its thread goes on, and would leave the file behind
        await discard(directory, name)
        raise
    return Hosted(name, len(image.content))


async def discard(directory: Path, name: str | None) -> None:
    """A file that will not go is told to the operator: whoever asked has what they asked for."""
    if name:
        try:
            await asyncio.to_thread((directory / name).unlink, missing_ok=True)
        except OSError as error:
            log.error("image left behind", name=name, reason=str(error))


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
        part.unlink(missing_ok=True)  # a full disk gets back what was begun
    descriptor = os.open(directory, os.O_RDONLY)  # the name, too, has to be on the disk
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
