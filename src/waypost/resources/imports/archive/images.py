"""Reads the images of an archive, one at a time."""

import asyncio
import tarfile
from collections.abc import AsyncGenerator, Mapping
from typing import NamedTuple
from uuid import UUID

from waypost.resources.imports.archive.reader import Archive
from waypost.resources.links.images import MAX_BYTES
from waypost.resources.links.media import NAME


class ArchivedImage(NamedTuple):
    link_id: UUID | None
    """None: an image of no link here, or none at all."""
    content: bytes = b""
    problem: str | None = None


async def read_images(archive: Archive, links: Mapping[str, UUID], start: int) -> AsyncGenerator[ArchivedImage, None]:
    """Yield each entry, from number `start` on. `links`: by the name of their image. Raises BadArchive."""
    try:
        with archive.open_file("images.tar") as file, tarfile.open(fileobj=file, mode="r|") as entries:
            number = 0
            while entry := await asyncio.to_thread(entries.next):
                number += 1
                if number > start:
                    link_id = links.get(entry.name) if NAME.fullmatch(entry.name) else None
                    content = entries.extractfile(entry) if link_id and _is_image(entry) else None
                    if content is None:
                        yield ArchivedImage(None)
                    else:
                        yield ArchivedImage(link_id, await asyncio.to_thread(content.read))
    except tarfile.TarError:
        yield ArchivedImage(None, problem="images.tar cannot be read: images are left out")


def _is_image(entry: tarfile.TarInfo) -> bool:
    return entry.isfile() and entry.size <= MAX_BYTES
