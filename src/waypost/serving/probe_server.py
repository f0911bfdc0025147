"""The server of a process that answers nothing but probes."""

import asyncio
import socket
import time
from collections.abc import Sequence

from starlette.routing import BaseRoute

from waypost.http.bounded import bounded_protocol
from waypost.http.connections import Connections
from waypost.http.server import MALFORMED, WebServer, server_config
from waypost.serving.probes import new_probe_app
from waypost.worker.loop import cancel, every

_MAX_CONNECTIONS = 256  # most descriptors of a worker are for webhook receivers


async def serve_probes(routes: Sequence[BaseRoute], sockets: Sequence[socket.socket], stop: asyncio.Event) -> None:
    connections = Connections(max_connections=_MAX_CONNECTIONS, count_malformed=MALFORMED.add)

    async def check() -> None:
        connections.check(time.monotonic())
        await asyncio.to_thread(connections.report)

    server = WebServer(server_config(new_probe_app(routes), bounded_protocol(connections)))
    tasks = [asyncio.create_task(every(1, check)), asyncio.create_task(server.exit_on(stop))]
    try:
        await server.serve(list(sockets))
    finally:
        await cancel(tasks)
