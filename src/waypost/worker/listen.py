"""The listening socket: bound once by the parent, shared by every web process, so that none is refused in a restart."""

import errno
import socket
import time

PATIENCE = 5.0  # seconds: children of a killed parent let go of the port within them
_BACKLOG = 2048


class CannotListen(Exception):
    """Why, in words for the operator."""


def listen(host: str, port: int, *, option: str = "--port", patience: float = PATIENCE) -> socket.socket:
    """`option` of the command chooses the port. Raises CannotListen."""
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
        return f"Port {port} needs more rights than this user has. Choose a port above 1023 with {option}."
    return f"Cannot listen on {host} port {port}: {error.strerror}."
