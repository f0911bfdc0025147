"""What a web process answers handshakes with: certificates by name, from memory.

A name that is not known is refused with the alert for it, and nothing is asked or ordered. No name at all gets the
certificate of the service's own host.
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
"""Kept ready; some 40 KiB each. Making one takes a millisecond."""
_END = "-----END CERTIFICATE-----\n"

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class StoredCertificate:
    id: UUID
    own: str
    """PEM, without those behind it."""
    rest: str
    """Of these there are few: names of one authority share them."""
    key: Sealed


class TlsContexts:
    def __init__(self, keys: KeyRing, own_host: str, *, capacity: int = CONTEXTS) -> None:
        self._keys = keys
        self._own_host = own_host
        self._capacity = capacity
        self._certificates: dict[str, StoredCertificate] = {}
        self._rests: dict[str, str] = {}
        self._ready: OrderedDict[str, ssl.SSLContext] = OrderedDict()
        self.listening = tls.listening(self._choose)
        """For the listener: has no certificate, and another context takes its place in each handshake."""

    def __len__(self) -> int:
        return len(self._certificates)

    def put(self, hostname: str, id_: UUID, chain: str, key: Sealed) -> None:
        own, end, rest = chain.partition(_END)
        self._ready.pop(hostname, None)
        self._certificates[hostname] = StoredCertificate(id_, own + end, self._rests.setdefault(rest, rest), key)

    def drop(self, hostname: str) -> None:
        self._ready.pop(hostname, None)
        self._certificates.pop(hostname, None)

    def find(self, hostname: str) -> ssl.SSLContext | None:
        if ready := self._ready.get(hostname):
            self._ready.move_to_end(hostname)
            return ready
        certificate = self._certificates.get(hostname)
        made = self._make(hostname, certificate) if certificate else None
        if made:
            self._ready[hostname] = made
            while len(self._ready) > self._capacity:
                self._ready.popitem(last=False)
        return made

    def _choose(self, connection: ssl.SSLObject, name: str | None, _context: ssl.SSLContext) -> int | None:
        context = self.find(name.lower().removesuffix(".") if name else self._own_host)
        if context is None:
            return ssl.ALERT_DESCRIPTION_UNRECOGNIZED_NAME
        connection.context = context
        return None

    def _make(self, hostname: str, certificate: StoredCertificate) -> ssl.SSLContext | None:
        try:
            key = self._keys.open(certificates.c.key, certificate.id, certificate.key)
            return tls.presenting(f"{key}{certificate.own}{certificate.rest}".encode())
        except (Undecipherable, ssl.SSLError) as error:
            del self._certificates[hostname]  # told once, until there is another one
            log.error("certificate cannot be served", host=hostname, error=type(error).__name__)
            return None
