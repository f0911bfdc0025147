"""Two readers of codes that know nothing of each other, and what a code goes through until it is before them.

zbar is the one behind many Linux and embedded scanners, ZXing-C++ the heir of Android's. Both are left as they come:
zbar reads dark codes only, ZXing-C++ tries a picture's negative, too.
"""

import io
import random
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree as ET

import zxingcpp
from PIL import Image, ImageFilter

_SMALL = 96  # pixels
_QUALITY = 50
_TURN = 7  # degrees
_TILT = 0.06  # how much narrower the far edge is, of the whole
_BLUR = 1 / 400  # of the code's side
_NOISE = 0.03
_SOURCE = "{http://zbar.sourceforge.net/2008/barcode}source"


@dataclass(frozen=True)
class Picture:
    file: bytes
    """PNG or JPEG."""

    def opened(self) -> Image.Image:
        return Image.open(io.BytesIO(self.file))


def rasterised(svg: bytes) -> bytes:
    """As PNG, in the size that the SVG asks for."""
    return subprocess.run(["rsvg-convert"], input=svg, capture_output=True, check=True, timeout=60).stdout


def written(picture: Image.Image) -> Picture:
    file = io.BytesIO()
    picture.save(file, "PNG", compress_level=1)
    return Picture(file.getvalue())


def as_is(picture: Picture, _ground: str) -> Picture:
    return picture


def scaled(picture: Picture, _ground: str) -> Picture:
    return written(picture.opened().convert("RGB").resize((_SMALL, _SMALL), Image.Resampling.BICUBIC))


def compressed(picture: Picture, _ground: str) -> Picture:
    file = io.BytesIO()
    picture.opened().convert("RGB").save(file, "JPEG", quality=_QUALITY)
    return Picture(file.getvalue())


def photographed(picture: Picture, ground: str) -> Picture:
    """On a wall of the ground's colour: turned, seen from a little below, out of focus, grainy."""
    code = picture.opened().convert("RGB")
    side = code.width
    wall = Image.new("RGB", (3 * side // 2, 3 * side // 2), ground)
    wall.paste(code, (side // 4, side // 4))
    wall = wall.rotate(_TURN, Image.Resampling.BICUBIC, fillcolor=ground)
    wall = _tilted(wall, ground).filter(ImageFilter.GaussianBlur(_BLUR * side))
    grain = Image.frombytes("L", wall.size, random.Random(side).randbytes(wall.width * wall.height))
    return written(Image.blend(wall, grain.convert("RGB"), _NOISE))


WAYS: Mapping[str, Callable[[Picture, str], Picture]] = {
    "as it is": as_is,
    f"scaled to {_SMALL} pixels": scaled,
    f"JPEG of quality {_QUALITY}": compressed,
    "photographed": photographed,
}
"""What a picture goes through, given the colour of its ground."""


def read_by_zbar(pictures: Sequence[Picture], directory: Path) -> list[set[str]]:
    """Of each picture the texts in it."""
    for number, picture in enumerate(pictures):
        (directory / f"{number}").write_bytes(picture.file)
    names = [str(number) for number in range(len(pictures))]
    command = ["zbarimg", "--xml", "--quiet", "--nodbus", *names]
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, timeout=600, check=False)
    found: dict[str | None, set[str]] = {name: set() for name in names}
    for source in ET.fromstring(done.stdout).iter(_SOURCE):
        found[source.get("href")] = {text for text in map(str.strip, source.itertext()) if text}
    return [found[name] for name in names]


def read_by_zxing(pictures: Sequence[Picture]) -> list[set[str]]:
    """Of each picture the texts in it."""
    return [{each.text for each in zxingcpp.read_barcodes(picture.opened().convert("RGB"))} for picture in pictures]


def _tilted(picture: Image.Image, ground: str) -> Image.Image:
    """Every line of the source a little wider than the one below it: the upper edge recedes."""
    side, far = picture.width, _TILT * picture.width / 2
    quad = (-far, 0, 0, side, side, side, side + far, 0)
    return picture.transform(picture.size, Image.Transform.QUAD, quad, Image.Resampling.BICUBIC, fillcolor=ground)
