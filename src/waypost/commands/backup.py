"""`waypost backup`: one archive from which an empty data directory becomes this service again.

Refuses to overwrite a file and to leave half an archive. On PostgreSQL the rows are `pg_dump`'s business.
"""

import contextlib
import os
import secrets
import sqlite3
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from waypost import secret_key
from waypost.database import Database
from waypost.kit.errors import WaypostError
from waypost.settings import Settings

DATABASE_FILE = "waypost.db"


class BackupFailed(WaypostError):
    """The backup could not be made."""


@dataclass(frozen=True)
class Segment:
    """A spool file as long as it was at the moment of the backup; open, so that its deletion does not matter."""

    name: str
    file: BinaryIO
    size: int


def write_backup(settings: Settings, target: Path) -> list[str]:
    """Makes `target` (gzipped when its name ends in gz) and returns what the operator should know of it."""
    if target.exists():
        raise BackupFailed(f"{target} exists already: choose another name, nothing is overwritten.")
    draft = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        with _created(draft) as file, _archive(target, file) as archive:
            _fill(archive, settings, scratch=draft.with_name(f"{draft.name}.db"))
        os.link(draft, target)  # unlike a rename it fails when the name was taken meanwhile
    except (OSError, sqlite3.Error) as error:
        raise BackupFailed(f"The backup could not be made: {error}") from error
    finally:
        draft.unlink(missing_ok=True)
    return _notes(settings, target)


@contextlib.contextmanager
def _created(path: Path) -> Iterator[BinaryIO]:
    """Readable by its owner alone: it holds the secret key."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        yield file
        file.flush()
        os.fsync(file.fileno())


def _fill(archive: tarfile.TarFile, settings: Settings, *, scratch: Path) -> None:
    db = Database(settings.database)
    media = settings.data_dir / "media"
    # Once before and once after the snapshot: what a row of the snapshot names was there at one of the two times.
    done = _add_media(archive, media, set())
    if db.dialect == "sqlite":
        _add_database_and_spool(archive, db.path, settings.data_dir / "spool", scratch)
    _add_media(archive, media, done)
    key = settings.data_dir / secret_key.FILE
    if key.exists():
        archive.add(key, secret_key.FILE)


def _add_media(archive: tarfile.TarFile, directory: Path, done: set[Path]) -> set[Path]:
    found = set(directory.rglob("*"))
    for path in found - done:
        with contextlib.suppress(FileNotFoundError):  # its link was changed or deleted since the listing
            archive.add(path, f"media/{path.relative_to(directory)}", recursive=False)
    return found | done


def _add_database_and_spool(archive: tarfile.TarFile, path: Path, spool: Path, scratch: Path) -> None:
    try:
        segments = _copy_database(path, spool, scratch)
        archive.add(scratch, DATABASE_FILE)
    finally:
        scratch.unlink(missing_ok=True)
    for segment in segments:
        with segment.file:
            entry = archive.gettarinfo(arcname=f"spool/{segment.name}", fileobj=segment.file)
            entry.size = segment.size
            archive.addfile(entry, segment.file)


def _copy_database(path: Path, spool: Path, scratch: Path) -> list[Segment]:
    """Rows and spool of one moment, so that each click of that moment is in exactly one of the two.

    The database holds how far the spool is drained. Taking the spool first would miss clicks, taking it last would
    miss segments that were drained and deleted in between. So both are taken while the write lock is held: the
    drainer cannot commit then, and it deletes nothing that it has not committed. The archive equals what a crash at
    this moment would have left, and a restored service carries on as after a crash. The copy itself needs no lock.
    """
    with contextlib.closing(_connect(path)) as lock, contextlib.closing(_connect(path)) as snapshot:
        lock.execute("BEGIN IMMEDIATE")
        snapshot.execute("BEGIN")
        snapshot.execute("SELECT count(*) FROM sqlite_master").fetchone()  # the snapshot begins at the first read
        segments = list(_open_segments(spool))
        lock.execute("ROLLBACK")
        with contextlib.closing(sqlite3.connect(scratch)) as copy:
            scratch.chmod(0o600)
            snapshot.backup(copy)
    return segments


def _connect(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode=rw", uri=True, isolation_level=None, timeout=30)


def _open_segments(spool: Path) -> Iterator[Segment]:
    for path in sorted(spool.rglob("*")):
        with contextlib.suppress(FileNotFoundError):  # drained before the lock, deleted now: its clicks are rows
            if path.is_file():
                file = path.open("rb")
                yield Segment(str(path.relative_to(spool)), file, os.fstat(file.fileno()).st_size)


def _archive(target: Path, file: BinaryIO) -> tarfile.TarFile:
    is_zipped = target.suffix in {".gz", ".tgz"}
    return tarfile.open(mode="w:gz", fileobj=file) if is_zipped else tarfile.open(mode="w", fileobj=file)


def _notes(settings: Settings, target: Path) -> list[str]:
    notes = [f"Restore: stop the service and unpack {target.name} into an empty WAYPOST_DATA_DIR."]
    if settings.secret_key:
        notes.append("WAYPOST_SECRET_KEY is set outside the data directory: keep it with the backup.")
    else:
        notes.append("The archive holds the secret key: keep it where secrets are kept.")
    if not settings.database.startswith("sqlite"):
        notes.append("The database is not in it: save it with pg_dump. Clicks still in the spool are not in it either.")
    return notes
