"""The endpoint that the operator's Prometheus scrapes."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from pathlib import Path

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from waypost.kit.proxies import Network
from waypost.metrics import CONTENT_TYPE, Gauge, render
from waypost.web.internal import internal_route

Gauges = Callable[[], Awaitable[Sequence[Gauge]]]


def routes(data_dir: Path, gauges: Gauges, *, trusted: Sequence[Network], own_hosts: Collection[str] = ()) -> APIRouter:
    """`gauges` are read for each request."""

    async def show(_: Request) -> Response:
        content = await asyncio.to_thread(render, data_dir, await gauges())
        return Response(content, media_type=CONTENT_TYPE, headers={"Cache-Control": "no-store"})

    return internal_route("/metrics", show, trusted=trusted, own_hosts=own_hosts)
