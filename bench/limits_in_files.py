"""The web process of `waypost serve`, with rate limits in files on PostgreSQL as well. Argument: the port."""

import asyncio
import signal
import socket
import sys
from pathlib import Path
from typing import Any

import uvloop

from waypost import app, logs, settings, web_app
from waypost.accounts.limits.file_limiter import FileLimiters


async def serve(port: int) -> None:
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    listening = socket.create_server(("127.0.0.1", port), backlog=1_024)
    await app.run_web(settings.load(), role="web", sockets=[listening], stop=stop)


def in_files(_: Any, data_dir: Path) -> FileLimiters:
    return FileLimiters(data_dir / "run")


if __name__ == "__main__":
    logs.configure()
    web_app.open_limiters = in_files  # type: ignore[assignment,attr-defined]  # replaced in this process
    uvloop.run(serve(int(sys.argv[1])))
