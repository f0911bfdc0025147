"""Makes an uploaded image safe to serve: decodes it, checks it, and writes it anew without anything it carried along.

Takes JPEG, PNG, WebP and GIF by content, never by name. Refuses everything else, SVG above all, and what costs far more
than its size: too many pixels, frames or scans. What is written is bounded, too: a small file can hold a large image.
"""

import asyncio
import io
import struct
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from math import sqrt
from typing import Any, NamedTuple
from uuid import UUID

from PIL import Image, ImageOps

from waypost.kit.fair_queue import FairQueue

MAX_BYTES = 2 * 1024 * 1024  # of what is sent
MAX_PIXELS = 25_000_000
MAX_SIDE = 8192
MAX_FRAMES = 200
MAX_PIXELS_OF_FRAMES = 50_000_000
MAX_SCANS = 64  # of a progressive JPEG: each draws over the whole picture, and may be 10 bytes long
KEPT_BYTES = 2_000_000
KEPT_SIDE = 2048
KEPT_PIXELS = KEPT_SIDE * KEPT_SIDE  # of all frames together: they are held at once, and take up to 0.3 s a million

NOT_AN_IMAGE = "This must be an image: jpg, png, webp or gif."
TOO_LARGE = "This may be at most 2 MB."
TOO_MANY_PIXELS = f"This may have at most {MAX_PIXELS // 1_000_000} megapixels and {MAX_SIDE} pixels a side."
TOO_MANY_FRAMES = f"This may have at most {MAX_FRAMES} frames, {MAX_PIXELS_OF_FRAMES // 1_000_000} megapixels together."
TOO_MANY_SCANS = f"A JPEG may have at most {MAX_SCANS} scans."
NOT_COMPRESSIBLE = "This image would take more than 2 MB as it is stored. Use one with fewer pixels or frames."

_AT_ONCE = 2  # each takes a thread and up to 130 MB
_ATTEMPTS = 4
_ANIMATED = {"GIF", "WEBP"}
_EXTENSIONS = {"JPEG": "jpg", "PNG": "png", "WEBP": "webp", "GIF": "gif"}
_BEGINNINGS = (b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n", b"RIFF", b"GIF87a", b"GIF89a")
_START_OF_SCAN = b"\xff\xda"
_QUALITY: dict[str, dict[str, Any]] = {
    "JPEG": {"quality": 88, "progressive": True},
    "PNG": {"compress_level": 6},
    "WEBP": {"quality": 85, "method": 2},
    "GIF": {},
}
_ROWS = 512  # that are reduced at once


class BadImage(ValueError):
    """Its text is the message for whoever sent the image."""


@dataclass(frozen=True, slots=True)
class CleanImage:
    content: bytes
    extension: str


class Studio:
    """Threads of its own, so that decoding never holds up the event loop and few images at a time take memory.

    Accounts take turns. The line before it is short: who finds it full is refused instead of keeping a body here.
    """

    def __init__(self, waiting: int = 32, waiting_each: int = 8) -> None:
        self._threads = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="image")
        busy = "Too many images are waiting to be processed. Try again in a moment."
        self._queue = FairQueue(_AT_ONCE, each=1, waiting=waiting, waiting_each=waiting_each, busy=busy)

    async def clean(self, content: bytes, *, account: UUID) -> CleanImage:
        """Raises BadImage, or Unavailable when too many are waiting."""
        async with self._queue.slot(account):
            return await asyncio.get_running_loop().run_in_executor(self._threads, clean, content)

    def close(self) -> None:
        """Who waits is let go; the process ends once the images at hand are done, which takes seconds at most."""
        self._threads.shutdown(wait=False, cancel_futures=True)


def refuse_at_sight(content: bytes) -> None:
    """What is wrong without decoding anything. Raises BadImage."""
    if len(content) > MAX_BYTES:
        raise BadImage(TOO_LARGE)
    if not content.startswith(_BEGINNINGS):
        raise BadImage(NOT_AN_IMAGE)


def clean(content: bytes) -> CleanImage:
    """Raises BadImage; takes up to a few seconds, so never call it in the event loop."""
    refuse_at_sight(content)
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


class _Frame(NamedTuple):
    picture: Image.Image
    milliseconds: int


def _rewritten(content: bytes) -> CleanImage:
    with Image.open(io.BytesIO(content), formats=tuple(_EXTENSIONS)) as image:
        kind = "JPEG" if image.format == "MPO" else str(image.format)  # MPO: a JPEG with further views, as phones write
        if kind == "JPEG" and content.count(_START_OF_SCAN) > MAX_SCANS:
            raise BadImage(TOO_MANY_SCANS)
        count, canvas = _announced(image, content)
        scale = min(1.0, KEPT_SIDE / max(canvas), sqrt(KEPT_PIXELS / (count * canvas[0] * canvas[1])))
        frames = [
            frame._replace(picture=_savable(frame.picture, kind)) for frame in _frames(image, count, canvas, scale)
        ]
        loop = image.info.get("loop")
    for _ in range(_ATTEMPTS):
        written = _written(frames, kind, loop)
        if len(written) <= KEPT_BYTES:
            return CleanImage(written, _EXTENSIONS[kind])
        scale = sqrt(min(0.5, 0.8 * KEPT_BYTES / len(written)))
        smaller = _times(frames[0].picture.size, scale)
        frames = [frame._replace(picture=_savable(_resized(frame.picture, smaller), kind)) for frame in frames]
    raise BadImage(NOT_COMPRESSIBLE)


def _announced(image: Image.Image, content: bytes) -> tuple[int, tuple[int, int]]:
    """How many frames there are, and how large each is; looked at before anything is decoded."""
    count, (width, height) = 1, image.size
    if image.format == "WEBP":
        count = getattr(image, "n_frames", 1)
    if image.format == "GIF":
        count = 0
        for right, bottom in _frames_of_gif(content):
            count, width, height = count + 1, max(width, right), max(height, bottom)
    if max(width, height) > MAX_SIDE or width * height > MAX_PIXELS:
        raise BadImage(TOO_MANY_PIXELS)
    if count > 1 and (count > MAX_FRAMES or count * width * height > MAX_PIXELS_OF_FRAMES):
        raise BadImage(TOO_MANY_FRAMES)
    return max(count, 1), (width, height)


def _frames_of_gif(content: bytes) -> Iterator[tuple[int, int]]:
    """Where each frame ends, to the right and below: they may lie outside of the size that the file begins with."""
    at = 13 + _palette(content[10])
    while at < len(content) and content[at] != 0x3B:
        if content[at] == 0x2C:
            left, top, width, height, flags = struct.unpack_from("<4HB", content, at + 1)
            yield left + width, top + height
            at = _after_blocks(content, at + 11 + _palette(flags))
        else:  # an extension; or a byte that means nothing, which the decoder skips, too
            at = _after_blocks(content, at + 2) if content[at] == 0x21 else at + 1


def _palette(flags: int) -> int:
    """Its bytes."""
    return 3 << (flags & 7) + 1 if flags & 0x80 else 0


def _after_blocks(content: bytes, at: int) -> int:
    while at < len(content) and content[at]:
        at += 1 + content[at]
    return at + 1


def _frames(image: Image.Image, count: int, canvas: tuple[int, int], scale: float) -> Iterator[_Frame]:
    """Each is made smaller before the next one is decoded."""
    for number in range(count):
        if number and not _has(image, number):
            return
        if image.width > canvas[0] or image.height > canvas[1]:
            raise BadImage(NOT_AN_IMAGE)  # its frames are told in another way than they are decoded
        size = _times(image.size, scale)
        image.draft(None, size)  # a JPEG is decoded at nearly that size
        image.load()
        yield _Frame(_bare(_resized(image, size)), int(image.info.get("duration", 0)))


def _has(image: Image.Image, frame: int) -> bool:
    try:
        image.seek(frame)
    except EOFError:
        return False
    return True


def _times(size: tuple[int, int], scale: float) -> tuple[int, int]:
    return max(1, round(size[0] * scale)), max(1, round(size[1] * scale))


def _resized(image: Image.Image, size: tuple[int, int]) -> Image.Image:
    """Reduced in bands first, which takes a fraction of the memory: to resize pixels with alpha copies all of them."""
    if image.size == size:
        return image
    mode = _resizable(image)
    factor = min(image.width // size[0], image.height // size[1])
    if factor > 1:
        reduced = Image.new(mode, (-(-image.width // factor), -(-image.height // factor)))
        for top in range(0, image.height, _ROWS * factor):
            band = image.crop((0, top, image.width, min(top + _ROWS * factor, image.height)))
            reduced.paste(band.convert(mode).reduce(factor), (0, top // factor))
    else:
        reduced = image if image.mode == mode else image.convert(mode)
    made = reduced.resize(size, Image.Resampling.HAMMING)
    made.info = {key: value for key, value in image.info.items() if key != "transparency"}  # which way is up, above all
    return made


def _resizable(image: Image.Image) -> str:
    """The mode in which its pixels can be mixed."""
    if image.has_transparency_data:
        return "RGBA"
    return {"1": "L", "L": "L", "I": "I", "I;16": "I", "CMYK": "CMYK"}.get(image.mode, "RGB")


def _bare(image: Image.Image) -> Image.Image:
    """The pixels the right way up, without what else the file told: place, camera, comments, colour profile."""
    picture = ImageOps.exif_transpose(image)
    picture.info = {key: value for key, value in picture.info.items() if key == "transparency"}
    return picture


def _savable(picture: Image.Image, kind: str) -> Image.Image:
    if kind == "JPEG" and picture.mode not in {"L", "RGB"}:
        return picture.convert("RGB")
    if kind == "GIF" and picture.mode == "RGB" and picture.getcolors(256) is None:
        return picture.convert("RGBA")  # whose colours are chosen in a fraction of the time
    return picture.convert("I;16") if picture.mode == "I" else picture


def _written(frames: Sequence[_Frame], kind: str, loop: int | None) -> bytes:
    options = _QUALITY[kind] | (_animation(frames, loop) if len(frames) > 1 else {})
    out = io.BytesIO()
    frames[0].picture.save(out, kind, **options)
    return out.getvalue()


def _animation(frames: Sequence[_Frame], loop: int | None) -> dict[str, Any]:
    options: dict[str, Any] = {
        "save_all": True,
        "append_images": [frame.picture for frame in frames[1:]],
        "duration": [frame.milliseconds for frame in frames],
    }
    if any(frame.picture.has_transparency_data for frame in frames):
        options["disposal"] = 2  # each frame is whole: without it the one before would show through
    return options if loop is None else options | {"loop": loop}
