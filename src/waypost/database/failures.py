"""What the drivers raise, as errors that say whether trying again helps."""

import contextlib
import sqlite3
import sys
from typing import Any, TypeVar

from sqlalchemy.exc import DBAPIError, IntegrityError

from waypost.database.url import location_of
from waypost.kit.errors import Unavailable

_T = TypeVar("_T")
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

_INTERRUPTED = sqlite3.SQLITE_INTERRUPT
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


class translate_errors(contextlib.AbstractAsyncContextManager[_T, None]):  # noqa: N801  # as the ones of contextlib
    """Raise Unavailable for an outage of the database in the block."""

    def __init__(self, url: str, value: _T) -> None:
        """`value`: what the block gets."""
        self._url = url
        self._value = value

    async def __aenter__(self) -> _T:
        return self._value

    async def __aexit__(self, _type: object, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, Exception) and (other := _translated(error, self._url)):
            raise other from error


def _translated(error: Exception, url: str) -> Unavailable | None:
    """Return what to raise instead; None if the error is no outage."""
    cause = error.orig if isinstance(error, DBAPIError) else error  # SQLAlchemy raises some of migrations
    if isinstance(error, IntegrityError) or cause is None or not _is_outage(cause):
        return None
    if getattr(cause, "sqlstate", "") == _QUERY_CANCELED or getattr(cause, "sqlite_errorcode", 0) == _INTERRUPTED:
        return Unavailable("The query took too long. Request less data, or try again later.")
    return DatabaseUnavailable(location_of(url))


def _is_outage(error: BaseException) -> bool:
    psycopg: Any = sys.modules.get("psycopg")  # loaded on PostgreSQL only: 7 MB
    for driver in (sqlite3, psycopg) if psycopg else (sqlite3,):
        if isinstance(error, driver.OperationalError | driver.InterfaceError | driver.InternalError):
            return True
    is_no_database = type(error) is sqlite3.DatabaseError  # or a damaged one
    return is_no_database or getattr(error, "sqlstate", "") == _OUTDATED
