"""Entry point of every process that the parent starts: settings, log, event loop, and exit with the parent."""

import argparse
import asyncio
import gc
import importlib
import signal
import socket
import sys
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

import structlog
import uvloop

from waypost import logs, settings
from waypost.private_files import restrict_new_files
from waypost.secret_key import with_secret_key
from waypost.worker.parent import LAST_CALL, WRONG_USAGE, say


class ProcessEntries(Protocol):
    """The composition root. Each function returns when `stop` is set."""

    run_web: Callable[..., Awaitable[None]]
    run_worker: Callable[..., Awaitable[None]]


def main() -> int:
    restrict_new_files()
    given = _arguments()
    logs.configure()
    structlog.contextvars.bind_contextvars(process=given.kind)
    try:
        uvloop.run(_run(given, with_secret_key(settings.load())))
    except settings.SettingsError as error:
        say(str(error))
        return WRONG_USAGE
    except Exception as error:  # noqa: BLE001  # logged here; the parent restarts the process
        structlog.get_logger().critical("process failed", error=str(error), exc_info=True)
        return 1
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="waypost.child")
    parser.add_argument("kind", choices=["web", "worker", "welcome"])
    parser.add_argument("--socket", type=int)
    parser.add_argument("--tls-socket", type=int)
    parser.add_argument("--lifeline", type=int, required=True)
    parser.add_argument("--host", required=True)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--app", required=True)
    parser.add_argument("--role", required=True)
    return parser.parse_args()


async def _run(given: argparse.Namespace, config: settings.Settings) -> None:
    stop = asyncio.Event()
    _end_on(stop, given.lifeline)
    if given.kind == "welcome":
        module: Any = importlib.import_module("waypost.commands.welcome")
        await module.welcome(config, given.host, given.port, stop=stop)
        return
    app = _loaded(given.app)
    numbers = {"sockets": given.socket, "tls_sockets": given.tls_socket}
    sockets = {name: [socket.socket(fileno=each)] for name, each in numbers.items() if each is not None}
    if given.kind == "web":
        await app.run_web(config, role=given.role, **sockets, stop=stop)
    else:
        await app.run_worker(config, **sockets, stop=stop)


def _loaded(name: str) -> ProcessEntries:
    """Without garbage collection, which took a tenth of the time: all that is imported stays."""
    gc.disable()
    try:
        app: ProcessEntries = importlib.import_module(name)
    finally:
        gc.enable()
    return app


def _end_on(stop: asyncio.Event, lifeline: int) -> None:
    """Stop on a signal or when the parent dies: the kernel closes its end of the pipe even after `kill -9`."""
    loop = asyncio.get_running_loop()

    def end() -> None:
        loop.remove_reader(lifeline)
        stop.set()
        signal.alarm(LAST_CALL)  # ends this process even if it hangs and the parent is gone

    loop.add_reader(lifeline, end)
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, end)


if __name__ == "__main__":
    sys.exit(main())
