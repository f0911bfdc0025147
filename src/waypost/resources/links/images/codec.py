"""Re-encode uploaded images so that they are safe to serve: pixels only, no metadata.

Accepts JPEG, PNG, WebP and GIF by content, never by name. Refuses everything else, above all SVG, and images that cost
far more than their size: too many pixels, frames or scans. The result is bounded, too: a small file can contain a
large image.
"""

import io
import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import sqrt
from typing import Any, NamedTuple

from PIL import Image, ImageOps

from waypost.resources.links.images.media import NOT_AN_IMAGE, BadImage, ReencodedImage, check_size_and_type

MAX_PIXELS = 25_000_000
MAX_SIDE = 8192
MAX_FRAMES = 200
MAX_TOTAL_PIXELS = 50_000_000
MAX_SCANS = 64  # of a progressive JPEG: each covers all pixels, and may be 10 bytes long
STORED_BYTES = 2_000_000
STORED_SIDE = 2048
# of all frames together: all are in memory at once, and a million takes up to 0.3 s
STORED_PIXELS = STORED_SIDE * STORED_SIDE

TOO_MANY_PIXELS = f"This must have at most {MAX_PIXELS // 1_000_000} megapixels and {MAX_SIDE} pixels per side."
TOO_MANY_FRAMES = f"This must have at most {MAX_FRAMES} frames, {MAX_TOTAL_PIXELS // 1_000_000} megapixels together."
TOO_MANY_SCANS = f"This JPEG has more than {MAX_SCANS} scans. Save it as a JPEG that is not progressive."
NOT_COMPRESSIBLE = "This image takes more than 2 MB when stored. Use one with fewer pixels or frames."

NOT_A_STILL = "This must be a PNG, JPEG or WebP image."
ANIMATED = "Animated images are not supported. Use one that does not move."

_ATTEMPTS = 4
_EXTENSIONS = {"JPEG": "jpg", "PNG": "png", "WEBP": "webp", "GIF": "gif"}
_STILL = ("JPEG", "PNG", "WEBP")
_START_OF_SCAN = b"\xff\xda"
_QUALITY: dict[str, dict[str, Any]] = {
    "JPEG": {"quality": 88, "progressive": True},
    "PNG": {"compress_level": 6},
    "WEBP": {"quality": 85, "method": 2},
    "GIF": {},
}
_BAND_ROWS = 512


def reencode(content: bytes) -> ReencodedImage:
    """Re-encode an image. Raises BadImage. Takes up to a few seconds, so never call it in the event loop."""
    with _refusing(NOT_AN_IMAGE):
        check_size_and_type(content)
        return _decode_and_encode(content)


def decode_still(content: bytes) -> Image.Image:
    """Return the pixels of an image that does not move, upright and at most `STORED_SIDE` wide and high.

    Raises BadImage. Takes as long as `reencode`.
    """
    with _refusing(NOT_A_STILL):
        check_size_and_type(content, NOT_A_STILL)
        with Image.open(io.BytesIO(content), formats=_STILL) as image:
            if image.format != "MPO" and getattr(image, "n_frames", 1) > 1:
                raise BadImage(ANIMATED)
            if content.count(_START_OF_SCAN) > MAX_SCANS and image.format != "PNG":
                raise BadImage(TOO_MANY_SCANS)
            _, size = _declared_size(image, content)
            [frame] = _frames(image, 1, size, min(1.0, STORED_SIDE / max(size)))
            return frame.image


@contextmanager
def _refusing(message: str) -> Iterator[None]:
    try:
        yield
    except BadImage:
        raise
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        raise BadImage(TOO_MANY_PIXELS) from None
    except Exception as error:  # decoders raise anything on broken files: OSError, struct.error, KeyError, …
        raise BadImage(message) from error


class _Frame(NamedTuple):
    image: Image.Image
    milliseconds: int


def _decode_and_encode(content: bytes) -> ReencodedImage:
    with Image.open(io.BytesIO(content), formats=tuple(_EXTENSIONS)) as image:
        kind = "JPEG" if image.format == "MPO" else str(image.format)  # MPO: a JPEG with more images, as phones write
        if kind == "JPEG" and content.count(_START_OF_SCAN) > MAX_SCANS:
            raise BadImage(TOO_MANY_SCANS)
        count, canvas = _declared_size(image, content)
        scale = min(1.0, STORED_SIDE / max(canvas), sqrt(STORED_PIXELS / (count * canvas[0] * canvas[1])))
        decoded = _frames(image, count, canvas, scale)
        frames = [frame._replace(image=_encodable(frame.image, kind)) for frame in decoded]
        loop = image.info.get("loop")
    for _ in range(_ATTEMPTS):
        encoded = _encode(frames, kind, loop)
        if len(encoded) <= STORED_BYTES:
            return ReencodedImage(encoded, _EXTENSIONS[kind])
        scale = sqrt(min(0.5, 0.8 * STORED_BYTES / len(encoded)))
        smaller = _scaled(frames[0].image.size, scale)
        frames = [frame._replace(image=_encodable(_resized(frame.image, smaller), kind)) for frame in frames]
    raise BadImage(NOT_COMPRESSIBLE)


def _declared_size(image: Image.Image, content: bytes) -> tuple[int, tuple[int, int]]:
    """Return the number of frames and their size, checked before anything is decoded."""
    count, (width, height) = 1, image.size
    if image.format == "WEBP":
        count = getattr(image, "n_frames", 1)
    if image.format == "GIF":
        count = 0
        for right, bottom in _gif_frames(content):
            count, width, height = count + 1, max(width, right), max(height, bottom)
    if max(width, height) > MAX_SIDE or width * height > MAX_PIXELS:
        raise BadImage(TOO_MANY_PIXELS)
    if count > 1 and (count > MAX_FRAMES or count * width * height > MAX_TOTAL_PIXELS):
        raise BadImage(TOO_MANY_FRAMES)
    return max(count, 1), (width, height)


def _gif_frames(content: bytes) -> Iterator[tuple[int, int]]:
    """Yield the right and bottom edge of each frame: frames may exceed the size in the file's header."""
    at = 13 + _palette_bytes(content[10])
    while at < len(content) and content[at] != 0x3B:
        if content[at] == 0x2C:
            left, top, width, height, flags = struct.unpack_from("<4HB", content, at + 1)
            yield left + width, top + height
            at = _after_blocks(content, at + 11 + _palette_bytes(flags))
        else:  # an extension, or a meaningless byte, which the decoder skips, too
            at = _after_blocks(content, at + 2) if content[at] == 0x21 else at + 1


def _palette_bytes(flags: int) -> int:
    return 3 << (flags & 7) + 1 if flags & 0x80 else 0


def _after_blocks(content: bytes, at: int) -> int:
    while at < len(content) and content[at]:
        at += 1 + content[at]
    return at + 1


def _frames(image: Image.Image, count: int, canvas: tuple[int, int], scale: float) -> Iterator[_Frame]:
    """Decode the frames. Each is scaled down before the next one is decoded."""
    for number in range(count):
        try:
            image.seek(number)
        except EOFError:
            return
        if image.width > canvas[0] or image.height > canvas[1]:
            raise BadImage(NOT_AN_IMAGE)  # its frames are larger than declared
        size = _scaled(image.size, scale)
        image.draft(None, size)  # decodes a JPEG at nearly that size
        image.load()
        yield _Frame(_upright_pixels(_resized(image, size)), int(image.info.get("duration", 0)))


def _scaled(size: tuple[int, int], scale: float) -> tuple[int, int]:
    return max(1, round(size[0] * scale)), max(1, round(size[1] * scale))


def _resized(image: Image.Image, size: tuple[int, int]) -> Image.Image:
    """Resize the image, reducing it in bands first: resizing pixels with alpha copies all of them."""
    if image.size == size:
        return image
    mode = _mixing_mode(image)
    factor = min(image.width // size[0], image.height // size[1])
    if factor > 1:
        reduced = Image.new(mode, (-(-image.width // factor), -(-image.height // factor)))
        for top in range(0, image.height, _BAND_ROWS * factor):
            band = image.crop((0, top, image.width, min(top + _BAND_ROWS * factor, image.height)))
            reduced.paste(band.convert(mode).reduce(factor), (0, top // factor))
    else:
        reduced = image if image.mode == mode else image.convert(mode)
    resized = reduced.resize(size, Image.Resampling.HAMMING)
    resized.info = {key: value for key, value in image.info.items() if key != "transparency"}  # keeps the orientation
    return resized


def _mixing_mode(image: Image.Image) -> str:
    """Return the mode in which pixels can be averaged."""
    if image.has_transparency_data:
        return "RGBA"
    return {"1": "L", "L": "L", "I": "I", "I;16": "I", "CMYK": "CMYK"}.get(image.mode, "RGB")


def _upright_pixels(image: Image.Image) -> Image.Image:
    """Apply the orientation and remove the metadata: location, camera, comments, color profile."""
    upright = ImageOps.exif_transpose(image)
    upright.info = {key: value for key, value in upright.info.items() if key == "transparency"}
    return upright


def _encodable(image: Image.Image, kind: str) -> Image.Image:
    if kind == "JPEG" and image.mode not in {"L", "RGB"}:
        return image.convert("RGB")
    if kind == "GIF" and image.mode == "RGB" and image.getcolors(256) is None:
        return image.convert("RGBA")  # its palette is computed in a fraction of the time
    return image.convert("I;16") if image.mode == "I" else image


def _encode(frames: Sequence[_Frame], kind: str, loop: int | None) -> bytes:
    options = dict(_QUALITY[kind])
    if len(frames) > 1:
        options |= {"save_all": True, "append_images": [frame.image for frame in frames[1:]]}
        options["duration"] = [frame.milliseconds for frame in frames]
        if any(frame.image.has_transparency_data for frame in frames):
            options["disposal"] = 2  # otherwise the previous frame would show through
        if loop is not None:
            options["loop"] = loop
    out = io.BytesIO()
    frames[0].image.save(out, kind, **options)
    return out.getvalue()
