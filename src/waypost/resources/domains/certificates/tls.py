"""TLS 1.2 and later with HTTP/1.1, as OpenSSL and the event loop do it; and what the two do not do well together."""

import os
import ssl
from collections.abc import Callable
from typing import Any

Choose = Callable[[ssl.SSLObject, str | None, ssl.SSLContext], int | None]
"""Sets the connection's context by the name that is asked for. Returns an alert where there is none."""


def listening(choose: Choose) -> ssl.SSLContext:
    """Without a certificate of its own."""
    context = _with_limits(_Listening(ssl.PROTOCOL_TLS_SERVER))
    context.sslobject_class = _Connection
    context.sni_callback = choose
    return context


def presenting(pem: bytes) -> ssl.SSLContext:
    """Of a key and the chain that goes with it. Raises ssl.SSLError."""
    context = _with_limits(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER))
    file = os.memfd_create("certificate", os.MFD_CLOEXEC)  # Python reads keys from files only: this one is on no disk
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


class _Connection(ssl.SSLObject):
    incoming: ssl.MemoryBIO
    _failure: ssl.SSLError | None = None

    def do_handshake(self) -> None:
        """The event loop drops a connection whose handshake fails with what is still to be sent: the alert for it.

        So a failure is told at its next question. Until then it sends, and waits no longer than for any handshake.
        """
        if self._failure:
            raise self._failure
        try:
            super().do_handshake()
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            raise
        except ssl.SSLError as failure:
            self._failure = failure
            raise ssl.SSLWantReadError from failure

    def read(self, len: int = 1024, buffer: Any = None) -> Any:  # noqa: A002  # the library's name
        """The event loop reads until there is no more. To hear that from OpenSSL takes as long as to decrypt."""
        if not self.incoming.pending and not self.pending():
            raise ssl.SSLWantReadError
        return ssl.SSLObject.read(self, len, buffer)  # this runs for every visit: no super()


class _Listening(ssl.SSLContext):
    def wrap_bio(self, incoming: ssl.MemoryBIO, *args: Any, **kwargs: Any) -> ssl.SSLObject:
        connection = super().wrap_bio(incoming, *args, **kwargs)
        if isinstance(connection, _Connection):
            connection.incoming = incoming
        return connection
