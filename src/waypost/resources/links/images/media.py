"""Uploaded images: their names and their URLs.

An `ImageStore` keeps them: files of this machine (`image_files`), or rows that all nodes share (`image_rows`).
"""

import re
import secrets
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from waypost.resources.links.images.encoder import ReencodedImage

PATH = "/media"
NAME = re.compile(r"[0-9a-f]{32}\.(jpg|png|webp|gif)")


class UploadedImage(NamedTuple):
    name: str
    size: int
    """Bytes."""


class ImageStore(Protocol):
    async def save(self, image: "ReencodedImage") -> UploadedImage:
        """Save the image durably under a name of its own. Raises Unavailable."""

    async def delete(self, name: str | None) -> None:
        """Delete the image. If that fails, it is logged, and the request succeeds anyway."""

    async def find(self, name: str) -> Path | bytes | None:
        """Return the image's file, or its content. Raises Unavailable."""


def new_name(extension: str) -> str:
    """Return a name that nobody can guess and that no other image ever gets."""
    return f"{secrets.token_hex(16)}.{extension}"


def url(base_url: str, name: str) -> str:
    return f"{base_url}{PATH}/{name}"


def is_url(base_url: str, text: str) -> bool:
    """Whether this is the URL of an uploaded image, existing or not."""
    prefix = url(base_url, "")
    return text.startswith(prefix) and NAME.fullmatch(text.removeprefix(prefix)) is not None
