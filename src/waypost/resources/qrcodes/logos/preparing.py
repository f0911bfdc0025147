"""Makes a logo of an uploaded image: cropped to its content, within the bounds of what a code can show."""

import io
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from PIL import Image, ImageChops, ImageStat

from waypost.resources.domains.logos.model import Logo
from waypost.resources.links.images.codec import decode_still
from waypost.resources.links.images.media import BadImage, new_name
from waypost.resources.qrcodes.logos.schemas import AUTOMATIC, LogoCrop

MIN_SIDE, MAX_SIDE = 16, 512
"""Pixels of the longer side."""
MAX_BYTES = 150_000
_COLORS = 256
"""Of a PNG that would have more bytes otherwise."""
_VISIBLE = 16
"""Of 255: pixels with less alpha count as empty."""
_NEAR = 12
"""Of 255: pixels that differ less from the color of the corners belong to the margin."""

NOTHING_LEFT = "Nothing is left of the image. Cut off less of its edges."
EMPTY = "This image has no visible pixels."
TOO_SMALL = f"The logo must be at least {MIN_SIDE} pixels wide or high, without its empty margin."


class PreparedLogo(NamedTuple):
    content: bytes
    """PNG."""
    width: int
    height: int
    color: str | None
    """The average color, of a logo without a background of its own."""

    def of(self, owner_id: UUID, now: datetime) -> Logo:
        return Logo(owner_id, new_name("png"), self.width, self.height, self.color, now)


def prepare(content: bytes, crop: LogoCrop = AUTOMATIC) -> PreparedLogo:
    """Raises BadImage. Takes up to a few seconds, so never call it in the event loop."""
    image = _with_alpha(decode_still(content))
    left, top, right, bottom = crop.box(*image.size)
    if left >= right or top >= bottom:
        raise BadImage(NOTHING_LEFT)
    image = image.crop((left, top, right, bottom))
    alpha = image.getchannel("A")
    is_opaque = alpha.getextrema()[0] == 255
    box = _find_content(image.convert("RGB")) if is_opaque else alpha.point(lambda a: 255 * (a >= _VISIBLE)).getbbox()
    if box is None:
        raise BadImage(EMPTY)
    if crop.crop in (None, "content"):
        image = image.crop(box)
    if max(image.size) < MIN_SIDE:
        raise BadImage(TOO_SMALL)
    color = None if is_opaque else _average(image)
    image.thumbnail((MAX_SIDE, MAX_SIDE), Image.Resampling.LANCZOS)
    image, content = _encode(image.convert("RGB") if is_opaque else image)
    return PreparedLogo(content, *image.size, color)


def _with_alpha(image: Image.Image) -> Image.Image:
    if image.mode.startswith("I"):  # 16 bits
        image = image.convert("I").point(lambda value: value * (1 / 257) + 0.5).convert("L")
    return (image.convert("RGB") if image.mode == "CMYK" else image).convert("RGBA")


def _find_content(image: Image.Image) -> tuple[int, int, int, int]:
    """Return the box without a margin in one color, or all of an image without one."""
    right, bottom = image.width - 1, image.height - 1
    corners = {image.getpixel(corner) for corner in ((0, 0), (right, 0), (0, bottom), (right, bottom))}
    whole = (0, 0, *image.size)
    if len(corners) > 1:
        return whole
    apart = ImageChops.difference(image, Image.new("RGB", image.size, corners.pop()))
    return apart.convert("L").point(lambda value: 255 * (value > _NEAR)).getbbox() or whole


def _average(image: Image.Image) -> str:
    mean = ImageStat.Stat(image.convert("RGB"), image.getchannel("A").point(lambda a: 255 * (a >= _VISIBLE))).mean
    return "#" + "".join(f"{round(channel):02x}" for channel in mean)


def _encode(image: Image.Image) -> tuple[Image.Image, bytes]:
    """Encode the image with fewer colors, and smaller, until it is within the bound."""
    content = _to_png(image)
    while len(content) > MAX_BYTES:
        content = _to_png(image.quantize(_COLORS, Image.Quantize.FASTOCTREE))
        if len(content) > MAX_BYTES:
            image = image.resize([max(1, 3 * side // 4) for side in image.size], Image.Resampling.LANCZOS)
    return image, content


def _to_png(image: Image.Image) -> bytes:
    out = io.BytesIO()
    image.save(out, "PNG", optimize=True)
    return out.getvalue()
