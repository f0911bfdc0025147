"""The health check of the container image: exits 0 if the service on this machine answers `GET /healthz`.

It asks the port that the running parent was given, whatever its options and role. It runs every 30 seconds, so it
imports little: it takes 40 ms of processor time instead of the 400 of the command line.
"""

import os
import socket
import sys

_PARENT = "waypost.worker.parent"
_TIMEOUT = 4.0  # seconds; less than the image's, so that the reason is shown
_CONNECT_TO = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104  # for a parent that listens on all addresses


def main() -> str | None:
    """Return the reason why the service is unhealthy, or None."""
    address = _find_address()
    if address is None:
        return "waypost serve is not running"
    try:
        with socket.create_connection(address, _TIMEOUT) as connection:
            connection.sendall(b"GET /healthz HTTP/1.0\r\nHost: localhost\r\n\r\n")
            status = connection.recv(64).partition(b"\r\n")[0].decode(errors="replace")
    except OSError as error:
        return f"no answer from {address[0]} port {address[1]}: {error}"
    return None if " 200 " in status else f"/healthz answered {status or 'nothing'}"


def _find_address() -> tuple[str, int] | None:
    """Return where the parent listens, from its command line. None if no parent runs."""
    for entry in filter(str.isdigit, os.listdir("/proc")):  # noqa: PTH208  # pathlib takes longer to import than all else
        try:
            with open(f"/proc/{entry}/cmdline") as file:  # noqa: PTH123
                command = file.read().split("\0")
        except OSError:  # the process has ended
            continue
        if _PARENT in command:
            host, port = command[command.index(_PARENT) + 1 :][:2]
            return _CONNECT_TO.get(host, host), int(port)
    return None


if __name__ == "__main__":
    sys.exit(main())
