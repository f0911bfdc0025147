"""Uploaded images as files of this machine, written atomically: the store on SQLite."""

import asyncio
from pathlib import Path

import structlog

from waypost import private_files
from waypost.kit.errors import Unavailable
from waypost.resources.links.images.media import ReencodedImage, UploadedImage, new_name

log = structlog.get_logger()


class ImageFiles:
    def __init__(self, directory: Path) -> None:
        self.directory = directory

    async def save(self, image: ReencodedImage) -> UploadedImage:
        """Write the file and sync it to disk. Raises Unavailable."""
        name = new_name(image.extension)
        writing = asyncio.create_task(asyncio.to_thread(_write, self.directory / name, image.content))
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


def _write(path: Path, content: bytes) -> None:
    private_files.make_directory(path.parent)
    private_files.replace(path, content)
    private_files.sync_directory(path.parent)  # the name has to be on disk, too
