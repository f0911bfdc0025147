"""Endpoints that answer with many codes in one file."""

from starlette.responses import Response

from waypost.accounts import Caller
from waypost.kit.errors import Problems
from waypost.resources.qrcodes.archive import ZIP
from waypost.resources.qrcodes.deps import Deps
from waypost.resources.qrcodes.file_response import archive_response, sheet_response
from waypost.resources.qrcodes.file_schemas import NewArchive, NewSheet
from waypost.resources.qrcodes.labels import PDF
from waypost.resources.qrcodes.selection import find_ids
from waypost.web import Endpoint, read_json


async def archive(deps: Deps, caller: Caller, new: NewArchive, problems: Problems) -> Response:
    """Up to 1,000 images, and `codes.csv` with file, link and title of each: of the links with these IDs, of all that
    have a tag, or of all on a domain. Links that are deleted meanwhile are left out. An account gets one archive or
    sheet at a time: a second request waits, and gets a 409 after 20 seconds.
    """
    ids = await find_ids(deps, caller.account.id, new, problems)
    return await archive_response(deps, caller.account.id, ids, new)


async def sheet(deps: Deps, caller: Caller, new: NewSheet, problems: Problems) -> Response:
    """A PDF of A4 pages, for sheets of Avery or a grid of your own: up to 1,000 labels, each with the code and the slug
    or title of a link beneath it, or beside it on labels that are more than twice as wide as high. An ID that is sent
    twice gets two labels. Print it in its actual size.
    """
    grid = new.find_grid(problems)
    ids = await find_ids(deps, caller.account.id, new, problems)
    return await sheet_response(deps, caller.account.id, ids, new, grid, problems)


ENDPOINTS = [
    Endpoint(
        "POST",
        "/qrcodes/archive",
        archive,
        "Get the images of many QR codes as a ZIP file",
        "links:read",
        body=NewArchive,
        read=read_json,
        file=ZIP,
    ),
    Endpoint(
        "POST",
        "/qrcodes/sheet",
        sheet,
        "Get labels with many QR codes as a PDF file",
        "links:read",
        body=NewSheet,
        read=read_json,
        file=PDF,
    ),
]
