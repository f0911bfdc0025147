"""What a Prometheus of the operator's reads."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from pathlib import Path

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from waypost.kit.proxies import Network
from waypost.metrics import CONTENT_TYPE, Gauge, render
from waypost.web.peers import for_peers

Gauges = Callable[[], Awaitable[Sequence[Gauge]]]


def routes(data_dir: Path, gauges: Gauges, *, trusted: Sequence[Network], own_hosts: Collection[str] = ()) -> APIRouter:
    """`gauges`: what is looked up when somebody asks."""

    async def answer(_: Request) -> Response:
        told = await asyncio.to_thread(render, data_dir, await gauges())
        return Response(told, media_type=CONTENT_TYPE, headers={"Cache-Control": "no-store"})

    return for_peers("/metrics", answer, trusted=trusted, own_hosts=own_hosts)
