"""Certificates by hostname, from memory: a web process answers TLS handshakes with them.

A handshake with an unknown hostname is rejected with the alert `unrecognized_name`, and orders nothing. One without a
hostname gets the certificate of the service's own host.
"""

import ssl
from collections import OrderedDict
from dataclasses import dataclass
from uuid import UUID

import structlog

from waypost.database import KeyRing, Sealed
from waypost.database.secrets import Undecipherable
from waypost.resources.domains.certificates import tls
from waypost.resources.domains.certificates.model import certificates

CONTEXTS = 1_000
"""Kept in memory, about 40 KiB each. Creating one takes a millisecond."""
_END = "-----END CERTIFICATE-----\n"

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class StoredCertificate:
    id: UUID
    leaf: str
    """PEM."""
    intermediates: str
    """PEM. One string is shared by all certificates of an authority."""
    key: Sealed


class TlsContexts:
    def __init__(self, keys: KeyRing, own_host: str, *, capacity: int = CONTEXTS) -> None:
        self._keys = keys
        self._own_host = own_host
        self._capacity = capacity
        self._certificates: dict[str, StoredCertificate] = {}
        self._intermediates: dict[str, str] = {}
        self._ready: OrderedDict[str, ssl.SSLContext] = OrderedDict()
        self.listening = tls.listening_context(self._choose)
        """For the listener: has no certificate of its own, and is replaced in each handshake."""

    def __len__(self) -> int:
        return len(self._certificates)

    def put(self, hostname: str, id_: UUID, chain: str, key: Sealed) -> None:
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
            key = self._keys.open(certificates.c.key, certificate.id, certificate.key)
            return tls.certificate_context(f"{key}{certificate.leaf}{certificate.intermediates}".encode())
        except (Undecipherable, ssl.SSLError) as error:
            del self._certificates[hostname]  # logged once, until there is a new one
            log.error("certificate unusable", host=hostname, error=type(error).__name__)
            return None
