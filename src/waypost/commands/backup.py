"""`waypost backup`: one archive that restores the service in an empty data directory.

It never overwrites a file or leaves an incomplete archive. On PostgreSQL, use `pg_dump` for the database.

Visits that are not drained yet are stored as the privacy settings require.
"""

import contextlib
import secrets
import sqlite3
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from waypost import installation, secret_key
from waypost.database import Database
from waypost.kit.errors import Invalid, WaypostError
from waypost.private_files import new_file
from waypost.redirect.segment import HEADER
from waypost.redirect.spool import UnknownFormat, decode, encode, read_open_lines, segments
from waypost.resources.clicks.intake.build import IntakeSettings, redact
from waypost.resources.clicks.intake.positions import prevent_erasing
from waypost.settings import Settings

DATABASE_FILE = "waypost.db"
_CHUNK = 1 << 20  # bytes of lines


class BackupFailed(WaypostError):
    """The backup failed."""


def write_backup(settings: Settings, target: Path) -> list[str]:
    """Create `target`, gzipped if its name ends in gz, and return notes for the operator."""
    if target.exists():
        raise BackupFailed(f"{target} already exists: choose another name. Files are never overwritten.")
    try:
        with new_file(target) as file, _archive(target, file) as archive:
            _fill(archive, settings, scratch=target.with_name(f".{target.name}.{secrets.token_hex(4)}.db"))
    except (OSError, sqlite3.Error) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise BackupFailed(f"The backup to {target} failed: {reason}") from error
    with contextlib.suppress(OSError):  # the backup is complete, if unknown to `waypost doctor`
        installation.last_backup(settings.data_dir).touch(0o600)
    size = target.stat().st_size / 1_000_000
    return [f"Backup written to {target} ({size:,.1f} MB).", *_notes(settings, target)]


def back_up_before_migration(settings: Settings, target: Path | None) -> list[str]:
    """Create `target` if it is given, and return notes for the operator. Raise Invalid on PostgreSQL."""
    is_sqlite = settings.database.startswith("sqlite")
    if target is None:
        way = "waypost migrate --backup FILE creates one first" if is_sqlite else "create one with pg_dump first"
        return [f"Migrating without a backup; next time, {way}. There is no downgrade."]
    if not is_sqlite:
        raise Invalid({"--backup": ["This has no effect on PostgreSQL: create a backup with pg_dump."]})
    return write_backup(settings, target)


def _fill(archive: tarfile.TarFile, settings: Settings, *, scratch: Path) -> None:
    db = Database(settings.database)
    media = settings.data_dir / "media"
    # before and after the snapshot: an image that a row of the snapshot refers to existed at one of the two times
    added = _add_media(archive, media, set())
    if db.dialect == "sqlite":
        _add_database_and_spool(archive, settings, db.path, scratch)
    _add_media(archive, media, added)
    key = settings.data_dir / secret_key.FILE
    if key.exists():
        archive.add(key, secret_key.FILE)


def _add_media(archive: tarfile.TarFile, directory: Path, added: set[Path]) -> set[Path]:
    """Add the files that are not in `added`, and return all of them."""
    paths = set(directory.rglob("*"))
    for path in paths - added:
        with contextlib.suppress(FileNotFoundError):  # its link was changed or deleted concurrently
            archive.add(path, f"media/{path.relative_to(directory)}", recursive=False)
    return paths | added


def _add_database_and_spool(archive: tarfile.TarFile, settings: Settings, path: Path, scratch: Path) -> None:
    """Add rows and spool of one point in time, so that each click is in exactly one of the two.

    The database records how far the spool is drained. Reading the spool first would miss clicks; reading it last would
    miss segments that were drained and deleted in between. So both are opened under the write lock: the drainer cannot
    commit then, and it neither deletes nor erases what it has not committed. It may delete segments that it commits
    afterwards, because they are open here, but must not erase them until they are copied. Copying the database needs no
    lock. A restored service continues as after a crash at this point.
    """
    spool = settings.data_dir / "spool"
    with contextlib.closing(_connect(path)) as snapshot:
        with prevent_erasing(spool) if spool.is_dir() else contextlib.nullcontext():
            with contextlib.closing(_connect(path)) as lock:
                lock.execute("BEGIN IMMEDIATE")
                snapshot.execute("BEGIN")  # it begins at the first read
                positions = dict(snapshot.execute("SELECT segment, position FROM spool_positions"))
                files = list(_open_files(segments(spool)))
                lock.execute("ROLLBACK")
            intake = IntakeSettings(settings.trusted_proxies, settings.ip_privacy, lambda _: "", b"")
            for file in files:
                with file:
                    _add_segment(archive, file, positions.get(Path(file.name).name, 0), intake, scratch.parent)
        _add_database(archive, snapshot, scratch)


def _open_files(paths: list[Path]) -> Iterator[BinaryIO]:
    for path in paths:
        with contextlib.suppress(FileNotFoundError):  # drained before the lock and deleted now: its clicks are rows
            yield path.open("rb")


def _add_segment(
    archive: tarfile.TarFile, file: BinaryIO, position: int, settings: IntakeSettings, directory: Path
) -> None:
    """Add the lines that are not drained, as a segment of their own. A segment of an unknown format is copied."""
    try:
        lines, position = read_open_lines(file, position, _CHUNK)
    except UnknownFormat:
        _add_file(archive, file, file.name)
        return
    if lines:
        with tempfile.TemporaryFile(dir=directory) as copy:
            copy.write(HEADER)
            while lines:
                copy.writelines(encode(redact(visit, settings)) for line in lines if (visit := decode(line)))
                lines, position = read_open_lines(file, position, _CHUNK)
            _add_file(archive, copy, file.name)


def _add_file(archive: tarfile.TarFile, file: BinaryIO, segment: str) -> None:
    file.seek(0)  # also flushes the buffer, which counts for the size
    entry = archive.gettarinfo(arcname=f"spool/{Path(segment).name}", fileobj=file)
    archive.addfile(entry, file)


def _add_database(archive: tarfile.TarFile, snapshot: sqlite3.Connection, scratch: Path) -> None:
    try:
        with contextlib.closing(sqlite3.connect(scratch)) as copy:
            scratch.chmod(0o600)
            snapshot.backup(copy)
            copy.execute("DELETE FROM spool_positions")  # the archive's segments contain only undrained lines
            copy.commit()
        archive.add(scratch, DATABASE_FILE)
    finally:
        for suffix in ("", "-wal", "-shm"):
            scratch.with_name(scratch.name + suffix).unlink(missing_ok=True)


def _connect(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode=rw", uri=True, isolation_level=None, timeout=30)


def _archive(target: Path, file: BinaryIO) -> tarfile.TarFile:
    is_zipped = target.suffix in {".gz", ".tgz"}
    return tarfile.open(mode="w:gz", fileobj=file) if is_zipped else tarfile.open(mode="w", fileobj=file)


def _notes(settings: Settings, target: Path) -> list[str]:
    notes = [f"To restore, stop the service and unpack {target.name} into an empty WAYPOST_DATA_DIR."]
    if settings.secret_key:
        notes.append("WAYPOST_SECRET_KEY is set outside the data directory: keep it with the backup.")
    else:
        notes.append("The archive contains the secret key: store it like a secret.")
    if not settings.database.startswith("sqlite"):
        missing = "the database, which also has the uploaded images, nor spooled clicks"
        notes.append(f"The archive contains neither {missing}: back up the database with pg_dump.")
    if settings.clickhouse_url:
        notes.append("Clicks and statistics are in ClickHouse: back up its database with BACKUP, after pg_dump.")
    return notes
