"""`waypost export clicks`: to stdout, or to a file that appears only when it is complete.

It never overwrites a file. A reader that stops early, such as `head`, ends it without an error.
"""

import contextlib
import io
import os
import sys
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import BinaryIO, Literal, TextIO
from uuid import UUID

from waypost.commands.database import get_account
from waypost.commands.output import progress
from waypost.database import Database
from waypost.kit.errors import Invalid, NotFound, WaypostError
from waypost.kit.ids import parse_id
from waypost.private_files import new_file
from waypost.resources.clicks.export import ExportFormat, export
from waypost.resources.clicks.model import KINDS, ClickKind, Subject
from waypost.resources.clicks.store import ClickStore, ExportQuery
from waypost.resources.links import find_accounts

_BUFFER = 1 << 20


class ExportFailed(WaypostError):
    """The export could not be written."""


async def read_query(
    db: Database,
    *,
    account: str | None,
    link: str | None,
    start: datetime | None,
    end: datetime | None,
    kind: ClickKind | Literal["all"],
) -> ExportQuery:
    """Return the query for the options. Raises NotFound, or Invalid with the option's name."""
    if start and end and start >= end:
        raise Invalid({"--from": ["This must be earlier than --to."]})
    owner = None if account is None else (await get_account(db, account)).id
    subject = Subject(owner) if owner else None
    if link is not None:
        subject = await _link(db, link, owner)
    return ExportQuery(subject, next((known for known in KINDS if known == kind), None), start, end)


async def _link(db: Database, text: str, owner: UUID | None) -> Subject:
    """Return the link of the option, also a deleted one, whose clicks are still stored."""
    link_id = parse_id(text)
    link_owner = None
    if link_id:
        async with db.read() as tx:
            link_owner = (await find_accounts(tx, [link_id])).get(link_id)
    if not (link_id and link_owner) or owner not in {None, link_owner}:
        where = " in this account" if owner else ""
        raise NotFound(f"There is no link with the ID {text}{where}. GET /api/v1/links lists the IDs.")
    return Subject(link_owner, link_id)


async def write(
    store: ClickStore,
    db: Database,
    query: ExportQuery,
    export_format: ExportFormat,
    output: Path | None,
    *,
    shared_domain: str,
) -> int | None:
    """Return the number of clicks; None if the reader stopped before the end."""
    try:
        with _file(output) if output else _stdout() as file, progress("Exporting clicks") as on_progress:
            return await export(
                store, db, query, file, export_format, shared_domain=shared_domain, on_progress=on_progress
            )
    except BrokenPipeError:
        return None
    except OSError as error:
        raise ExportFailed(f"{output or 'stdout'} cannot be written: {error.strerror or error}") from error


@contextlib.contextmanager
def _stdout() -> Iterator[TextIO]:
    """Open a copy of stdout: Python would write to a closed pipe again at exit, and print an error."""
    with os.fdopen(os.dup(sys.stdout.fileno()), "w", _BUFFER, "utf-8", newline="") as file:
        yield file


@contextlib.contextmanager
def _file(target: Path) -> Iterator[TextIO]:
    with new_export_file(target) as file:
        text_file = io.TextIOWrapper(file, "utf-8", newline="")
        yield text_file
        text_file.flush()


@contextlib.contextmanager
def new_export_file(target: Path) -> Iterator[BinaryIO]:
    """Create a file that only its owner can read: it contains IP addresses of visitors."""
    if target.exists():
        raise ExportFailed(f"{target} already exists: choose another name. Files are never overwritten.")
    with new_file(target) as file:
        yield file
