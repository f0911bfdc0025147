"""`waypost secrets rotate`: what is encrypted comes under the first key of the ring, while the service runs.

Refuses to write what it could not read: such a value stays as it is, and is named. Refuses to make a key: under one
that the service does not have, all would seem to be done.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from sqlalchemy import Column, MetaData, func, select, update

import waypost.app  # noqa: F401  # then every room's tables are in the metadata
from waypost.commands.progress import Told, progress
from waypost.database import Database, KeyRing, Sealed, metadata
from waypost.database.secrets import Encrypted, Undecipherable
from waypost.kit.errors import WaypostError
from waypost.secret_key import FILE, with_secret_key
from waypost.settings import Settings

_AT_ONCE = 50  # rows of one transaction, for which writers on SQLite wait
_ADVICE = "Run this with the settings of the service, in which the new key stands before the old one."

_Move = tuple[UUID, Sealed, Sealed]
"""A row, and its value before and after."""


class NotRotated(WaypostError):
    """The secrets could not be rotated."""


@dataclass(frozen=True, slots=True)
class Ring:
    keys: KeyRing
    name: str
    """How many keys, and of which setting or file."""


@dataclass(slots=True)
class Rotated:
    seen: int = 0
    moved: int = 0
    unreadable: list[tuple[Column[Any], UUID]] = field(default_factory=list)
    """Those that no key of the ring opens in this place."""


def key_ring(settings: Settings) -> Ring:
    """Raises NotRotated where the keys are not to be found, or there is only one."""
    text, source = _setting(settings)
    count = len({part.strip() for part in text.split(",")})
    if count == 1:
        raise NotRotated(f"There is no key to rotate away from: {source} has only one. {_ADVICE}")
    return Ring(KeyRing.from_setting(text), f"{count} keys of {source}")


async def rotated(db: Database, keys: KeyRing) -> Rotated:
    with progress("Encrypting anew") as bar:
        return await rotate(db, keys, encrypted_columns(metadata), bar=bar)


def encrypted_columns(of: MetaData) -> list[Column[Any]]:
    return [column for table in of.sorted_tables for column in table.c if isinstance(column.type, Encrypted)]


async def rotate(db: Database, keys: KeyRing, columns: Sequence[Column[Any]], *, bar: Told | None = None) -> Rotated:
    done = Rotated()
    total = await _count(db, columns) if bar else 0
    for column in columns:
        after = None
        while rows := await _rows(db, column, after):
            if await _rotate(db, keys, column, rows, done):
                after = rows[-1].id
            if bar:
                bar(done.seen, total)
    return done


def told(done: Rotated, ring: str) -> Iterator[str]:
    for column, row in done.unreadable:
        yield f"{column.table.name} {row}: none of the {ring} opens its {column.name}."
    counts = f"{done.moved} encrypted anew, {len(done.unreadable)} left as they are"
    yield f"{done.seen} secrets looked at with the {ring}; {counts}."


def _setting(settings: Settings) -> tuple[str, str]:
    """The keys, and where they stand."""
    if text := _keys(settings):
        return text, "WAYPOST_SECRET_KEY"
    file = (settings.data_dir / FILE).absolute()
    try:
        file.open().close()
    except OSError as error:
        reason = f"WAYPOST_SECRET_KEY is not set here, and {file} cannot be read: {error.strerror}"
        raise NotRotated(f"{reason}. {_ADVICE}") from error
    return _keys(with_secret_key(settings)), str(file)


def _keys(settings: Settings) -> str:
    return settings.secret_key.get_secret_value() if settings.secret_key else ""


async def _count(db: Database, columns: Sequence[Column[Any]]) -> int:
    async with db.read() as tx:
        return sum([await tx.scalar(select(func.count(column))) or 0 for column in columns])


async def _rows(db: Database, column: Column[Any], after: UUID | None) -> Sequence[Any]:
    [key] = column.table.primary_key
    found = select(key.label("id"), column.label("sealed")).where(column.is_not(None)).order_by(key).limit(_AT_ONCE)
    async with db.read() as tx:
        return (await tx.execute(found if after is None else found.where(key > after))).all()


async def _rotate(db: Database, keys: KeyRing, column: Column[Any], rows: Sequence[Any], done: Rotated) -> bool:
    """False when some of them were changed meanwhile, so that they must be looked at again."""
    moves: list[_Move] = []
    unreadable: list[tuple[Column[Any], UUID]] = []
    for row in rows:
        try:
            text = keys.open(column, row.id, row.sealed)
        except Undecipherable:
            unreadable.append((column, row.id))
        else:
            if not keys.is_current(row.sealed):
                moves.append((row.id, row.sealed, keys.seal(column, row.id, text)))
    moved = await _move(db, column, moves)
    done.moved += moved
    if moved < len(moves):
        return False
    done.seen += len(rows)
    done.unreadable += unreadable
    return True


async def _move(db: Database, column: Column[Any], moves: Sequence[_Move]) -> int:
    """Replaces only what is still as it was read."""
    if not moves:
        return 0
    [key] = column.table.primary_key
    moved = 0
    async with db.write() as tx:
        for row, before, after in moves:
            as_read = update(column.table).where(key == row, column == before)
            moved += (await tx.execute(as_read.values({column: after}))).rowcount
    return moved
