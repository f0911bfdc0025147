"""Finds near addresses for redirects: the link that has an address in other case, and the addresses of all links."""

import asyncio
from array import array
from collections.abc import AsyncIterator, Iterable
from functools import partial
from uuid import UUID

import structlog
from sqlalchemy import ColumnElement, Select, Text, bindparam, func, literal_column, select, union

from waypost.database import Database, Id, read_in_batches
from waypost.redirect import NearRoute, NearTable, fold, new_near, path_digest
from waypost.redirect.address_filter import MAX_ADDRESSES, AddressFilter
from waypost.resources import domains
from waypost.resources.links import aliases
from waypost.resources.links.model import NOT_DELETED, links
from waypost.worker.loop import every

log = structlog.get_logger(__name__)

_BATCH = 1_000  # addresses that are read, or added at once: visits wait for the latter
_TWO: ColumnElement[int] = literal_column("2")  # links are ambiguous already
_HOST, _FOLDED = bindparam("hostname", type_=Text()), bindparam("folded", type_=Text())
_DIGEST = bindparam("digest", type_=Id)


def _select_named(on_host: ColumnElement[bool]) -> Select[tuple[UUID, str]]:
    """Select links by a slug that a person chose. One that an older version has renamed does not count."""
    is_near = links.c.folded_slug == _FOLDED, func.lower(links.c.slug) == _FOLDED
    return select(links.c.id, links.c.slug).where(*is_near, on_host, NOT_DELETED).limit(_TWO)


_ON_SHARED = _select_named(links.c.domain_id.is_(None))
_BY_SLUG = _select_named(links.c.domain_id == domains.served_id_subquery(_HOST)).subquery()
_BY_ALIAS = (
    select(links.c.id, links.c.slug)
    .where(links.c.id.in_(aliases.select_near(_HOST, _DIGEST)), NOT_DELETED)
    .limit(_TWO)
    .subquery()
)
_ON_CUSTOM = union(select(_BY_SLUG), select(_BY_ALIAS))
"""Without repetition: a link may have both a slug and an alias that are near."""

_SLUGS = select(links.c.folded_slug).where(links.c.folded_slug.is_not(None), NOT_DELETED)


class NearSource:
    """`find_sync` is not needed: most addresses that are not near one are answered without a query."""

    find_sync = None

    def __init__(self, db: Database, shared_host: str) -> None:
        self._db = db
        self._shared_host = shared_host.encode()

    async def find(self, key: bytes) -> NearRoute | None:
        """Return None unless exactly one link is near. Raises Unavailable."""
        host, _, folded = key.partition(b"/")
        parameters = {"folded": folded.decode(), "hostname": host.decode(), "digest": UUID(bytes=path_digest(folded))}
        async with self._db.point_read() as tx:
            if host == self._shared_host:
                rows = (await tx.execute(_ON_SHARED, {"folded": parameters["folded"]})).all()
            else:
                rows = (await tx.execute(_ON_CUSTOM, parameters)).all()
        if len(rows) != 1:
            return None
        [row] = rows
        return new_near(host, folded, row.slug, row.id)

    async def load_filter(self, table: NearTable) -> None:
        """Load the addresses of all links, if the table needs them. Raises Unavailable."""
        if not table.needs_filter:
            return
        table.start_loading()
        hashes = array("q")
        async for addresses in self._read_addresses():
            hashes.extend(hash(address) for address in addresses)
            if len(hashes) > MAX_ADDRESSES:
                log.warning("near addresses are looked up in the database", addresses=len(hashes))
                await asyncio.Event().wait()
        loaded = AddressFilter(len(hashes))
        for start in range(0, len(hashes), _BATCH):
            loaded.add_hashes(hashes[start : start + _BATCH])
            await asyncio.sleep(0)
        table.finish_loading(loaded)

    async def follow(self, table: NearTable) -> None:
        await every(1, partial(self.load_filter, table), name="load near addresses")

    async def _read_addresses(self) -> AsyncIterator[Iterable[bytes]]:
        """Yield the case-folded addresses of all hosts, in batches."""
        async for rows in read_in_batches(self._db.read, _SLUGS, links.c.folded_slug, _BATCH):
            yield [row.folded_slug.encode() for row in rows]
        async for paths in aliases.read_paths(self._db):
            yield [fold(path.encode()) for path in paths]
