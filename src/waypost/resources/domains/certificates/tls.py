"""TLS contexts (TLS 1.2 and later, HTTP/1.1), with two workarounds for OpenSSL inside an event loop."""

import os
import ssl
from collections.abc import Callable
from typing import Any

Choose = Callable[[ssl.SSLObject, str | None, ssl.SSLContext], int | None]
"""Sets the connection's context by the requested hostname. Returns an alert when there is none."""


def listening_context(choose: Choose) -> ssl.SSLContext:
    """A context without a certificate of its own."""
    context = _with_limits(_Listening(ssl.PROTOCOL_TLS_SERVER))
    context.sslobject_class = _Connection
    context.sni_callback = choose
    return context


def certificate_context(pem: bytes) -> ssl.SSLContext:
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


class _Connection(ssl.SSLObject):
    incoming: ssl.MemoryBIO
    _failure: ssl.SSLError | None = None

    def do_handshake(self) -> None:
        """Raise a failure at the next call only: the event loop sends the pending alert before that.

        It would drop a connection whose handshake fails without sending the alert. The handshake's timeout still holds.
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
        """Skip OpenSSL when nothing is pending: the event loop reads until then, and asking costs as much."""
        if not self.incoming.pending and not self.pending():
            raise ssl.SSLWantReadError
        return ssl.SSLObject.read(self, len, buffer)  # no super(): this runs for every visit


class _Listening(ssl.SSLContext):
    def wrap_bio(self, incoming: ssl.MemoryBIO, *args: Any, **kwargs: Any) -> ssl.SSLObject:
        connection = super().wrap_bio(incoming, *args, **kwargs)
        if isinstance(connection, _Connection):
            connection.incoming = incoming
        return connection
