"""CPU time for drawing a QR code of 512 pixels at level M, without caches, compared with segno's plain drawing.

The two alternate, one drawing each. The URL has thirty characters.

Then the rate of cached images over the API, compared with the health endpoint.

Last, a ZIP file of a thousand codes: its time, the memory that the process needs for it, and how long another account
waits for images that nobody has drawn, before it and while it is made. One client requests them, one after the other.
"""

import asyncio
import http.client
import json
import statistics
import time
from collections.abc import Callable
from functools import partial
from io import BytesIO
from typing import get_args
from uuid import UUID

import segno
from PIL import Image
from sqlalchemy import select

from bench import wrk
from bench.client import Client, percentile
from bench.report import Failed, Row, measured
from bench.run import Run
from bench.scanning import TEXT
from bench.seed import Store, add_keys, add_links, new_account
from bench.servers import SECRET_KEY, Server, waypost
from bench.wrk import Contender
from waypost.database import Database
from waypost.kit.clock import now
from waypost.kit.ids import new_id
from waypost.resources.links.model import links
from waypost.resources.qrcodes.drawing import LogoImage, make_matrix, pdf, png, svg
from waypost.resources.qrcodes.image_urls import Urls
from waypost.resources.qrcodes.layout import _choose
from waypost.resources.qrcodes.logos.preparing import prepare
from waypost.resources.qrcodes.model import code_id
from waypost.resources.qrcodes.style import CodeStyle, ModuleStyle
from waypost.secret_key import derived_keys
from waypost.settings import Settings

_UNTIMED = 5
_CODES = 1_000
_URLS = {"png": "image_url", "svg": "svg_url"}

Draw = Callable[[], bytes]


def measure(run: Run) -> list[Row]:
    rows = [row for format_ in _URLS for style in get_args(ModuleStyle) for row in _rows(run, format_, style)]
    return [*rows, *_with_logos(run), *_served(run), *_archive(run)]


def _with_logos(run: Run) -> list[Row]:
    """The first drawing of a code with a logo of 300 pixels and a frame, which nothing is known of yet."""
    image, file = Image.effect_mandelbrot((300, 300), (-3, -2.5, 2, 2.5), 100).convert("RGB"), BytesIO()
    image.save(file, "PNG")
    prepared = prepare(file.getvalue())
    logo = LogoImage(prepared.of(new_id(), now()), prepared.content)
    style = CodeStyle(logo=True, frame="bottom")
    formats = {"PNG": png, "SVG": svg, "PDF": pdf}
    times = _times(run, *(partial(draw, TEXT, style, logo) for draw in formats.values()))
    return [
        measured(
            f"drawing a logo and a frame as {name}, median",
            statistics.median(own),
            f"p95 {percentile(own, 95):.1f} ms",
            " ms",
        )
        for name, own in zip(formats, times, strict=True)
    ]


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
            _choose.cache_clear()
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


def _archive(run: Run) -> list[Row]:
    store = run.copied_store(run.few)
    with waypost(store, run.new_directory()) as server:
        return asyncio.run(_archive_rows(run, server, store))


async def _archive_rows(run: Run, server: Server, store: Store) -> list[Row]:
    db, client = Database(store.url), await Client.open(server.port)
    (key,) = await add_keys(db, store.account, 1)
    other = await new_account(db, "other")
    paths = await _unseen_images(db, server.port, other, 2 * run.drawings)
    async with db.read() as tx:
        ids = (await tx.scalars(select(links.c.id).where(links.c.account_id == store.account).limit(_CODES))).all()
    await db.close()
    alone = [(await client.request("GET", path, key="")).milliseconds for path in paths[: run.drawings]]
    before = server.memory()
    server.forget_peak()
    archive = asyncio.create_task(asyncio.to_thread(_download_archive, server.port, key, list(map(str, ids))))
    meanwhile = []
    for path in paths[run.drawings :]:
        meanwhile.append((await client.request("GET", path, key="")).milliseconds)
        if archive.done():
            break
    size, seconds = await archive
    await client.close()
    medians = statistics.median(alone), statistics.median(meanwhile)
    waited = (
        f"median {medians[1]:.1f} ms, p95 {percentile(meanwhile, 95):.1f} ms over {len(meanwhile)} images; "
        f"alone {medians[0]:.1f} ms, p95 {percentile(alone, 95):.1f} ms"
    )
    what = f"ZIP of {len(ids):,} QR codes"
    memory = f"peak of the processes compared with {before:.0f} MB before"
    return [
        measured(f"{what}, PNG", seconds, f"{size / 1e6:.1f} MB; another account draws meanwhile", " s"),
        measured(f"{what}, memory", server.peak_memory() - before, memory, " MB"),
        measured(f"{what}, images of another account meanwhile, relative to alone", medians[1] / medians[0], waited),
    ]


def _download_archive(port: int, key: str, ids: list[str]) -> tuple[int, float]:
    """Return bytes and seconds."""
    connection, size = http.client.HTTPConnection("127.0.0.1", port, timeout=600), 0
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    began = time.perf_counter()
    connection.request("POST", "/api/v1/qrcodes/archive", json.dumps({"ids": ids}), headers)
    response = connection.getresponse()
    if response.status != 200:
        raise Failed(f"the archive got {response.status}")
    while part := response.read(65_536):
        size += len(part)
    connection.close()
    return size, time.perf_counter() - began


async def _unseen_images(db: Database, port: int, account: UUID, count: int) -> list[str]:
    """Signed paths of images that nobody has requested, of new links."""
    made = await add_links(db, account, 1_000, first=10_000_000)
    settings = Settings(base_url=f"http://127.0.0.1:{port}", secret_key=SECRET_KEY)
    urls = Urls("", derived_keys(settings, "qrcodes"))
    return [urls.sign(code_id(link), CodeStyle(), "png") for link in made[:count]]


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
