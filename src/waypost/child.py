"""Entry point of every process that the parent or the worker starts: settings, log, event loop.

It exits with the process that has started it.
"""

import sys

sys.modules["rich"] = None  # type: ignore[assignment]  # structlog would load it for consoles (5 MB)

import argparse
import asyncio
import gc
import importlib
import os
import signal
import socket
from collections.abc import Awaitable, Callable
from typing import Protocol
from uuid import UUID

import structlog
import uvloop

from waypost import logs, settings
from waypost.private_files import restrict_new_files
from waypost.secret_key import FILE as KEY_FILE
from waypost.secret_key import with_existing_key
from waypost.worker.parent import EXIT_USAGE, HARD_EXIT_TIMEOUT, write_stderr


class ProcessEntries(Protocol):
    """The composition root. Each function returns when `stop` is set."""

    run_web: Callable[..., Awaitable[None]]
    run_worker: Callable[..., Awaitable[None]]
    run_import: Callable[..., Awaitable[None]]


def main() -> int:
    restrict_new_files()
    arguments = _read_arguments()
    if arguments.kind == "worker":  # redirects and the start of web processes get a shared core first
        os.nice(5)
    logs.configure()
    structlog.contextvars.bind_contextvars(process=arguments.kind)
    try:
        uvloop.run(_run(arguments, _load_settings(arguments.role)))
    except settings.SettingsError as error:
        write_stderr(str(error))
        return EXIT_USAGE
    except Exception as error:  # noqa: BLE001  # logged here; the parent restarts the process
        structlog.get_logger().critical("process failed", error=str(error), exc_info=True)
        return 1
    return 0


def _read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="waypost.child")
    parser.add_argument("kind", choices=["web", "worker", "import"])
    parser.add_argument("--socket", type=int)
    parser.add_argument("--tls-socket", type=int)
    parser.add_argument("--parent-pipe", type=int, required=True)
    parser.add_argument("--welcome", type=int)
    parser.add_argument("--app", required=True)
    parser.add_argument("--role", required=True)
    parser.add_argument("--import-id")
    return parser.parse_args()


async def _run(arguments: argparse.Namespace, config: settings.Settings) -> None:
    stop = asyncio.Event()
    _stop_on_signals(stop, arguments.parent_pipe)
    app = _load(arguments.app)
    fds = {"sockets": arguments.socket, "tls_sockets": arguments.tls_socket}
    sockets = {name: [socket.socket(fileno=fd)] for name, fd in fds.items() if fd is not None}
    if arguments.kind == "web":
        welcome = {} if arguments.welcome is None else {"welcome": arguments.welcome}
        await app.run_web(config, role=arguments.role, **sockets, **welcome, stop=stop)
    elif arguments.kind == "import":
        await app.run_import(config, import_id=UUID(arguments.import_id), stop=stop)
    else:
        await app.run_worker(config, **sockets, stop=stop)


def _load_settings(role: str) -> settings.Settings:
    """`waypost serve` has created or checked the secret key. Only redirects need none."""
    config = with_existing_key(settings.load())
    if config.secret_key is None and role != "redirect":
        raise settings.SettingsError(f"{config.data_dir / KEY_FILE} is missing: restore it from a backup")
    return config


def _load(name: str) -> ProcessEntries:
    """Import the application without garbage collection, which took a tenth of the time: imports stay in memory."""
    gc.disable()
    try:
        app: ProcessEntries = importlib.import_module(name)
    finally:
        gc.enable()
    return app


def _stop_on_signals(stop: asyncio.Event, parent_pipe: int) -> None:
    """Stop on a signal or when the parent dies: the kernel closes its end of the pipe even after `kill -9`."""
    loop = asyncio.get_running_loop()

    def end() -> None:
        loop.remove_reader(parent_pipe)
        stop.set()
        signal.alarm(HARD_EXIT_TIMEOUT)  # ends this process even if it hangs and the parent is gone

    loop.add_reader(parent_pipe, end)
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, end)


if __name__ == "__main__":
    sys.exit(main())
