"""Responses with many codes in one file."""

from collections.abc import AsyncIterator, Sequence
from uuid import UUID

from starlette.responses import Response

from waypost.kit.errors import Problems
from waypost.resources.qrcodes.archive import ARCHIVE, ZIP, write_archive
from waypost.resources.qrcodes.deps import Deps
from waypost.resources.qrcodes.file_schemas import MAX_CODES, NewArchive, NewSheet
from waypost.resources.qrcodes.labels import PDF, SHEET, LabelGrid, SheetSettings
from waypost.web.streaming import StreamedResponse

TOO_MANY_LABELS = f"One file has at most {MAX_CODES:,} labels. Reduce the copies or the links."
_STALL_TIMEOUT = 60.0
"""Seconds after which a response that is not read is aborted."""


async def archive_response(deps: Deps, account: UUID, ids: Sequence[UUID], new: NewArchive) -> Response:
    """Raises InProgress if the account gets another file."""
    unique = list(dict.fromkeys(ids))
    chunks = write_archive(deps, account, unique, new.format or "png", new.name or "{slug}")
    return await _respond(deps, account, chunks, ZIP, ARCHIVE)


async def sheet_response(
    deps: Deps, account: UUID, ids: Sequence[UUID], new: NewSheet, grid: LabelGrid, problems: Problems
) -> Response:
    """Raises Invalid, and InProgress if the account gets another file."""
    from waypost.resources.qrcodes.sheet import write_sheet  # noqa: PLC0415  # 3 MB, only for drawings

    copies = new.copies or 1
    if copies * len(ids) > MAX_CODES:
        problems.add("copies", TOO_MANY_LABELS)
    problems.raise_if_any()
    settings = SheetSettings(grid, new.caption or "slug", new.start or 1, copies)
    return await _respond(deps, account, write_sheet(deps, account, ids, settings), PDF, SHEET)


async def _respond(deps: Deps, account: UUID, chunks: AsyncIterator[bytes], media_type: str, name: str) -> Response:
    end = await deps.turns.take(account)
    headers = {"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "private, no-store"}
    return StreamedResponse(chunks, media_type, end, headers=headers, read_timeout=_STALL_TIMEOUT)
