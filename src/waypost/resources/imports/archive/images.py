"""Imports the images of an archive, one at a time. They are encoded again, like every upload."""

import asyncio
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import aclosing
from dataclasses import replace
from itertools import islice
from tarfile import BLOCKSIZE, HeaderError, TarInfo
from typing import IO, NamedTuple
from uuid import UUID

from waypost import accounts
from waypost.database import Tx
from waypost.kit.errors import NotFound
from waypost.kit.ids import parse_id
from waypost.resources.imports.archive.reader import Archive
from waypost.resources.imports.archive.target import TargetAccount
from waypost.resources.imports.page_plan import PagePlan, PageReport
from waypost.resources.links import Link
from waypost.resources.links import store as link_store
from waypost.resources.links.images.encoder import ImageReencoder
from waypost.resources.links.images.media import MAX_BYTES, NAME, BadImage, UploadedImage
from waypost.resources.links.rules import MAX_IMAGES_MB

_LINKS_AT_ONCE = 500
_CHUNK = 1 << 20


class ArchivedImage(NamedTuple):
    link_id: UUID | None
    """None: an image of no link here, or none at all."""
    content: bytes = b""
    problem: str | None = None


async def read_images(account: TargetAccount, archive: Archive, start: int) -> AsyncGenerator[ArchivedImage, None]:
    """Yield the images from number `start` on, with the link that it belongs to here. Raises BadArchive."""
    own: dict[str, UUID] = {}
    async for rows in archive.read("links.ndjson", _LINKS_AT_ONCE):
        named = {str(row.get("uploaded_image")): parse_id(str(row.get("id"))) for row in rows}
        named = {name: id_ for name, id_ in named.items() if NAME.fullmatch(name)}
        async with account.deps.db.read() as tx:
            ids = await account.find_own_ids(tx, filter(None, named.values()))
        own |= {name: ids[id_] for name, id_ in named.items() if id_ in ids}
    if own:
        async with aclosing(_read_entries(archive, own, start)) as images:
            async for image in images:
                yield image


def plan(account: TargetAccount, image: ArchivedImage, reencoder: ImageReencoder, page: PagePlan) -> None:
    saved: UploadedImage | None = None

    async def encode() -> None:
        nonlocal saved
        saved = await _encode(account, image, reencoder, page.done)

    async def use(tx: Tx) -> None:
        if saved and image.link_id and not await _use(account, tx, image.link_id, saved, page.done):
            await account.deps.image_store.delete(saved.name)

    page.prepare, page.apply = encode, use


async def _encode(
    account: TargetAccount, image: ArchivedImage, reencoder: ImageReencoder, done: PageReport
) -> UploadedImage | None:
    """Encode and store the image, if its link has none yet."""
    async with account.deps.db.read() as tx:
        here = await link_store.find_own(tx, account.account_id, [image.link_id] if image.link_id else [])
    if image.problem:
        done.warn(image.problem)
    if not any(map(_has_no_image, here.values())):  # it was set by an earlier run, or changed here
        return None
    try:
        return await account.deps.image_store.save(await reencoder.reencode(image.content, account=account.account_id))
    except BadImage as error:
        done.warn(f"An image is left out. {error}", str(image.link_id))
        return None


async def _use(account: TargetAccount, tx: Tx, link_id: UUID, image: UploadedImage, done: PageReport) -> bool:
    """Return False if the stored image is not used."""
    try:
        before = await link_store.lock(tx, account.account_id, link_id)
    except NotFound:  # deleted meanwhile
        return False
    if not _has_no_image(before):
        return False
    if not await accounts.adjust_image_bytes(tx, account.account_id, image.size, limit=MAX_IMAGES_MB << 20):
        done.warn(f"Images are left out: an account has at most {MAX_IMAGES_MB} MB", str(link_id))
        return False
    await link_store.save(tx, [(before, replace(before, og_image_file_name=image.name, og_image_bytes=image.size))])
    await account.deps.routes.changed(tx, [before.slug])
    return True


async def _read_entries(archive: Archive, links: Mapping[str, UUID], start: int) -> AsyncGenerator[ArchivedImage, None]:
    """`links`: by the name of their image."""
    try:
        with archive.open_file("images.tar") as file:
            entries = islice(_entries(file, links), start, None)
            while image := await asyncio.to_thread(next, entries, None):
                yield image
    except HeaderError:
        yield ArchivedImage(None, problem="images.tar cannot be read: images are left out")


def _entries(file: IO[bytes], links: Mapping[str, UUID]) -> Iterator[ArchivedImage]:
    """Read headers one by one, as exports have them. `tarfile` would expand long names, of any length, beforehand."""
    while (block := file.read(BLOCKSIZE)).strip(b"\0"):
        entry = TarInfo.frombuf(block, "utf-8", "replace")
        if entry.size < 0:
            raise HeaderError
        link_id = links.get(entry.name) if entry.isreg() else None
        padded, content = -(-entry.size // BLOCKSIZE) * BLOCKSIZE, b""
        if link_id and entry.size <= MAX_BYTES:
            content, padded = file.read(padded)[: entry.size], 0
        while padded > 0 and (skipped := file.read(min(padded, _CHUNK))):
            padded -= len(skipped)
        yield ArchivedImage(link_id, content) if content else ArchivedImage(None)


def _has_no_image(link: Link) -> bool:
    return not link.og_image and not link.og_image_file_name
