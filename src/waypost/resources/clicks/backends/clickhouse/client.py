"""Sends statements to the ClickHouse server, with short waits for what a person waits for."""

import asyncio
import contextlib
import os
import re
import ssl
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

import structlog

from waypost.kit.errors import SettingsError
from waypost.resources.clicks.store import ClicksUnavailable

if TYPE_CHECKING:
    from clickhouse_connect.driver.asyncclient import AsyncClient

ResultRow = Sequence[Any]

QUERY_TIMEOUT = 5.0
"""Seconds for a statement that somebody waits for."""
LONG_TIMEOUT = 600.0
"""Seconds for a statement of the worker or a command."""
INSERT_TIMEOUT = 30.0
INSERT_SETTINGS: dict[str, Any] = {
    "deduplicate_blocks_in_dependent_materialized_views": 1,
    "async_insert": 0,
    "wait_end_of_query": 1,  # a failure in a view is an error, not a truncated response
}
_MAX_ERROR = 500  # characters
_RETRY_AFTER = 2.0
"""Seconds without another attempt when the server did not respond: otherwise requests would wait for it in a queue."""
_PROBE_TIMEOUT = 2.0
_FORM = "WAYPOST_CLICKHOUSE_URL: must be http(s)://user:password@host:8123/database, special characters percent-encoded"


log = structlog.get_logger(__name__)


class ClickStoreUnavailable(ClicksUnavailable):
    __doc__ = ClicksUnavailable.__doc__

    def __init__(self, location: str, cause: str, code: int = 0) -> None:
        """`code`: ClickHouse's, if it responded."""
        super().__init__()
        self.code = code
        self.is_logged = not code
        self._details = f"ClickHouse on {location}: {cause}"

    @property
    def details(self) -> str:
        return self._details


@dataclass(frozen=True, slots=True)
class ServerAddress:
    host: str
    port: int
    user: str
    password: str
    database: str
    has_tls: bool

    @property
    def location(self) -> str:
        return f"{self.host}:{self.port}"


def parse_url(url: str) -> ServerAddress:
    """Raise SettingsError, with no part of the URL."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise SettingsError(_FORM) from None
    database = unquote(parts.path.removeprefix("/")) or "default"
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.query or parts.fragment:
        raise SettingsError(_FORM)
    if not re.fullmatch(r"\w+", database, re.ASCII):
        raise SettingsError("WAYPOST_CLICKHOUSE_URL: the database's name must consist of letters, digits and _")
    has_tls = parts.scheme == "https"
    user, password = unquote(parts.username or "default"), unquote(parts.password or "")
    return ServerAddress(parts.hostname, port or (8443 if has_tls else 8123), user, password, database, has_tls)


class ClickHouse:
    """A client of one server. Connects with the first statement, and again after an outage."""

    def __init__(
        self, url: str, *, ca_file: Path | None = None, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self.address = parse_url(url)
        self._ca_file = ca_file
        self._monotonic = monotonic
        self._client: AsyncClient | None = None
        self._connecting = asyncio.Lock()
        self._failed_at: float | None = None
        """When the server last did not respond. None since it responded."""
        self._is_probing = False

    async def query(
        self,
        sql: str,
        parameters: Mapping[str, Any] | None = None,
        *,
        settings: Mapping[str, Any] | None = None,
        limit: float = QUERY_TIMEOUT,
    ) -> Sequence[ResultRow]:
        """Return the rows. Raises ClickStoreUnavailable, like the other methods."""
        async with self._attempt(limit) as client:
            all_settings = {**_time_limit(limit), **(settings or {})}
            result = await client.query(sql, parameters=dict(parameters or {}), settings=all_settings)
        return result.result_rows

    async def command(
        self, sql: str, parameters: Mapping[str, Any] | None = None, *, settings: Mapping[str, Any] | None = None
    ) -> None:
        all_settings = {**_time_limit(LONG_TIMEOUT), **(settings or {})}
        async with self._attempt(LONG_TIMEOUT) as client:
            await client.command(sql, parameters=dict(parameters or {}), settings=all_settings)

    async def insert(self, table: str, columns: Mapping[str, tuple[str, Sequence[Any]]], *, token: str) -> None:
        """Insert a block. `columns`: (type, values) by name. Of blocks with the same `token`, one is stored."""
        async with self._attempt(INSERT_TIMEOUT) as client:
            await client.insert(
                table,
                [values for _, values in columns.values()],
                column_names=list(columns),
                column_type_names=[type_ for type_, _ in columns.values()],
                column_oriented=True,
                settings=_time_limit(INSERT_TIMEOUT) | INSERT_SETTINGS | {"insert_deduplication_token": token},
            )

    async def close(self) -> None:
        if self._client is not None:
            client, self._client = self._client, None
            await client.close()

    @contextlib.asynccontextmanager
    async def _attempt(self, limit: float) -> AsyncIterator["AsyncClient"]:
        """Yield a client. Statements that take longer than `limit` seconds fail."""
        location = self.address.location
        await self._probe_after_outage()
        try:
            async with asyncio.timeout(limit + 1):  # later than the server's own limit, whose error says more
                yield await self._connected()
        except TimeoutError:
            raise self._outage(f"no response within {limit:.0f} s") from None
        except Exception as error:
            if not _is_of_driver(error):
                raise
            code = getattr(error, "code", None) or 0
            cause = _describe(error)[:_MAX_ERROR]
            if not code:  # no response: a connection refused or lost
                raise self._outage(cause) from error
            raise ClickStoreUnavailable(location, cause, code) from error

    async def _probe_after_outage(self) -> None:
        """Let one caller at a time find out whether the server is back; all others fail at once."""
        if self._failed_at is None:
            return
        if self._is_probing or self._monotonic() < self._failed_at + _RETRY_AFTER:
            raise ClickStoreUnavailable(self.address.location, "it did not respond a moment ago")
        self._is_probing = True
        try:
            async with asyncio.timeout(_PROBE_TIMEOUT):
                await (await self._connected()).query("SELECT 1")
        except Exception as error:
            if not isinstance(error, TimeoutError) and not _is_of_driver(error):
                raise
            raise self._outage("no response") from error
        finally:
            self._is_probing = False
        self._failed_at = None
        log.info("ClickHouse available again", server=self.address.location)

    def _outage(self, cause: str) -> ClickStoreUnavailable:
        """Log an outage once, however many statements fail."""
        if self._failed_at is None:
            log.error("ClickHouse unavailable", server=self.address.location, cause=cause)
        self._failed_at = self._monotonic()
        return ClickStoreUnavailable(self.address.location, cause)

    async def _connected(self) -> "AsyncClient":
        async with self._connecting:
            if self._client is None:
                self._client = await self._connect()
            return self._client

    async def _connect(self) -> "AsyncClient":
        import clickhouse_connect  # noqa: PLC0415  # an extra, and 30 MB

        address = self.address
        return await clickhouse_connect.get_async_client(
            host=address.host,
            port=address.port,
            username=address.user,
            password=address.password,
            database=address.database,
            secure=address.has_tls,
            ca_cert=str(self._ca_file) if self._ca_file else None,
            connect_timeout=2,
            send_receive_timeout=LONG_TIMEOUT,
            query_retries=0,
            autogenerate_session_id=False,
            compress="lz4",
        )


def _is_of_driver(error: Exception) -> bool:
    from clickhouse_connect.driver.exceptions import ClickHouseError  # noqa: PLC0415

    return isinstance(error, ClickHouseError | OSError)


def _describe(error: BaseException) -> str:
    """Return why there is no connection, or the server's or driver's text on one line."""
    text = " ".join(str(error).split())
    cause: BaseException | None = error
    while cause:
        # attributes of errors that have more than one type
        wrapped = getattr(cause, "certificate_error", None) or getattr(cause, "os_error", None)
        if wrapped is None and isinstance(cause, ssl.SSLCertVerificationError):
            return f"its TLS certificate cannot be verified: {cause.verify_message}"
        if wrapped is None and isinstance(cause, ssl.SSLError):
            return f"TLS fails: {cause.reason or text}"
        if wrapped is None and isinstance(cause, OSError):
            return os.strerror(cause.errno) if cause.errno and cause.errno > 0 else cause.strerror or text
        cause = wrapped or cause.__cause__
    return text


def _time_limit(limit: float) -> dict[str, Any]:
    return {"max_execution_time": int(limit)}
