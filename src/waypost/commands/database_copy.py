"""`waypost copy`: copies a stopped installation from SQLite to PostgreSQL or back, and compares both.

All rows are one transaction of the target, which is committed when every table is equal. Until then the target is
marked, so that no service starts on it.
"""

import json
import marshal
import re
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import Table, text
from sqlalchemy.engine import make_url

from waypost.commands.copy_ends import IMAGES, UPLOADS, CopyEnd, CopyFailed, PostgresEnd, SqliteEnd, TableRow
from waypost.commands.output import ReportProgress
from waypost.database import Database, Json, metadata
from waypost.database.migrations import migrate
from waypost.database.schema import COPYING, newest
from waypost.database.url import check_postgresql_url, location_of
from waypost.kit.errors import Invalid, SettingsError
from waypost.packages import load_tables
from waypost.private_files import make_directory
from waypost.redirect.spool import UnknownFormat, read_lines, segments
from waypost.settings import Settings

_MASK = (1 << 128) - 1
_REPORT_EVERY = 1_000  # rows
_DERIVED = re.compile(r"(alembic_version|rate_limits|link_numbers|link_trigrams(_\w+)?|sqlite_\w+)$")
"""Tables that migrations and triggers fill, and those of the last minute."""
_BLOCK = 1 << 16  # bytes; more than a line of the spool
_FORM = "Name postgresql://user:password@host:port/name, or a file as in sqlite:////srv/waypost/waypost.db."


class Fingerprint(NamedTuple):
    """Equal for equal rows, in whatever order they come."""

    rows: int
    checksum: int


@dataclass(frozen=True, slots=True)
class CopyResult:
    tables: int
    rows: int
    images: int
    undrained: Sequence[Path]
    """Segments of this machine's spool with visits that are not in the database."""


async def copy(settings: Settings, to: str, report: ReportProgress | None = None) -> CopyResult:
    """Raise Invalid, and CopyFailed: then the target has no rows, and a mark from which services see that."""
    _check_target(settings, to)
    load_tables()
    with closing(_open_source(settings)) as source:
        await _prepare(to)
        with closing(_open_end(to, _media_of(to))) as target:
            fingerprints = _copy_tables(source, target, report)
            target.commit(newest())
        positions = {str(row[0]): int(row[1]) for row in source.rows(metadata.tables["spool_positions"])}
    return CopyResult(
        tables=len(fingerprints),
        rows=sum(each.rows for each in fingerprints.values()),
        images=fingerprints[IMAGES].rows,
        undrained=list(_undrained(settings.data_dir / "spool", positions)),
    )


def _check_target(settings: Settings, to: str) -> None:
    is_postgres, is_sqlite = to.startswith(("postgresql://", "postgres://")), to.startswith("sqlite:///")
    if not is_postgres and (not is_sqlite or not make_url(to).database):
        raise Invalid({"--to": [_FORM]})
    if is_sqlite == settings.database.startswith("sqlite"):
        way = "waypost backup" if is_sqlite else "pg_dump"
        raise Invalid({"--to": [f"Both are {'SQLite' if is_sqlite else 'PostgreSQL'} databases: copy with {way}."]})
    if settings.clickhouse_url:
        raise CopyFailed("Clicks and statistics are in ClickHouse, which needs PostgreSQL: they would be missing.")
    if is_postgres:
        try:
            check_postgresql_url(to)
        except SettingsError:
            raise Invalid({"--to": [_FORM]}) from None


def _open_source(settings: Settings) -> CopyEnd:
    source = settings.database
    if source.startswith("sqlite") and not Path(make_url(source).database or "").exists():
        raise CopyFailed(f"There is no database {location_of(source)}.")
    end = _open_end(source, settings.data_dir / "media")
    if unknown := sorted(name for name in end.tables() - metadata.tables.keys() if not _DERIVED.match(name)):
        end.close()
        raise CopyFailed(
            f"The database {location_of(source)} has tables that are not of Waypost: {', '.join(unknown)}."
        )
    present = end.revision()
    if present != newest():
        end.close()
        advice = "its copy is incomplete" if present and present.startswith(COPYING) else "run waypost migrate first"
        raise CopyFailed(f"The database {location_of(source)} has schema {present}, not {newest()}: {advice}.")
    return end


async def _prepare(to: str) -> None:
    """Migrate the target and mark it. Raise CopyFailed if it is not empty."""
    mark = f"{COPYING} {newest()}"
    with closing(_open_end(to, _media_of(to))) as target:
        present = target.revision()
        if not target.is_empty():
            raise CopyFailed(f"The database {location_of(to)} is not empty: name an empty one.")
    async with Database(to, readers=1) as db:
        if present != mark:  # of an interrupted copy
            await migrate(db)
        async with db.write() as tx:
            await tx.execute(text("UPDATE alembic_version SET version_num = :mark"), {"mark": mark})


def _open_end(url: str, media: Path) -> CopyEnd:
    if not url.startswith("sqlite"):
        return PostgresEnd(url)
    path = Path(make_url(url).database or "")
    make_directory(path.parent)
    return SqliteEnd(path, media)


def _media_of(url: str) -> Path:
    """Return where a service has its images whose data directory contains this SQLite file."""
    return Path(make_url(url).database or "").parent / "media"


def _copy_tables(source: CopyEnd, target: CopyEnd, report: ReportProgress | None) -> dict[str, Fingerprint]:
    """Copy and compare. Raise CopyFailed for tables that differ."""
    tables = [table for table in metadata.sorted_tables if table.name != UPLOADS or isinstance(target, PostgresEnd)]
    progress = _Progress(report, 2 * sum(source.count(table) for table in tables) if report else 0)
    sums = {table.name: _Sum(table, progress) for table in tables}
    for table in tables:
        target.insert(table, sums[table.name].watch(source.rows(table)))
    different = []
    for table in tables:
        found = _Sum(table, progress)
        for _ in found.watch(target.rows(table)):
            pass
        if found.fingerprint != sums[table.name].fingerprint:
            counts = f"{sums[table.name].fingerprint.rows:,} rows, {found.fingerprint.rows:,} in the copy"
            different.append(f"{table.name} ({counts})")
    if different:
        raise CopyFailed(f"The copy differs, and was discarded: {', '.join(different)}.")
    return {name: each.fingerprint for name, each in sums.items()}


class _Progress:
    def __init__(self, report: ReportProgress | None, total: int) -> None:
        self._report = report
        self._total = total
        self._done = 0

    def add(self, count: int) -> None:
        self._done += count
        if self._report:
            self._report(self._done, self._total)


class _Sum:
    """Adds up digests of the rows of a table."""

    def __init__(self, table: Table, progress: _Progress) -> None:
        self._json = [number for number, column in enumerate(table.c) if isinstance(column.type, Json)]
        self._progress = progress
        self.fingerprint = Fingerprint(0, 0)

    def watch(self, rows: Iterator[TableRow]) -> Iterator[TableRow]:
        count = checksum = 0
        for row in rows:
            canonical = self._canonical(row) if self._json else row
            digest = blake2b(marshal.dumps(canonical, 2), digest_size=16).digest()  # version 2 depends on values only
            checksum = (checksum + int.from_bytes(digest)) & _MASK
            count += 1
            if count % _REPORT_EVERY == 0:
                self._progress.add(_REPORT_EVERY)
            yield row
        self._progress.add(count % _REPORT_EVERY)
        self.fingerprint = Fingerprint(count, checksum)

    def _canonical(self, row: TableRow) -> TableRow:
        """Write JSON alike: PostgreSQL stores values, not their text."""
        values = list(row)
        for number in self._json:
            if values[number] is not None:
                values[number] = json.dumps(json.loads(values[number], parse_int=float), sort_keys=True)
        return tuple(values)


def _undrained(spool: Path, positions: dict[str, int]) -> Iterator[Path]:
    for path in segments(spool):
        try:
            lines, _ = read_lines(path, positions.get(path.name, 0), _BLOCK)
        except UnknownFormat:
            lines = [b""]
        if lines:
            yield path


def notes(settings: Settings, to: str, result: CopyResult) -> Iterator[str]:
    """Say what was copied and what to do next."""
    yield (
        f"{result.rows:,} rows of {result.tables} tables and {result.images:,} images copied to {location_of(to)}."
        " Counts and checksums are equal."
    )
    if to.startswith("sqlite"):
        directory = Path(make_url(to).database or "").absolute().parent
        yield f"Set WAYPOST_DATA_DIR to {directory}, remove WAYPOST_DATABASE_URL, and start the service."
        if not settings.secret_key and directory != settings.data_dir.absolute():
            yield f"Copy {settings.data_dir / 'secret.key'} there first: it decrypts the secrets in the database."
    else:
        yield "Set WAYPOST_DATABASE_URL to it, keep WAYPOST_DATA_DIR, and start the service."
    if result.undrained:
        spool = result.undrained[0].parent
        yield (
            f"{spool} has visits that are not in the database yet. A service with this data directory stores them;"
            f" for another one, run waypost spool drain {spool.parent} with its settings."
        )
