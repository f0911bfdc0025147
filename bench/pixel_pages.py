"""Pages with pixels: requests per second, relative to nginx with a file of the same size, and the delay for visitors.

Both servers run on the same core. Chromium measures the delay from the start of the page until it navigates away. The
time that the browser needs for any document, for request and commit, comes before. Scripted platforms respond
immediately, or never.
"""

import asyncio
import contextlib
import http.client
import shutil
import statistics
from collections.abc import AsyncIterator
from pathlib import Path

from playwright.async_api import Page, async_playwright
from sqlalchemy import update

from bench import wrk
from bench.platforms import DESTINATION, SCRIPT_HOSTS, Platforms, platforms
from bench.report import Failed, Row, measured
from bench.run import Run
from bench.seed import Store, add_links, new_account, slug_of
from bench.servers import SECRET_KEY, SERVER_CORE, Server, free_port, on_all_cores, started, waypost
from bench.wrk import Contender
from waypost.database import Database, KeyRing
from waypost.database.migrations import migrate
from waypost.kit.clock import now
from waypost.kit.ids import new_id
from waypost.resources.links.model import links
from waypost.resources.pixels import attach, store
from waypost.resources.pixels.model import Pixel, Platform, pixels

_LINKS = 1_000
_PIXELS: list[tuple[Platform, str]] = [("facebook", "1234567890123456"), ("tiktok", "C4ABCDEFGHIJKLMNOPQR")]
_FAST_VISITS, _HANGING_VISITS = 31, 5
_REPORT_DELAY = """const began = performance.now();
navigation.addEventListener("navigate", () => console.debug(`left ${performance.now() - began}`));"""
_CONF = """
worker_processes 1; daemon off; pid {directory}/pid; error_log stderr;
events {{ worker_connections 1024; }}
http {{
  access_log {directory}/access.log combined;
  keepalive_requests 1000000000;
  sendfile on; tcp_nopush on; open_file_cache max=10 inactive=60s;
  server {{
    listen 127.0.0.1:{port};
    default_type text/html;
    location / {{ root {directory}; try_files /page.html =404; }}
  }}
}}
"""


def measure(run: Run) -> list[Row]:
    seeded = asyncio.run(_seeded(run.new_directory() / "waypost.db"))
    with waypost(seeded, run.new_directory()) as ours:
        page = _page(ours.port)
        with _nginx(run.new_directory(), page) as theirs:
            rows = [_compare(run, ours, theirs, len(page))]
        ours.resume()
        with on_all_cores():
            fast, hanging = asyncio.run(_delays(ours.port))
    detail = f"{len(fast)} visits, {min(fast):.0f} to {max(fast):.0f} ms"
    return [
        *rows,
        measured("delay by a page with two pixels, median", statistics.median(fast), detail, " ms"),
        measured(
            "delay by a page with two pixels whose scripts hang, maximum",
            max(hanging),
            f"{len(hanging)} visits",
            " ms",
        ),
    ]


async def _seeded(path: Path) -> Store:
    """Each link has the same two pixels and the scripted destination."""
    db, keys = Database(f"sqlite:///{path}"), KeyRing([SECRET_KEY])
    await migrate(db)
    account = await new_account(db, "seed")
    made = await add_links(db, account, _LINKS)
    ids = [new_id() for _ in _PIXELS]
    async with db.write() as tx:
        for id_, (platform, theirs) in zip(ids, _PIXELS, strict=True):
            ciphertext = {"pixel_id": keys.encrypt(pixels.c.pixel_id, id_, theirs), "access_token": None}
            await store.add(tx, Pixel(id_, account, platform, "Bench", now(), now()), ciphertext)
        for link in made:
            await attach(tx, link, ids)
        await tx.execute(update(links).values(destination_url=DESTINATION))
    await db.close()
    return Store(path, account, _LINKS)


def _page(port: int) -> bytes:
    """The page of one link. Requests all pages, which loads their routes into memory."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    for number in range(_LINKS):
        connection.request("GET", f"/{slug_of(number)}")
        response = connection.getresponse()
        page = response.read()
        if response.status != 200 or any(theirs.encode() not in page for _, theirs in _PIXELS):
            raise Failed(f"no page with pixels: {response.status} {page[:200]!r}")
    connection.close()
    return page


def _nginx(directory: Path, page: bytes) -> contextlib.AbstractContextManager[Server]:
    port, conf = free_port(), directory / "nginx.conf"
    (directory / "page.html").write_bytes(page)
    for path in (directory, directory / "page.html"):
        path.chmod(0o755)  # nginx's worker runs as a different user
    conf.write_text(_CONF.format(directory=directory, port=port))
    command = ["nginx", "-c", str(conf), "-e", "stderr"]
    return started("nginx", command, port=port, ready="/", cores=SERVER_CORE, directory=directory)


def _compare(run: Run, ours: Server, theirs: Server, size: int) -> Row:
    contenders = [Contender(server, "slugs.lua", [str(_LINKS), "browser"]) for server in (ours, theirs)]
    own, other = wrk.alternate(run, contenders)
    rates = f"{size:,} bytes; Waypost {wrk.spread(own)}, nginx {wrk.spread(other)}"
    return measured(
        "pages with two pixels, relative to nginx with a file of that size", wrk.rate_ratio(own, other), rates
    )


async def _delays(port: int) -> tuple[list[float], list[float]]:
    """Milliseconds of each visit: with platforms that respond, then with platforms whose scripts hang."""
    url = f"http://127.0.0.1:{port}/{slug_of(0)}"
    async with platforms() as scripted, _browser(scripted) as page:
        await _delay(page, url)  # opens connections and fills caches
        fast = [await _delay(page, url) for _ in range(_FAST_VISITS)]
        if len(scripted.fired()) != len(_PIXELS) * (_FAST_VISITS + 1):
            raise Failed(f"not every pixel was fired: {len(scripted.fired())}")
        scripted.hanging = set(SCRIPT_HOSTS.values())
        return fast, [await _delay(page, url) for _ in range(_HANGING_VISITS)]


@contextlib.asynccontextmanager
async def _browser(scripted: Platforms) -> AsyncIterator[Page]:
    path = shutil.which("chromium-headless-shell")
    if path is None:
        raise Failed("Chromium is missing")
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=path, args=scripted.arguments)
        page = await browser.new_page()
        await page.add_init_script(_REPORT_DELAY)
        yield page
        await browser.close()


async def _delay(page: Page, url: str) -> float:
    async with page.expect_console_message(lambda each: each.text.startswith("left ")) as message:
        await page.goto(url, wait_until="commit")
    await page.wait_for_url(DESTINATION)
    return float((await message.value).text.removeprefix("left "))
