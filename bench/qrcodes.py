"""CPU time for drawing a QR code of 512 pixels at level M, without caches, compared with segno's plain drawing.

The two alternate, one drawing each. The URL has thirty characters.

Then the rate of cached images over the API, compared with the health endpoint.
"""

import asyncio
import statistics
import time
from collections.abc import Callable
from functools import partial
from io import BytesIO
from typing import get_args

import segno
from sqlalchemy import select

from bench import wrk
from bench.client import Client, percentile
from bench.report import Row, measured
from bench.run import Run
from bench.scanning import TEXT
from bench.seed import Store, add_keys
from bench.servers import waypost
from bench.wrk import Contender
from waypost.database import Database
from waypost.resources.links.model import links
from waypost.resources.qrcodes.drawing import make_matrix, png, svg
from waypost.resources.qrcodes.style import CodeStyle, ModuleStyle

_UNTIMED = 5
_URLS = {"png": "image_url", "svg": "svg_url"}

Draw = Callable[[], bytes]


def measure(run: Run) -> list[Row]:
    rows = [row for format_ in _URLS for style in get_args(ModuleStyle) for row in _rows(run, format_, style)]
    return rows + _served(run)


def _rows(run: Run, format_: str, style: ModuleStyle) -> list[Row]:
    draw = partial({"png": png, "svg": svg}[format_], TEXT, CodeStyle(style=style))
    ours, theirs = _times(run, draw, partial(_drawn_by_segno, format_))
    plain = len(_drawn_by_segno(format_)) / 1024
    detail = (
        f"p95 {percentile(ours, 95):.1f} ms over {len(ours)} drawings; "
        f"segno's plain drawing {statistics.median(theirs):.1f} ms, p95 {percentile(theirs, 95):.1f} ms"
    )
    what = f"drawing {style} as {format_.upper()}"
    return [
        measured(f"{what}, median", statistics.median(ours), detail, " ms"),
        measured(f"{what}, size", len(draw()) / 1024, f"segno's {plain:.2f} KB", " KB"),
    ]


def _times(run: Run, *draws: Draw) -> list[list[float]]:
    """Milliseconds of the drawings of each function. They alternate, one drawing each."""
    times: list[list[float]] = [[] for _ in draws]
    for number in range(_UNTIMED + run.drawings):
        for draw, own in zip(draws, times, strict=True):
            make_matrix.cache_clear()
            began = time.thread_time()
            draw()
            if number >= _UNTIMED:
                own.append((time.thread_time() - began) * 1000)
    return times


def _drawn_by_segno(format_: str) -> bytes:
    made, file = segno.make(TEXT, error="M", micro=False, boost_error=False), BytesIO()
    made.save(file, format_, scale=512 // made.symbol_size()[0])
    return file.getvalue()


def _served(run: Run) -> list[Row]:
    store = run.store(run.few)
    with waypost(store, run.new_directory()) as server:
        paths = {"health": "/healthz"} | asyncio.run(_images(server.port, store))
        found = wrk.alternate(run, [Contender(server, "path.lua", [path]) for path in paths.values()])
    health, *images = found
    return [
        measured(
            f"cached QR code images served as {format_.upper()}",
            wrk.rate(rounds),
            f"{wrk.spread(rounds)}; {wrk.rate_ratio(rounds, health):.2f} of the health endpoint's {wrk.spread(health)}",
            "/s",
        )
        for format_, rounds in zip(_URLS, images, strict=True)
    ]


async def _images(port: int, store: Store) -> dict[str, str]:
    """Signed paths by format."""
    db, client = Database(store.url), await Client.open(port)
    (key,) = await add_keys(db, store.account, 1)
    async with db.read() as tx:
        link = await tx.scalar(select(links.c.id).limit(1))
    await db.close()
    response = await client.request("GET", f"/api/v1/links/{link}/qrcode", key=key)
    await client.close()
    return {format_: response.data[name].partition(f":{port}")[2] for format_, name in _URLS.items()}
