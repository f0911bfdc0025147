"""Ends a statement on a PostgreSQL connection that does not respond."""

import os
import socket
from typing import Any

import psycopg


def shut_socket(connection: psycopg.AsyncConnection[Any]) -> None:
    """End the statement in progress. A canceled one would wait for the server for ten seconds."""
    with socket.socket(fileno=os.dup(connection.fileno())) as copy:
        copy.shutdown(socket.SHUT_RDWR)
