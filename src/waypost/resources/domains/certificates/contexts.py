"""TLS contexts by hostname, from memory, for the handshakes of a web process.

A handshake with an unknown hostname is rejected with the alert `unrecognized_name`, and orders nothing. One without a
hostname gets the certificate of the service's own host. TLS is 1.2 or later, for HTTP/1.1.
"""

import asyncio
import contextlib
import os
import ssl
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

import structlog
from sqlalchemy import func, select

from waypost.database import Ciphertext, Database, KeyRing
from waypost.database.secrets import DecryptionFailed
from waypost.kit.errors import Unavailable
from waypost.resources.domains.certificates.store import where_served
from waypost.resources.domains.model import certificates
from waypost.settings import Settings
from waypost.worker.loop import every

MAX_CONTEXTS = 1_000
"""Contexts in memory, about 40 KiB each. Creating one takes a millisecond."""
_END = "-----END CERTIFICATE-----\n"
_BATCH_SIZE = 1_000
_MAX_DELAY = timedelta(seconds=60)
"""How much older a change can be than one seen before: transactions commit out of order, and clocks differ."""
_FULL_INTERVAL = 10
"""Every tenth refresh also reads late changes; the others only check whether anything is newer."""
_cert = certificates.c
_NEWEST = select(func.max(_cert.updated_at))
_FIELDS = (
    _cert.id,
    _cert.hostname,
    _cert.chain,
    _cert.key,
    _cert.updated_at,
    where_served().label("is_served"),
)

_Choose = Callable[[ssl.SSLObject, str | None, ssl.SSLContext], int | None]
"""Sets the connection's context by the requested hostname. Returns an alert if there is none."""

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class StoredCertificate:
    id: UUID
    leaf: str
    """PEM."""
    intermediates: str
    """PEM. One string is shared by all certificates of an authority."""
    key: Ciphertext


class TlsContexts:
    def __init__(self, key_ring: KeyRing, own_host: str, *, capacity: int = MAX_CONTEXTS) -> None:
        self._key_ring = key_ring
        self._own_host = own_host
        self._capacity = capacity
        self._certificates: dict[str, StoredCertificate] = {}
        self._intermediates: dict[str, str] = {}
        self._ready: OrderedDict[str, ssl.SSLContext] = OrderedDict()
        self.listening = _listening_context(self._choose)
        """Context of the listener, without a certificate: each handshake replaces it."""

    def __len__(self) -> int:
        return len(self._certificates)

    def put(self, hostname: str, id_: UUID, chain: str, key: Ciphertext) -> None:
        leaf, end, intermediates = chain.partition(_END)
        self._ready.pop(hostname, None)
        self._certificates[hostname] = StoredCertificate(
            id_, leaf + end, self._intermediates.setdefault(intermediates, intermediates), key
        )

    def drop(self, hostname: str) -> None:
        self._ready.pop(hostname, None)
        self._certificates.pop(hostname, None)

    def find(self, hostname: str) -> ssl.SSLContext | None:
        if ready := self._ready.get(hostname):
            self._ready.move_to_end(hostname)
            return ready
        certificate = self._certificates.get(hostname)
        created = self._create(hostname, certificate) if certificate else None
        if created:
            self._ready[hostname] = created
            while len(self._ready) > self._capacity:
                self._ready.popitem(last=False)
        return created

    def _choose(self, connection: ssl.SSLObject, name: str | None, _context: ssl.SSLContext) -> int | None:
        context = self.find(name.lower().removesuffix(".") if name else self._own_host)
        if context is None:
            return ssl.ALERT_DESCRIPTION_UNRECOGNIZED_NAME
        connection.context = context
        return None

    def _create(self, hostname: str, certificate: StoredCertificate) -> ssl.SSLContext | None:
        try:
            key = self._key_ring.decrypt(certificates.c.key, certificate.id, certificate.key)
            return _certificate_context(f"{key}{certificate.leaf}{certificate.intermediates}".encode())
        except (DecryptionFailed, ssl.SSLError) as error:
            del self._certificates[hostname]  # so that it is logged once, until there is a new one
            log.error("certificate unusable", host=hostname, error=type(error).__name__)
            return None


class ContextRefresher:
    """Loads changed certificates from the database into a web process, within about a second."""

    def __init__(self, db: Database, contexts: TlsContexts) -> None:
        self._db = db
        self._contexts = contexts
        self._newest: datetime | None = None
        self._seen: dict[str, datetime] = {}
        self._refreshes = 0
        self._last: datetime | None = None

    async def refresh(self) -> None:
        """Load what has changed. Raises Unavailable."""
        if self._newest is None:
            await self._read_all()
        elif await self._has_changed():
            await self._read_changed(self._newest)

    async def _has_changed(self) -> bool:
        self._refreshes = (self._refreshes + 1) % _FULL_INTERVAL
        async with self._db.point_read() as tx:  # a single entry at the end of an index
            newest = (await tx.execute(_NEWEST)).scalar_one()
        is_newer, self._last = newest != self._last, newest
        return is_newer or self._refreshes == 0

    async def _read_changed(self, newest: datetime) -> None:
        query = select(*_FIELDS).where(_cert.updated_at > newest - _MAX_DELAY).order_by(_cert.updated_at, _cert.id)
        async with self._db.read() as tx:
            rows = (await tx.execute(query)).all()
        for row in rows:
            if self._seen.get(row.hostname) != row.updated_at:
                self._apply(row)
        self._seen = {row.hostname: row.updated_at for row in rows}
        self._newest = max([newest, *(row.updated_at for row in rows)])

    async def _read_all(self) -> None:
        newest, after = datetime(2000, 1, 1, tzinfo=UTC), None
        while True:
            query = select(*_FIELDS).order_by(_cert.id).limit(_BATCH_SIZE)
            async with self._db.read() as tx:
                rows = (await tx.execute(query if after is None else query.where(_cert.id > after))).all()
            for row in rows:
                self._apply(row)
            newest = max([newest, *(row.updated_at for row in rows)])
            if len(rows) < _BATCH_SIZE:
                break
            after = rows[-1].id
        self._newest = newest

    def _apply(self, row: Any) -> None:
        if row.chain is None or not row.is_served:
            self._contexts.drop(row.hostname)
        else:
            self._contexts.put(row.hostname, row.id, row.chain, row.key)


async def tls_context(
    settings: Settings, db: Database, key_ring: KeyRing, tasks: "list[asyncio.Task[None]]"
) -> ssl.SSLContext:
    """The TLS context of this process's listener. A task added to `tasks` keeps it up to date."""
    contexts = TlsContexts(key_ring, urlsplit(settings.base_url).hostname or "")
    refresher = ContextRefresher(db, contexts)
    with contextlib.suppress(Unavailable):  # the task logs it and tries again
        await refresher.refresh()
    tasks.append(asyncio.create_task(every(1, refresher.refresh)))
    return contexts.listening


def _listening_context(choose: _Choose) -> ssl.SSLContext:
    """A context without a certificate of its own."""
    context = _with_limits(_ListenerContext(ssl.PROTOCOL_TLS_SERVER))
    context.sslobject_class = _TlsConnection
    context.sni_callback = choose
    return context


def _certificate_context(pem: bytes) -> ssl.SSLContext:
    """`pem`: a key and its certificate chain. Raises ssl.SSLError."""
    context = _with_limits(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER))
    file = os.memfd_create("certificate", os.MFD_CLOEXEC)  # Python reads keys from files only; this one is in memory
    try:
        os.write(file, pem)
        context.load_cert_chain(f"/proc/self/fd/{file}")
    finally:
        os.close(file)
    return context


def _with_limits(context: ssl.SSLContext) -> ssl.SSLContext:
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.options |= ssl.OP_CIPHER_SERVER_PREFERENCE | ssl.OP_NO_RENEGOTIATION | ssl.OP_NO_COMPRESSION
    context.set_alpn_protocols(["http/1.1"])
    return context


class _TlsConnection(ssl.SSLObject):
    incoming: ssl.MemoryBIO
    _error: ssl.SSLError | None = None

    def do_handshake(self) -> None:
        """Raise an error only at the next call, so that the event loop sends the pending alert before it.

        The event loop drops a connection whose handshake fails without sending the alert.
        """
        if self._error:
            raise self._error
        try:
            super().do_handshake()
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            raise
        except ssl.SSLError as error:
            self._error = error
            raise ssl.SSLWantReadError from error

    def read(self, len: int = 1024, buffer: Any = None) -> Any:  # noqa: A002  # the library's name
        """Skip OpenSSL when nothing is pending: the event loop always reads once more, and that costs as much."""
        if not self.incoming.pending and not self.pending():
            raise ssl.SSLWantReadError
        return ssl.SSLObject.read(self, len, buffer)  # no super(): this runs for every visit


class _ListenerContext(ssl.SSLContext):
    def wrap_bio(self, incoming: ssl.MemoryBIO, *args: Any, **kwargs: Any) -> ssl.SSLObject:
        connection = super().wrap_bio(incoming, *args, **kwargs)
        if isinstance(connection, _TlsConnection):
            connection.incoming = incoming
        return connection
