"""What a web process answers handshakes with: certificates by name, from memory.

A name that is not known is refused with the alert for it, and nothing is asked or ordered. No name at all gets the
certificate of the service's own host.
"""

import os
import ssl
from collections import OrderedDict
from dataclasses import dataclass
from uuid import UUID

import structlog

from waypost.database import KeyRing, Sealed
from waypost.database.secrets import Undecipherable
from waypost.resources.domains.certificates.model import certificates

CONTEXTS = 1_000
"""Kept ready; some 40 KiB each. Making one takes a millisecond."""
_END = "-----END CERTIFICATE-----\n"

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Certificate:
    id: UUID
    own: str
    """PEM, without those behind it."""
    rest: str
    """Of these there are few: names of one authority share them."""
    key: Sealed


class Contexts:
    def __init__(self, keys: KeyRing, own_host: str, *, capacity: int = CONTEXTS) -> None:
        self._keys = keys
        self._own_host = own_host
        self._capacity = capacity
        self._certificates: dict[str, Certificate] = {}
        self._rests: dict[str, str] = {}
        self._ready: OrderedDict[str, ssl.SSLContext] = OrderedDict()
        self.listening = _context()
        """For the listener: has no certificate, and another context takes its place in each handshake."""
        self.listening.sslobject_class = _Connection
        self.listening.sni_callback = self._choose

    def __len__(self) -> int:
        return len(self._certificates)

    def put(self, hostname: str, id_: UUID, chain: str, key: Sealed) -> None:
        own, end, rest = chain.partition(_END)
        self._ready.pop(hostname, None)
        self._certificates[hostname] = Certificate(id_, own + end, self._rests.setdefault(rest, rest), key)

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

    def _make(self, hostname: str, certificate: Certificate) -> ssl.SSLContext | None:
        try:
            key = self._keys.open(certificates.c.key, certificate.id, certificate.key)
            context = _context()
            _load(context, f"{key}{certificate.own}{certificate.rest}".encode())
        except (Undecipherable, ssl.SSLError) as error:
            del self._certificates[hostname]  # told once, until there is another one
            log.error("certificate cannot be served", host=hostname, error=type(error).__name__)
            return None
        return context


class _Connection(ssl.SSLObject):
    """The event loop drops a connection whose handshake fails with what was still to be sent: the alert that says why.

    So the failure is told at its next question. Until then it sends, and waits no longer than for any handshake.
    """

    _failure: ssl.SSLError | None = None

    def do_handshake(self) -> None:
        if self._failure:
            raise self._failure
        try:
            super().do_handshake()
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            raise
        except ssl.SSLError as failure:
            self._failure = failure
            raise ssl.SSLWantReadError from failure


def _context() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.options |= ssl.OP_CIPHER_SERVER_PREFERENCE | ssl.OP_NO_RENEGOTIATION | ssl.OP_NO_COMPRESSION
    context.set_alpn_protocols(["http/1.1"])
    return context


def _load(context: ssl.SSLContext, pem: bytes) -> None:
    """Python reads keys from files only: this one is memory of our own, and never on a disk."""
    file = os.memfd_create("certificate", os.MFD_CLOEXEC)
    try:
        os.write(file, pem)
        context.load_cert_chain(f"/proc/self/fd/{file}")
    finally:
        os.close(file)
