"""Runs a web process from the settings: redirects, and with them API and dashboard unless the role is `redirect`."""

import asyncio
import gc
import socket
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import TYPE_CHECKING

import structlog

from waypost.database import Database, KeyRing
from waypost.http.connections import Connections
from waypost.http.server import MALFORMED, WebServer, server_config
from waypost.kit.clock import Clock, now
from waypost.kit.memory import release_free_memory
from waypost.kit.proxies import is_loopback
from waypost.redirect.protocol import protocol_for
from waypost.redirect.state import maintain
from waypost.secret_key import secret_text
from waypost.settings import Settings
from waypost.version import log_fields, redirect_form
from waypost.worker.loop import cancel
from waypost.worker.metrics_writer import shared_metrics

if TYPE_CHECKING:
    import ssl

    from waypost.redirect_app import WebProcess

log = structlog.get_logger(__name__)


async def run(
    settings: Settings,
    *,
    role: str,
    sockets: list[socket.socket],
    tls_sockets: Sequence[socket.socket] = (),
    stop: asyncio.Event,
    welcome: int | None = None,
    clock: Clock = now,
    time_ns: Callable[[], int] = time.time_ns,
) -> None:
    """Serve until `stop` is set and open requests have their responses.

    `welcome`: file descriptor of the token for the message of the first start.
    """
    async with (
        open_app(role, [*sockets, *tls_sockets])(
            settings, clock=clock, time_ns=time_ns, is_shutting_down=stop.is_set
        ) as web,
        shared_metrics(settings.data_dir, "redirect" if role == "redirect" else "web", web.read_gauges),
    ):
        tls = await _tls_context(settings, web) if tls_sockets else None
        connections = Connections(count_malformed=MALFORMED.add)
        server = WebServer(server_config(web.app, protocol_for(web.state, connections)), tls, tls_sockets)
        maintenance = asyncio.create_task(maintain(web.state, connections, server.server_state))
        background = [*web.tasks, maintenance]
        serving = asyncio.create_task(server.serve(sockets))
        stopping = asyncio.create_task(server.exit_on(stop))
        short_lived = [stopping, maintenance]
        if welcome is not None:
            short_lived.append(asyncio.create_task(_show_welcome(settings, web.db, welcome, server)))
        gc.freeze()  # imported objects stay: scanning them took 60 ms at each full collection
        release_free_memory()
        gc.set_threshold(5_000, 20, 20)  # a page creates thousands of objects; collecting in between took an eighth
        own = {"base_url": settings.base_url, "shared_domain": settings.shared_domain}
        log.info("serving", role=role, redirects=redirect_form(), **log_fields(), **own)
        try:
            await asyncio.wait([serving, *background], return_when=asyncio.FIRST_COMPLETED)
            server.should_exit = True
            await serving
            for task in background:
                if task.done():
                    await task  # raises its error: this process ends too, and the parent starts another
        finally:
            await cancel(short_lived)


def open_app(role: str, listeners: Sequence[socket.socket]) -> "Callable[..., AbstractAsyncContextManager[WebProcess]]":
    if role == "redirect":
        from waypost.redirect_app import open_redirect_app

        return open_redirect_app
    from waypost.web_app import open_full_app

    listens_locally = all(is_loopback(listener.getsockname()[0]) for listener in listeners)
    return partial(open_full_app, listens_locally=listens_locally)


async def _show_welcome(settings: Settings, db: Database, token: int, server: WebServer) -> None:
    from waypost.accounts.setup.welcome import show_welcome

    await server.is_accepting.wait()
    await show_welcome(settings, db, token)


async def _tls_context(settings: Settings, web: "WebProcess") -> "ssl.SSLContext":
    from waypost.resources.domains.certificates.contexts import tls_context

    return await tls_context(settings, web.db, KeyRing.from_setting(secret_text(settings)), web.tasks)
