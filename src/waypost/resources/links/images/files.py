"""Uploaded images as files of this machine, written atomically: the store on SQLite."""

import asyncio
import os
from pathlib import Path

import structlog

from waypost.kit.errors import Unavailable
from waypost.resources.links.images.media import ReencodedImage, UploadedImage, new_name

log = structlog.get_logger()


class ImageFiles:
    def __init__(self, directory: Path) -> None:
        self.directory = directory

    async def save(self, image: ReencodedImage) -> UploadedImage:
        """Write the file and sync it to disk. Raises Unavailable."""
        name = new_name(image.extension)
        writing = asyncio.create_task(asyncio.to_thread(_write, self.directory, name, image.content))
        try:
            await asyncio.shield(writing)
        except OSError as error:
            raise Unavailable("The image could not be saved. Try again in a moment.") from error
        except asyncio.CancelledError:
            await asyncio.wait([writing])  # the thread goes on and would leave the file behind
            await self.delete(name)
            raise
        return UploadedImage(name, len(image.content))

    async def delete(self, name: str | None) -> None:
        if name:
            try:
                await asyncio.to_thread((self.directory / name).unlink, missing_ok=True)
            except OSError as error:
                log.error("image file not deleted", name=name, reason=error.strerror)

    async def find(self, name: str) -> Path | None:
        path = self.directory / name
        return path if path.is_file() else None


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
