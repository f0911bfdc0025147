"""Endpoints that answer with many codes in one file."""

from starlette.responses import Response

from waypost.accounts import Caller
from waypost.kit.errors import Problems
from waypost.resources.qrcodes.archive import ARCHIVE, ZIP, write_archive
from waypost.resources.qrcodes.deps import Deps
from waypost.resources.qrcodes.file_response import file_response
from waypost.resources.qrcodes.file_schemas import NewArchive
from waypost.resources.qrcodes.selection import find_ids
from waypost.web import Endpoint, read_json


async def archive(deps: Deps, caller: Caller, new: NewArchive, problems: Problems) -> Response:
    """Up to 1,000 images, and `codes.csv` with file, link and title of each: of the links with these IDs, of all that
    have a tag, or of all on a domain. Links that are deleted meanwhile are left out. An account gets one archive or
    sheet at a time; meanwhile, a second request gets a 409.
    """
    ids = await find_ids(deps, caller.account.id, new, problems)
    chunks = write_archive(deps, caller.account.id, list(dict.fromkeys(ids)), new.format or "png", new.name or "{slug}")
    return file_response(deps, caller.account.id, chunks, ZIP, ARCHIVE)


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
]
