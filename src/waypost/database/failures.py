"""What the drivers raise, as errors that say whether trying again helps."""

import contextlib
import sqlite3
import sys
from collections.abc import AsyncIterator

from sqlalchemy.exc import DatabaseError, DBAPIError, IntegrityError, InterfaceError, InternalError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from waypost.database.url import location_of
from waypost.kit.errors import Unavailable

_DAMAGED = ". The file is damaged: stop the service, keep a copy of the file, and restore the last backup"
_SQLITE_ADVICE = {
    sqlite3.SQLITE_CORRUPT: _DAMAGED,
    sqlite3.SQLITE_NOTADB: _DAMAGED,
    sqlite3.SQLITE_FULL: ". Free some space on its file system",
    sqlite3.SQLITE_READONLY: ". Make it and its directory writable for the user that runs the service",
}
"""By SQLite's primary result code."""
_OUTDATED = "0A000"
"""PostgreSQL's code for a prepared statement whose column types have changed. The next attempt prepares it again."""

_QUERY_CANCELED = "57014"
"""PostgreSQL's code for a statement that took longer than `statement_timeout`."""


class DatabaseUnavailable(Unavailable):
    """The database cannot be used right now. Try again in a moment."""

    def __init__(self, location: str) -> None:
        super().__init__()
        self.location = location

    @property
    def details(self) -> str:
        """Location and cause, in one line."""
        cause = getattr(self.__cause__, "orig", None) or self.__cause__
        advice = _SQLITE_ADVICE.get(getattr(cause, "sqlite_errorcode", 0) & 0xFF, "")
        return f"The database {self.location} cannot be used: {' '.join(str(cause).split())}{advice}"


@contextlib.asynccontextmanager
async def translate_errors(url: str) -> AsyncIterator[None]:
    try:
        yield
    except Exception as error:
        if other := translated(error, url):
            raise other from error
        raise


def translated(error: Exception, url: str) -> Unavailable | None:
    """Return what to raise instead; None if the error is no outage."""
    if isinstance(error, IntegrityError):
        return None
    if isinstance(error, OperationalError | InterfaceError | InternalError | PoolTimeoutError):
        if _is_interrupted(error):
            return Unavailable("The query took too long. Request less data, or try again later.")
        return DatabaseUnavailable(location_of(url))
    return DatabaseUnavailable(location_of(url)) if _is_outage(error) else None


def _is_interrupted(error: Exception) -> bool:
    driver_error = getattr(error, "orig", None)
    is_canceled = getattr(driver_error, "sqlstate", "") == _QUERY_CANCELED
    return is_canceled or getattr(driver_error, "sqlite_errorcode", 0) == sqlite3.SQLITE_INTERRUPT


def _is_outage(error: Exception) -> bool:
    if type(error) is DatabaseError:  # SQLite: the file is damaged, or no database
        return True
    if isinstance(error, DBAPIError):
        return error.connection_invalidated or getattr(error.orig, "sqlstate", "") == _OUTDATED
    psycopg = sys.modules.get("psycopg")  # loaded on PostgreSQL only (7 MB); COPY bypasses SQLAlchemy
    return psycopg is not None and isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)
