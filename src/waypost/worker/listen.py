"""The listening socket. The parent binds it once for all web processes, so that a restart refuses no request."""

import errno
import socket
import time

PATIENCE = 5.0  # seconds: children of a killed parent release the port within this time
_BACKLOG = 2048


class CannotListen(Exception):
    """The message is for the operator."""


def listen(host: str, port: int, *, option: str = "--port", patience: float = PATIENCE) -> socket.socket:
    """`option`: the command-line option for the port, named in errors. Raises CannotListen."""
    give_up = time.monotonic() + patience
    while True:
        try:
            return _bind(host, port)
        except OSError as error:
            if error.errno == errno.EADDRINUSE and time.monotonic() < give_up:
                time.sleep(0.1)
                continue
            raise CannotListen(_explain(error, host, port, option)) from None


def _bind(host: str, port: int) -> socket.socket:
    family, kind, protocol, _, address = socket.getaddrinfo(
        host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    bound = socket.socket(family, kind, protocol)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
        bound.listen(_BACKLOG)
    except OSError:
        bound.close()
        raise
    return bound


def _explain(error: OSError, host: str, port: int, option: str) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"Port {port} on {host} is in use by another program. Stop it, or choose another port with {option}."
    if error.errno == errno.EACCES:
        return f"Port {port} needs privileges that this user does not have. Choose a port above 1023 with {option}."
    return f"Cannot listen on {host} port {port}: {error.strerror}."
