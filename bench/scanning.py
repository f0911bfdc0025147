"""`python -m bench.scanning [--write]`: scan QR codes of every style, with every distortion, with two readers.

Prints the table of docs/guides/qr-codes.md, or writes it there. Fails if a reader misses a dark code on a light
background and reads all of the control codes: segno's plain drawings, in the same sizes and colors.
"""

import argparse
import itertools
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import get_args

import segno
from PIL import Image

from bench.qr_readers import DISTORTIONS, ImageFile, rasterised, read_by_zbar, read_by_zxing, written
from waypost.resources.qrcodes.drawing import png, svg
from waypost.resources.qrcodes.style import CodeStyle, ErrorCorrection, ModuleStyle

TEXT = "https://go.example/spring?r=qr"
DARK = (("#000000", "#ffffff"), ("#1d3557", "#f1faee"), ("#7a1f5c", "#ffe9b8"), ("#1b4332", "#f4a261"))
INVERTED = (("#f1faee", "#1d3557"),)
SIZES = (128, 512, 1024)
CONTROL = "segno"

_DOCUMENT = Path(__file__).parent.parent / "docs" / "guides" / "qr-codes.md"
_BEGIN, _END = "<!-- written by `python -m bench.scanning --write` -->\n", "<!-- end -->"

Found = tuple[bool, bool]
"""(read by zbar, read by ZXing-C++)"""


@dataclass(frozen=True)
class Code:
    drawn: str
    """A style, or CONTROL."""
    format: str
    code_style: CodeStyle

    @property
    def is_dark(self) -> bool:
        return (self.code_style.foreground, self.code_style.background) in DARK


def codes() -> Iterator[Code]:
    for level, (dark, light), size in itertools.product(get_args(ErrorCorrection), DARK + INVERTED, SIZES):
        for style, format_ in itertools.product(get_args(ModuleStyle), ("png", "svg")):
            yield Code(style, format_, CodeStyle(dark, light, level, style, size))
        yield Code(CONTROL, "png", CodeStyle(dark, light, level, "squares", size))


def drawn(code: Code) -> ImageFile:
    if code.drawn == CONTROL:
        return _control(code.code_style)
    return ImageFile(png(TEXT, code.code_style) if code.format == "png" else rasterised(svg(TEXT, code.code_style)))


def _control(code_style: CodeStyle) -> ImageFile:
    made, file = segno.make(TEXT, error=code_style.level, micro=False, boost_error=False), BytesIO()
    made.save(file, "png", scale=50, border=code_style.margin, dark=code_style.foreground, light=code_style.background)
    return written(Image.open(file).convert("RGB").resize((code_style.size, code_style.size), Image.Resampling.BOX))


def read(found: Sequence[Code]) -> dict[str, dict[Code, Found]]:
    """By distortion."""
    images = [drawn(code) for code in found]
    return {
        name: dict(zip(found, _read([through(*each) for each in _with_backgrounds(images, found)]), strict=True))
        for name, through in DISTORTIONS.items()
    }


def _with_backgrounds(images: Sequence[ImageFile], found: Sequence[Code]) -> Iterator[tuple[ImageFile, str]]:
    return ((image, code.code_style.background) for image, code in zip(images, found, strict=True))


def _read(images: Sequence[ImageFile]) -> list[Found]:
    with tempfile.TemporaryDirectory() as directory:
        both = zip(read_by_zbar(images, Path(directory)), read_by_zxing(images), strict=True)
        return [(one == {TEXT}, other == {TEXT}) for one, other in both]


def table(results: dict[str, dict[Code, Found]]) -> str:
    lines = [
        "| Distortion | Style | zbar | ZXing-C++ | Light on dark: zbar | Light on dark: ZXing-C++ |",
        "|---|---|---|---|---|---|",
    ]
    for distortion, kind in itertools.product(DISTORTIONS, (*get_args(ModuleStyle), CONTROL)):
        rates = [
            _rate(_of(results[distortion], kind, reader, is_dark=is_dark))
            for is_dark in (True, False)
            for reader in (0, 1)
        ]
        lines.append(f"| {distortion} | {kind} | {' | '.join(rates)} |")
    return "\n".join(lines)


def missed_codes(results: dict[str, dict[Code, Found]]) -> list[str]:
    return [
        f"{distortion}: {kind}, {('zbar', 'ZXing-C++')[reader]}"
        for distortion, kind, reader in itertools.product(DISTORTIONS, get_args(ModuleStyle), (0, 1))
        if all(_of(results[distortion], CONTROL, reader, is_dark=True))
        and not all(_of(results[distortion], kind, reader, is_dark=True))
    ]


def _of(results: dict[Code, Found], kind: str, reader: int, *, is_dark: bool) -> list[bool]:
    return [found[reader] for code, found in results.items() if code.drawn == kind and code.is_dark == is_dark]


def _rate(found: Sequence[bool]) -> str:
    return f"{sum(found)} of {len(found)}"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.scanning", description="Test whether QR codes scan.")
    parser.add_argument("--write", action="store_true", help="write the table into docs/guides/qr-codes.md")
    is_written, results = parser.parse_args().write, read(list(codes()))
    print(table(results))
    if is_written:
        before, _, rest = _DOCUMENT.read_text().partition(_BEGIN)
        _DOCUMENT.write_text(f"{before}{_BEGIN}\n{table(results)}\n\n{_END}{rest.partition(_END)[2]}")
    missed = missed_codes(results)
    print("\n".join(missed), file=sys.stderr)
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
