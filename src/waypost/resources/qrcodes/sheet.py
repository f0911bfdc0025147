"""Many codes as labels on sheets of A4: a PDF file that is written while it is sent, page by page."""

from collections.abc import AsyncIterator, Sequence
from functools import partial
from uuid import UUID

from waypost.resources.qrcodes.deps import Deps
from waypost.resources.qrcodes.drawing.label import add_label
from waypost.resources.qrcodes.drawing.pdf_file import PdfFile
from waypost.resources.qrcodes.labels import A4, SheetSettings
from waypost.resources.qrcodes.layout import Box
from waypost.resources.qrcodes.selection import read_codes


async def write_sheet(deps: Deps, account: UUID, ids: Sequence[UUID], sheet: SheetSettings) -> AsyncIterator[bytes]:
    """Yield the PDF file."""
    file, number = PdfFile(), sheet.start - 1
    labels: list[tuple[int, Box]] = []
    async for code in read_codes(deps, account, ids):
        draw = partial(add_label, file, sheet, deps.encoded_url(code.target), code)
        form = await deps.image_cache.draw_of_many(account, draw)
        for _ in range(sheet.copies):
            labels.append((form, sheet.grid.label(number)))
            number += 1
            if number == sheet.grid.labels:
                _add_page(file, labels)
                number = 0
                yield file.take()
    if labels or not file.has_pages:
        _add_page(file, labels)
    file.end()
    yield file.take()


def _add_page(file: PdfFile, labels: list[tuple[int, Box]]) -> None:
    shown = [f"q 1 0 0 1 {box.left:.3f} {A4[1] - box.top - box.height:.3f} cm/L{form} Do Q" for form, box in labels]
    forms = "".join(f"/L{form} {form} 0 R" for form in dict.fromkeys(form for form, _ in labels))
    file.add_page(A4, "\n".join(shown), f"/XObject<<{forms}>>")
    labels.clear()
