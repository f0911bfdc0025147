"""Many codes as a ZIP file, which is written while it is sent: one code is in memory at a time."""

import zipfile
from collections.abc import AsyncIterator, Sequence
from functools import partial
from uuid import UUID

from waypost.accounts.data.archive.zip_stream import Buffer
from waypost.kit.csv_cells import csv_text
from waypost.resources.qrcodes.deps import Deps
from waypost.resources.qrcodes.file_names import CSV, FileNames
from waypost.resources.qrcodes.image_cache import CodeImage, draw_image
from waypost.resources.qrcodes.model import SelectedCode
from waypost.resources.qrcodes.selection import read_codes
from waypost.resources.qrcodes.style import ImageFormat, style_text

ARCHIVE, ZIP = "qr-codes.zip", "application/zip"
"""File name and media type."""
_COLUMNS = ("file", "link_id", "short_url", "title")


async def write_archive(
    deps: Deps, account: UUID, ids: Sequence[UUID], image_format: ImageFormat, pattern: str
) -> AsyncIterator[bytes]:
    """Yield the ZIP file. Its list of files comes last, and has what became of the links meanwhile."""
    buffer, names, at = Buffer(), FileNames(pattern, image_format), deps.clock().timetuple()[:6]
    rows: list[Sequence[str]] = [_COLUMNS]
    # not closed when the client leaves: a thread may be writing into it
    zip_file = zipfile.ZipFile(buffer, "w")  # type: ignore[call-overload]  # write() will do
    async for code in read_codes(deps, account, ids):
        row = _row(deps, code, names)
        logo, content = code.logo or (None, None)
        image = CodeImage(deps.encoded_url(code.target), style_text(code.style), image_format, logo)
        add = partial(_add_image, zip_file, zipfile.ZipInfo(row[0], at), image, content)
        await deps.image_cache.draw_of_many(account, add)
        rows.append(row)
        yield buffer.take()
    zip_file.writestr(zipfile.ZipInfo(CSV, at), csv_text(rows), zipfile.ZIP_DEFLATED)
    zip_file.close()
    yield buffer.take()


def _add_image(zip_file: zipfile.ZipFile, info: zipfile.ZipInfo, image: CodeImage, logo: bytes | None) -> None:
    # images are compressed already, but for text
    compression = zipfile.ZIP_DEFLATED if image.format == "svg" else zipfile.ZIP_STORED
    zip_file.writestr(info, draw_image(image, logo), compression)


def _row(deps: Deps, code: SelectedCode, names: FileNames) -> tuple[str, str, str, str]:
    link = code.link
    hostname = link.hostname or deps.shared_domain
    file = names.add({"slug": link.slug, "title": link.title, "hostname": hostname, "id": str(link.id)})
    return file, str(link.id), link.short_url(deps.shared_domain), link.title
