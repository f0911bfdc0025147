"""Uploaded images: the checks that need no decoding, their names and their URLs.

An `ImageStore` keeps them: files of this machine (`files`), or rows that all nodes share (`rows`).
"""

import re
import secrets
from pathlib import Path
from typing import NamedTuple, Protocol

PATH = "/media"
NAME = re.compile(r"[0-9a-f]{32}\.(jpg|png|webp|gif)")

MAX_BYTES = 2 * 1024 * 1024  # of an upload

NOT_AN_IMAGE = "This must be a JPEG, PNG, WebP or GIF image."
TOO_LARGE = "The image must be 2 MB or smaller."

_SIGNATURES = (b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n", b"RIFF", b"GIF87a", b"GIF89a")


class BadImage(ValueError):
    """The image is refused. The text is the error message for the user."""


class ReencodedImage(NamedTuple):
    content: bytes
    extension: str


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


def check_size_and_type(content: bytes, message: str = NOT_AN_IMAGE) -> None:
    """Run the checks that need no decoding. Raises BadImage."""
    if len(content) > MAX_BYTES:
        raise BadImage(TOO_LARGE)
    if not content.startswith(_SIGNATURES):
        raise BadImage(message)


def new_name(extension: str) -> str:
    """Return a name that nobody can guess and that no other image ever gets."""
    return f"{secrets.token_hex(16)}.{extension}"


def url(base_url: str, name: str) -> str:
    return f"{base_url}{PATH}/{name}"


def is_url(base_url: str, text: str) -> bool:
    """Whether this is the URL of an uploaded image, existing or not."""
    prefix = url(base_url, "")
    return text.startswith(prefix) and NAME.fullmatch(text.removeprefix(prefix)) is not None
