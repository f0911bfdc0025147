"""What an archive contains: each file is read in batches, in short transactions.

No snapshot stays open while a client reads slowly. Links and clicks of after the start are left out; what is changed or
deleted meanwhile may be either way. Keys, secrets and tokens are not in it, nor how its members sign in and where from.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from waypost.accounts import Account, list_keys
from waypost.accounts.data.archive.zip_stream import Part, write_zip
from waypost.accounts.keys import schemas
from waypost.accounts.members import store as memberships
from waypost.context import Context
from waypost.kit.clock import EPOCH, timestamp
from waypost.kit.csv_cells import csv_text
from waypost.resources.audit import account_data as audit_of_account
from waypost.resources.clicks.click_store import ExportQuery
from waypost.resources.clicks.days import find_kept_since
from waypost.resources.clicks.export import json_lines, read_batches
from waypost.resources.clicks.model import Subject
from waypost.resources.clicks.statistics_export import CSV_COLUMNS, csv_lines, read_old_statistics, read_totals
from waypost.resources.domains import account_data as domains_of_account
from waypost.resources.domains.app_links import account_data as app_links
from waypost.resources.imports import account_data as imports_of_account
from waypost.resources.imports.archive.format import FORMAT, FORMAT_VERSION
from waypost.resources.links import account_data as links_of_account
from waypost.resources.links.schemas import LinkJson
from waypost.resources.pixels import account_data as pixels_of_account
from waypost.resources.qrcodes import account_data as qrcodes_of_account
from waypost.resources.webhooks import account_data as webhooks_of_account
from waypost.version import VERSION

README = """An export of a Waypost account. Files that end with .ndjson have one JSON object per line.

account.json           the account, its API keys (without the keys themselves) and its members
domains.ndjson         custom domains
app_links.ndjson       documents of domains that say which apps open their links
pixels.ndjson          pixels (without their ids and tokens)
webhooks.ndjson        webhooks (without their secrets)
links.ndjson           links, newest first, as the API shows them, and their routing (without passwords)
links.csv              links for spreadsheets, without routing
aliases.ndjson         further addresses of links
deleted_links.ndjson   what is left of deleted links
qr_styles.ndjson       styles of QR codes that differ from the default
imports.ndjson         imports of links that were requested in the dashboard (without tokens and files)
audit_log.ndjson       the audit log, newest first
images.tar             uploaded preview images
clicks.ndjson          every visit, oldest first, as the API shows them, and its `target`; bots and previews included
statistics.csv         totals of each day, of the account and of each link, for spreadsheets
old_statistics.ndjson  statistics of the days whose clicks were deleted by the retention period
manifest.json          version of the format; rows, bytes and SHA-256 of each file

`waypost import waypost` reads this file. All fields are described in the documentation, under "Export format".
"""

_LINK_COLUMNS = tuple(LinkJson.__annotations__)
_TAR_BLOCK = 512

encode_json = json.JSONEncoder(ensure_ascii=False).encode
T = TypeVar("T")
ExportedRow = Mapping[str, Any]


async def write_archive(context: Context, account: Account) -> AsyncGenerator[bytes, None]:
    """Yield the ZIP file."""
    now = context.clock()
    async with context.db.read() as tx:
        kept_since = await find_kept_since(tx)
    manifest = {
        "format": FORMAT,
        "version": FORMAT_VERSION,
        "created_at": timestamp(now),
        "created_by": f"Waypost {VERSION}",
        "account": {"id": str(account.id), "email": account.email},
        "base_url": context.base_url,
        "shared_domain": context.shared_domain,
        "clicks_since": f"{EPOCH + timedelta(days=kept_since):%Y-%m-%d}" if kept_since else None,
    }
    async for chunk in write_zip(_files(context, account, now), manifest):
        yield chunk


def _files(context: Context, account: Account, now: datetime) -> Mapping[str, AsyncIterator[Part]]:
    db, id_ = context.db, account.id
    links = partial(
        links_of_account.export_account_data,
        db,
        id_,
        shared_domain=context.shared_domain,
        base_url=context.base_url,
        now=now,
    )
    query = ExportQuery(Subject(id_), kind=None, end=now)
    clicks = read_batches(context.click_store, db, query, context.shared_domain)
    return {
        "README.txt": _text(README),
        "account.json": _account(context, account, now),
        "domains.ndjson": _ndjson(domains_of_account.export_account_data(db, id_, context.cname_target)),
        "app_links.ndjson": _ndjson(app_links.export_account_data(db, id_)),
        "pixels.ndjson": _ndjson(pixels_of_account.export_account_data(db, id_)),
        "webhooks.ndjson": _ndjson(webhooks_of_account.export_account_data(db, id_)),
        "links.ndjson": _ndjson(links()),
        "links.csv": _csv(_LINK_COLUMNS, links(), _link_lines),
        "aliases.ndjson": _ndjson(links_of_account.export_aliases(db, id_)),
        "deleted_links.ndjson": _ndjson(links_of_account.export_deleted_links(db, id_)),
        "qr_styles.ndjson": _ndjson(qrcodes_of_account.export_account_data(db, id_)),
        "imports.ndjson": _ndjson(imports_of_account.export_account_data(db, id_)),
        "audit_log.ndjson": _ndjson(audit_of_account.export_account_data(db, id_)),
        "images.tar": _images(context, account),
        "clicks.ndjson": _parts(clicks, json_lines),
        "statistics.csv": _csv(CSV_COLUMNS, read_totals(context.click_store, db, query), csv_lines),
        "old_statistics.ndjson": _ndjson(read_old_statistics(context.click_store, db, query)),
    }


async def _text(text: str) -> AsyncIterator[Part]:
    yield Part(text.encode())


def _ndjson(batches: AsyncIterator[Sequence[ExportedRow]]) -> AsyncIterator[Part]:
    return _parts(batches, lambda batch: "".join(f"{encode_json(row)}\n" for row in batch))


async def _csv(
    columns: Sequence[str], batches: AsyncIterator[Sequence[T]], encode: Callable[[Sequence[T]], str]
) -> AsyncIterator[Part]:
    yield Part(csv_text([columns]).encode())
    async for part in _parts(batches, encode):
        yield part


def _link_lines(batch: Sequence[ExportedRow]) -> str:
    return csv_text(map(_link_cells, batch))


def _link_cells(row: ExportedRow) -> Iterable[Any]:
    """Lists are separated by commas, UTM parameters written as a query."""
    for column in _LINK_COLUMNS:
        value = row[column]
        if isinstance(value, list):
            yield ",".join(value)
        else:
            yield "&".join(f"{key}={text}" for key, text in value.items()) if isinstance(value, dict) else value


async def _parts(batches: AsyncIterator[Sequence[T]], encode: Callable[[Sequence[T]], str]) -> AsyncIterator[Part]:
    """Encode in a thread. JSON has an escape for half of a surrogate pair, which a visitor may send."""
    async for batch in batches:
        text = await asyncio.to_thread(encode, batch)
        yield Part(text.encode(errors="backslashreplace"), len(batch))


async def _images(context: Context, account: Account) -> AsyncIterator[Part]:
    """Yield the images as a tar file: entries of a ZIP file stay in memory until its end."""
    from tarfile import TarInfo  # noqa: PLC0415  # for exports only

    async for name in links_of_account.find_images(context.db, account.id):
        found = await context.image_store.find(name)
        content = await asyncio.to_thread(found.read_bytes) if isinstance(found, Path) else found
        if content is not None:
            header = TarInfo(name)
            header.size = len(content)
            yield Part(header.tobuf() + content + bytes(-len(content) % _TAR_BLOCK), 1)
    yield Part(bytes(2 * _TAR_BLOCK))


async def _account(context: Context, account: Account, now: datetime) -> AsyncIterator[Part]:
    db = context.db
    async with db.read() as tx:
        members = await memberships.list_of_account(tx, account.id)
    shown = {
        "id": str(account.id),
        "email": account.email,
        "name": account.name,
        "plan": schemas.plan_to_json(account.plan, now),
        "created_at": timestamp(account.created_at),
        "api_keys": [schemas.key_to_json(key) for key in await list_keys(db, account.id)],
        "members": [
            {"name": member.person.name, "email": member.person.email, "role": member.role} for member in members
        ],
    }
    yield Part((json.dumps(shown, ensure_ascii=False, indent=2) + "\n").encode())
