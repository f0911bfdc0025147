"""Two independent QR code readers, and the distortions of an image before they read it.

zbar is used by many Linux and embedded scanners; ZXing-C++ succeeds Android's reader. Both have default settings: zbar
reads dark codes only, ZXing-C++ also tries the negative of an image.
"""

import io
import random
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from xml.etree import ElementTree as ET

import zxingcpp
from PIL import Image, ImageFilter

_SMALL = 96  # pixels
_QUALITY = 50
_TURN = 7  # degrees
_TILT = 0.06  # how much narrower the far edge is, as a fraction
_BLUR = 1 / 400  # of the code's side
_NOISE = 0.03
_SOURCE = "{http://zbar.sourceforge.net/2008/barcode}source"


@dataclass(frozen=True)
class ImageFile:
    file: bytes
    """PNG or JPEG."""

    def opened(self) -> Image.Image:
        return Image.open(io.BytesIO(self.file))


def rasterised(svg: bytes) -> bytes:
    """A PNG in the SVG's size."""
    return subprocess.run(["rsvg-convert"], input=svg, capture_output=True, check=True, timeout=60).stdout


def printed(pdf: bytes, *options: str) -> list[bytes]:
    """A PNG of each page, in the order of pages. `options`: of `pdftoppm`."""
    with TemporaryDirectory() as directory:
        command = ["pdftoppm", "-png", *options, "-", f"{directory}/page"]
        subprocess.run(command, input=pdf, capture_output=True, check=True, timeout=60)
        return [path.read_bytes() for path in sorted(Path(directory).iterdir())]


def written(image: Image.Image) -> ImageFile:
    file = io.BytesIO()
    image.save(file, "PNG", compress_level=1)
    return ImageFile(file.getvalue())


def as_is(image: ImageFile, _background: str) -> ImageFile:
    return image


def scaled(image: ImageFile, _background: str) -> ImageFile:
    return written(image.opened().convert("RGB").resize((_SMALL, _SMALL), Image.Resampling.BICUBIC))


def compressed(image: ImageFile, _background: str) -> ImageFile:
    file = io.BytesIO()
    image.opened().convert("RGB").save(file, "JPEG", quality=_QUALITY)
    return ImageFile(file.getvalue())


def photographed(image: ImageFile, background: str) -> ImageFile:
    """On a wall in the background color: rotated, seen from below, out of focus, with noise."""
    code = image.opened().convert("RGB")
    side = code.width
    wall = Image.new("RGB", (3 * side // 2, 3 * side // 2), background)
    wall.paste(code, (side // 4, side // 4))
    wall = wall.rotate(_TURN, Image.Resampling.BICUBIC, fillcolor=background)
    wall = _tilted(wall, background).filter(ImageFilter.GaussianBlur(_BLUR * side))
    grain = Image.frombytes("L", wall.size, random.Random(side).randbytes(wall.width * wall.height))
    return written(Image.blend(wall, grain.convert("RGB"), _NOISE))


DISTORTIONS: Mapping[str, Callable[[ImageFile, str], ImageFile]] = {
    "as it is": as_is,
    f"scaled to {_SMALL} pixels": scaled,
    f"JPEG of quality {_QUALITY}": compressed,
    "photographed": photographed,
}
"""Changes to an image, given its background color."""


def read_by_zbar(images: Sequence[ImageFile], directory: Path) -> list[set[str]]:
    """The texts in each image."""
    for number, image in enumerate(images):
        (directory / f"{number}").write_bytes(image.file)
    names = [str(number) for number in range(len(images))]
    command = ["zbarimg", "--xml", "--quiet", "--nodbus", *names]
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, timeout=600, check=False)
    found: dict[str | None, set[str]] = {name: set() for name in names}
    for source in ET.fromstring(done.stdout).iter(_SOURCE):
        found[source.get("href")] = {text for text in map(str.strip, source.itertext()) if text}
    return [found[name] for name in names]


def read_by_zxing(images: Sequence[ImageFile]) -> list[set[str]]:
    """The texts in each image."""
    return [{each.text for each in zxingcpp.read_barcodes(image.opened().convert("RGB"))} for image in images]


def _tilted(image: Image.Image, background: str) -> Image.Image:
    """Perspective: each line is a little narrower than the one below it."""
    side, far = image.width, _TILT * image.width / 2
    quad = (-far, 0, 0, side, side, side, side + far, 0)
    return image.transform(image.size, Image.Transform.QUAD, quad, Image.Resampling.BICUBIC, fillcolor=background)
