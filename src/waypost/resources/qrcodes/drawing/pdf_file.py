"""Writes a PDF file (ISO 32000-1) from its beginning to its end: what was taken of it is not in memory any more."""

import zlib
from collections.abc import Sequence

_HEADER = b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n"
"""With bytes that no text has, so that programs do not take the file for one."""
_CATALOG, _PAGES = 1, 2
_POINTS = 72 / 25.4
"""In a millimeter."""
_LEVEL = 6


def compress(content: bytes) -> bytes:
    return zlib.compress(content, _LEVEL)


class PdfFile:
    def __init__(self) -> None:
        self._written = bytearray(_HEADER)
        self._taken = 0
        self._offsets = {_CATALOG: 0, _PAGES: 0}
        self._pages: list[int] = []
        self.images: dict[str, int] = {}
        """Numbers of images that were added, by their names."""

    @property
    def has_pages(self) -> bool:
        return bool(self._pages)

    def take(self) -> bytes:
        """Return what was written since the last time."""
        taken, self._written = bytes(self._written), bytearray()
        self._taken += len(taken)
        return taken

    def add(self, entries: str, content: bytes) -> int:
        """Add a stream, and return its number. `entries`: of its dictionary."""
        return self.add_compressed(entries, compress(content))

    def add_compressed(self, entries: str, content: bytes) -> int:
        """Add a stream that `compress` made."""
        number = len(self._offsets) + 1
        entries = f"<<{entries}/Filter/FlateDecode/Length {len(content)}>>"
        self._write(number, entries.encode() + b"stream\n" + content + b"\nendstream")
        return number

    def add_form(self, size: Sequence[float], content: str, resources: str = "") -> int:
        """Add a drawing that pages can show many times. Its origin is at the bottom left."""
        box = " ".join(f"{side:g}" for side in size)
        return self.add(f"/Type/XObject/Subtype/Form/BBox[0 0 {box}]/Resources<<{resources}>>", content.encode())

    def add_page(self, size: Sequence[float], content: str, resources: str) -> None:
        """Add a page. `size`: in millimeters, which are the unit of the content."""
        shown = self.add("", f"{_POINTS:.6f} 0 0 {_POINTS:.6f} 0 0 cm {content}".encode())
        box = " ".join(f"{side * _POINTS:.4f}" for side in size)
        number = len(self._offsets) + 1
        entries = f"/Type/Page/Parent {_PAGES} 0 R/MediaBox[0 0 {box}]/Resources<<{resources}>>/Contents {shown} 0 R"
        self._write(number, f"<<{entries}>>".encode())
        self._pages.append(number)

    def end(self) -> None:
        # no scaling: labels and codes are printed in their size
        catalog = f"<</Type/Catalog/Pages {_PAGES} 0 R/ViewerPreferences<</PrintScaling/None>>>>"
        self._write(_CATALOG, catalog.encode())
        pages = " ".join(f"{number} 0 R" for number in self._pages)
        self._write(_PAGES, f"<</Type/Pages/Count {len(self._pages)}/Kids[{pages}]>>".encode())
        start, count = self._taken + len(self._written), len(self._offsets) + 1
        offsets = "".join(f"{self._offsets[number]:010} 00000 n \n" for number in range(1, count))
        table = f"xref\n0 {count}\n0000000000 65535 f \n{offsets}"
        trailer = f"trailer\n<</Size {count}/Root {_CATALOG} 0 R>>\nstartxref\n{start}\n%%EOF\n"
        self._written += f"{table}{trailer}".encode()

    def _write(self, number: int, content: bytes) -> None:
        self._offsets[number] = self._taken + len(self._written)
        self._written += b"%d 0 obj\n%b\nendobj\n" % (number, content)
