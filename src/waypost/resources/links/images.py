"""Makes an uploaded image safe to serve: decodes it, checks it, and writes it anew without anything it carried along.

Takes JPEG, PNG, WebP and GIF by content, never by name. Refuses everything else, SVG above all, and what costs far more
than its size: too many pixels, frames or scans.
"""

import asyncio
import io
import itertools
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NamedTuple

from PIL import Image, ImageOps

from waypost.kit.errors import Unavailable

MAX_BYTES = 2 * 1024 * 1024
MAX_PIXELS = 25_000_000
MAX_SIDE = 8192
MAX_FRAMES = 200
MAX_PIXELS_OF_FRAMES = 50_000_000  # all frames are held at once while an animation is written
MAX_SCANS = 64  # of a progressive JPEG: each draws over the whole picture, and may be 10 bytes long

NOT_AN_IMAGE = "This must be an image: jpg, png, webp or gif."
TOO_LARGE = "This may be at most 2 MB."
TOO_MANY_PIXELS = f"This may have at most {MAX_PIXELS // 1_000_000} megapixels and {MAX_SIDE} pixels a side."
TOO_MANY_FRAMES = f"This may have at most {MAX_FRAMES} frames, {MAX_PIXELS_OF_FRAMES // 1_000_000} megapixels together."
TOO_MANY_SCANS = f"A JPEG may have at most {MAX_SCANS} scans."

_ANIMATED = {"GIF", "WEBP"}
_EXTENSIONS = {"JPEG": "jpg", "PNG": "png", "WEBP": "webp", "GIF": "gif"}
_START_OF_SCAN = b"\xff\xda"
_QUALITY: dict[str, dict[str, Any]] = {
    "JPEG": {"quality": 88, "progressive": True},
    "PNG": {"compress_level": 6},
    "WEBP": {"quality": 85, "method": 2},
    "GIF": {},
}


class BadImage(ValueError):
    """Its text is the message for whoever sent the image."""


@dataclass(frozen=True, slots=True)
class CleanImage:
    content: bytes
    extension: str


class Studio:
    """A thread of its own, so that decoding never holds up the event loop and one image at a time takes memory.

    The line before it is short: who finds it full is sent away instead of keeping a body here.
    """

    def __init__(self, waiting: int = 8) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="image")
        self._free = 1 + waiting

    async def clean(self, content: bytes) -> CleanImage:
        """Raises BadImage, or Unavailable when too many are waiting."""
        if self._free == 0:
            raise Unavailable("Too many images are waiting to be looked at. Try again in a moment.")
        self._free -= 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, clean, content)
        finally:
            self._free += 1

    def close(self) -> None:
        """Who waits is let go; the process ends once the image at hand is done, which takes seconds at most."""
        self._thread.shutdown(wait=False, cancel_futures=True)


def clean(content: bytes) -> CleanImage:
    """Raises BadImage; takes up to a few seconds, so never call it in the event loop."""
    if len(content) > MAX_BYTES:
        raise BadImage(TOO_LARGE)
    try:
        return _rewritten(content)
    except BadImage:
        raise
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        raise BadImage(TOO_MANY_PIXELS) from None
    except (
        Exception
    ) as error:  # broken files make decoders raise whatever they meet: OSError, struct.error, KeyError, …
        raise BadImage(NOT_AN_IMAGE) from error


def _rewritten(content: bytes) -> CleanImage:
    with Image.open(io.BytesIO(content), formats=tuple(_EXTENSIONS)) as image:
        kind = "JPEG" if image.format == "MPO" else str(image.format)  # MPO: a JPEG with further views, as phones write
        if kind == "JPEG" and content.count(_START_OF_SCAN) > MAX_SCANS:
            raise BadImage(TOO_MANY_SCANS)
        frames = list(_frames(image))
        loop = image.info.get("loop")
    options = _QUALITY[kind] | (_animation(frames, loop) if len(frames) > 1 else {})
    out = io.BytesIO()
    _savable(frames[0].picture, kind).save(out, kind, **options)
    return CleanImage(out.getvalue(), _EXTENSIONS[kind])


class _Frame(NamedTuple):
    picture: Image.Image
    milliseconds: int


def _frames(image: Image.Image) -> Iterator[_Frame]:
    """Sizes are looked at before each frame is decoded: a GIF may grow from one frame to the next."""
    pixels = 0
    for number in itertools.count():
        if number and (image.format not in _ANIMATED or not _has(image, number)):
            return
        pixels += _checked_size(image)
        if number and (number == MAX_FRAMES or pixels > MAX_PIXELS_OF_FRAMES):
            raise BadImage(TOO_MANY_FRAMES)
        image.load()
        yield _Frame(_bare(image), int(image.info.get("duration", 0)))


def _has(image: Image.Image, frame: int) -> bool:
    try:
        image.seek(frame)
    except EOFError:
        return False
    return True


def _checked_size(image: Image.Image) -> int:
    if max(image.size) > MAX_SIDE or image.width * image.height > MAX_PIXELS:
        raise BadImage(TOO_MANY_PIXELS)
    return image.width * image.height


def _bare(image: Image.Image) -> Image.Image:
    """The pixels the right way up, without what else the file told: place, camera, comments, colour profile."""
    picture = ImageOps.exif_transpose(image)
    picture.info = {key: value for key, value in picture.info.items() if key == "transparency"}
    return picture


def _savable(picture: Image.Image, kind: str) -> Image.Image:
    return picture.convert("RGB") if kind == "JPEG" and picture.mode not in {"L", "RGB"} else picture


def _animation(frames: list[_Frame], loop: int | None) -> dict[str, Any]:
    options: dict[str, Any] = {
        "save_all": True,
        "append_images": [frame.picture for frame in frames[1:]],
        "duration": [frame.milliseconds for frame in frames],
    }
    if any(frame.picture.has_transparency_data for frame in frames):
        options["disposal"] = 2  # each frame is whole: without it the one before would show through
    return options if loop is None else options | {"loop": loop}
