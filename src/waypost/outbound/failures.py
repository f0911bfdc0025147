"""What went wrong with a connection, in a few plain words for users and delivery logs."""

import errno

import aiohttp

TOO_LARGE = "the answer's head is too large"

_BY_NUMBER = {
    errno.ECONNREFUSED: "connection refused",
    errno.ECONNRESET: "connection reset",
    errno.EPIPE: "connection reset",
    errno.ETIMEDOUT: "timed out",
    errno.EHOSTUNREACH: "no route to the host",
    errno.ENETUNREACH: "no route to the host",
}
# the first that fits; several of these are also OSErrors
_BY_TYPE: tuple[tuple[type[Exception], str], ...] = (
    (aiohttp.ClientSSLError, "tls: the handshake failed"),
    (TimeoutError, "timed out"),
    (aiohttp.ServerDisconnectedError, "the connection was closed without an answer"),
    (aiohttp.ClientPayloadError, "the answer broke off"),
    (ConnectionResetError, "connection reset"),  # the library's own has no number
)


def reason_of(error: Exception) -> str:
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return f"tls: {getattr(error.certificate_error, 'verify_message', '') or 'the certificate is not valid'}"
    for kind, reason in _BY_TYPE:
        if isinstance(error, kind):
            return reason
    if isinstance(error, aiohttp.ClientConnectorError) and isinstance(error.os_error, ConnectionResetError):
        return _BY_NUMBER.get(error.os_error.errno or 0, "tls: the handshake failed")  # the event loop's has no number
    if isinstance(error, OSError) and "[SSL" in str(error):
        return "tls: the connection was broken off"
    if isinstance(error, OSError):
        return _BY_NUMBER.get(error.errno or 0, "cannot connect")
    return TOO_LARGE if _is_too_large(error) else "the answer is not valid HTTP"


def _is_too_large(error: Exception) -> bool:
    """The client library tells it in the text alone."""
    return any(sign in str(error) for sign in ("Got more than", "Too many headers"))
