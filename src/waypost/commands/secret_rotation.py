"""`waypost secrets rotate`: re-encrypts all secrets with the first key of the ring, while the service runs.

A value that no key decrypts stays unchanged and is reported. It never creates a key: the service would not have it, and
everything would seem to be rotated.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from pydantic import SecretStr
from sqlalchemy import Column, MetaData, func, select, update

from waypost.commands.output import ReportProgress, progress
from waypost.database import Ciphertext, Database, KeyRing, metadata, replace_key_fingerprint
from waypost.database.secrets import DecryptionFailed, Encrypted
from waypost.kit.errors import WaypostError
from waypost.packages import load_tables
from waypost.secret_key import FILE, fingerprints, secret_text, with_secret_key
from waypost.settings import Settings

_BATCH_SIZE = 50  # rows of one transaction, which blocks other writers on SQLite
_ADVICE = "Run this with the settings of the service, with the new key before the old one."

_Change = tuple[UUID, Ciphertext, Ciphertext]
"""Row id, value before, value after."""


class NotRotated(WaypostError):
    """The secrets could not be rotated."""


@dataclass(frozen=True, slots=True)
class RingSource:
    key_ring: KeyRing
    name: str
    """Number of keys, and the setting or file they come from."""
    fingerprint: bytes
    """Of the first key."""


@dataclass(slots=True)
class RotationResult:
    examined: int = 0
    changed: int = 0
    unreadable: list[tuple[Column[Any], UUID]] = field(default_factory=list)
    """Values that no key of the ring decrypts."""


def read_key_ring(settings: Settings, *, is_old_key_lost: bool = False) -> RingSource:
    """Raise NotRotated if the keys are not found, or if there is only one and the old one is not lost."""
    text, source = _setting(settings)
    count = len({part.strip() for part in text.split(",")})
    if count == 1 and not is_old_key_lost:
        raise NotRotated(f"There is nothing to rotate: {source} has only one key. {_ADVICE}")
    name = f"{count} key{'s' * (count > 1)} of {source}"
    first = fingerprints(settings.model_copy(update={"secret_key": SecretStr(text)}))[0]
    return RingSource(KeyRing.from_setting(text), name, first)


async def rotate_all(db: Database, ring: RingSource) -> RotationResult:
    """Re-encrypt all secrets. From then on, a node must have the first key of the ring."""
    load_tables()
    with progress("Re-encrypting") as report:
        result = await rotate(db, ring.key_ring, encrypted_columns(metadata), report=report)
    async with db.write() as tx:
        await replace_key_fingerprint(tx, ring.fingerprint)
    return result


def encrypted_columns(schema: MetaData) -> list[Column[Any]]:
    return [column for table in schema.sorted_tables for column in table.c if isinstance(column.type, Encrypted)]


async def rotate(
    db: Database, key_ring: KeyRing, columns: Sequence[Column[Any]], *, report: ReportProgress | None = None
) -> RotationResult:
    result = RotationResult()
    total = await _count(db, columns) if report else 0
    for column in columns:
        after = None
        while rows := await _rows(db, column, after):
            if await _rotate(db, key_ring, column, rows, result):
                after = rows[-1].id
            if report:
                report(result.examined, total)
    return result


def report(result: RotationResult, ring: str) -> Iterator[str]:
    for column, row in result.unreadable:
        yield f"{column.table.name} {row}: none of the {ring} decrypts its {column.name}."
    counts = f"{result.changed} re-encrypted, {len(result.unreadable)} unreadable"
    yield f"{result.examined} secrets examined with the {ring}; {counts}."


def _setting(settings: Settings) -> tuple[str, str]:
    """Return the keys and their source."""
    if text := secret_text(settings):
        return text, "WAYPOST_SECRET_KEY"
    file = (settings.data_dir / FILE).absolute()
    try:
        file.open().close()
    except OSError as error:
        reason = f"WAYPOST_SECRET_KEY is not set here, and {file} cannot be read: {error.strerror}"
        raise NotRotated(f"{reason}. {_ADVICE}") from error
    return secret_text(with_secret_key(settings)), str(file)


async def _count(db: Database, columns: Sequence[Column[Any]]) -> int:
    async with db.read() as tx:
        return sum([await tx.scalar(select(func.count(column))) or 0 for column in columns])


async def _rows(db: Database, column: Column[Any], after: UUID | None) -> Sequence[Any]:
    [key] = column.table.primary_key
    query = (
        select(key.label("id"), column.label("ciphertext")).where(column.is_not(None)).order_by(key).limit(_BATCH_SIZE)
    )
    async with db.read() as tx:
        return (await tx.execute(query if after is None else query.where(key > after))).all()


async def _rotate(
    db: Database, key_ring: KeyRing, column: Column[Any], rows: Sequence[Any], result: RotationResult
) -> bool:
    """Return False if some were changed concurrently and must be examined again."""
    changes: list[_Change] = []
    unreadable: list[tuple[Column[Any], UUID]] = []
    for row in rows:
        try:
            text = key_ring.decrypt(column, row.id, row.ciphertext)
        except DecryptionFailed:
            unreadable.append((column, row.id))
        else:
            if not key_ring.is_current(row.ciphertext):
                changes.append((row.id, row.ciphertext, key_ring.encrypt(column, row.id, text)))
    written = await _write(db, column, changes)
    result.changed += written
    if written < len(changes):
        return False
    result.examined += len(rows)
    result.unreadable += unreadable
    return True


async def _write(db: Database, column: Column[Any], changes: Sequence[_Change]) -> int:
    """Replace only values that are still as they were read."""
    if not changes:
        return 0
    [key] = column.table.primary_key
    written = 0
    async with db.write() as tx:
        for row, before, after in changes:
            statement = update(column.table).where(key == row, column == before)
            written += (await tx.execute(statement.values({column: after}))).rowcount
    return written
