"""Finds the slug that an alias leads to, for redirects."""

import sqlite3
from uuid import UUID

from sqlalchemy import bindparam, select
from sqlalchemy.dialects import sqlite

from waypost.database import Database, Id
from waypost.kit.errors import Unavailable
from waypost.redirect import AliasRoute, new_alias
from waypost.resources.links import aliases
from waypost.resources.links.model import NOT_DELETED, links

_TARGET = aliases.select_target(bindparam("hostname"), bindparam("digest", type_=Id)).scalar_subquery()
_FIND = select(links.c.id, links.c.slug).where(links.c.id == _TARGET, NOT_DELETED)
_FIND_ON_SQLITE = str(_FIND.compile(dialect=sqlite.dialect(paramstyle="named")))


class SqliteAliasSource:
    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def find_sync(self, key: bytes) -> AliasRoute | None:
        host, digest = _parse(key)
        parameters = {"hostname": host.decode(), "digest": digest.bytes}
        try:
            row = self._connection.execute(_FIND_ON_SQLITE, parameters).fetchone()
        except sqlite3.Error as error:
            raise Unavailable from error
        return None if row is None else new_alias(host, row[1], UUID(bytes=row[0]))

    async def find(self, key: bytes) -> AliasRoute | None:
        return self.find_sync(key)


class PostgresAliasSource:
    find_sync = None  # needs the network

    def __init__(self, db: Database) -> None:
        self._db = db

    async def find(self, key: bytes) -> AliasRoute | None:
        host, digest = _parse(key)
        async with self._db.read() as tx:
            row = (await tx.execute(_FIND, {"hostname": host.decode(), "digest": digest})).one_or_none()
        return None if row is None else new_alias(host, row.slug, row.id)


def _parse(key: bytes) -> tuple[bytes, UUID]:
    host, _, digest = key.partition(b"/")
    return host, UUID(hex=digest.decode())
