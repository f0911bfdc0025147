"""The dashboard's pages of one account with all links and all clicks, through HTTP with its session and budget checked.

One client, one request after the other, after a few that open connections and fill caches: how long the server takes
for a page's HTML. Judged by the p95. What a first page weighs is counted as browsers get it, compressed, with
every file that it names.
"""

import gzip
import http.client
import re
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from bench.client import percentile
from bench.furnished import HOSTNAME, TAG, Furnished
from bench.report import Failed, Row, at_most
from bench.run import Run
from bench.seed import slug_of
from bench.servers import everywhere, waypost

_CALLS = 60
_UNTIMED = 6
_AT_ONCE = 600 // (_CALLS + _UNTIMED) - 1
"""Pages that are asked for of one server: within the minute's budget of an account."""
_BOUND = 30  # ms
_WEIGHT = 120  # KB
_ELSEWHERE = "timezone=America/New_York"
"""Where days begin inside of those that are added up, which are UTC's."""
_FILE = re.compile(rb'(?:src|href)="(/assets/[^"]+)"')


@dataclass(frozen=True)
class Page:
    path: str
    name: str = ""
    """Of its row. Those without one share a row."""
    part: str = ""
    """What is replaced on a page that stands already."""
    is_public: bool = False
    """For who is not signed in."""


def measure(run: Run) -> list[Row]:
    with (
        everywhere(),
        ThreadPoolExecutor() as fillers,
    ):  # both stores at once: that takes longest
        places = list(fillers.map(run.furnished_store, ("SQLite", "PostgreSQL")))
    return [row for place in places for row in _rows(run, place)]


def _rows(run: Run, place: Furnished) -> list[Row]:
    times: list[tuple[Page, list[float]]] = []
    asked = list(_pages(place))
    while len(times) < len(asked):
        with waypost(place.stored, run.new_directory()) as server:
            some = asked[len(times) : len(times) + _AT_ONCE]
            times += [(page, _times(server.port, place.cookie, page)) for page in some]
    rows = [_row(f"page: {page.name}", each, place) for page, each in times if page.name]
    others = [(page, each) for page, each in times if not page.name]
    page, slowest = max(others, key=lambda other: percentile(other[1], 95))
    rows.append(_row(f"page: the slowest of {len(others)} others", slowest, place, f", {_told(page.path)}"))
    return [*rows, *(_weight(run, place) if place.stored.database == "SQLite" else [])]


def _pages(place: Furnished) -> Iterator[Page]:
    link, links = f"/links/{place.stored.link}", len(place.stored.links)
    yield Page("/", "overview")
    yield Page("/?lists=", "overview, its lists", part="lists")
    yield Page("/?period=12m", "overview of a year")
    yield Page("/?period=12m&lists=", "overview of a year, its lists", part="lists")
    yield Page(f"/?{_ELSEWHERE}", "overview by another clock")
    yield Page(f"/?{_ELSEWHERE}&lists=", "overview by another clock, its lists", part="lists")
    yield Page("/links", "newest links")
    yield Page("/links?sort=clicks", "links by clicks")
    yield Page("/links?sort=title", "links by title")
    yield Page("/links?search=landing", "links, a search that finds all")
    yield Page("/links?search=landing&sort=clicks", "links by clicks, a search that finds all")
    yield Page(f"/links?search=Page+{links * 42 // 100}+of", "links, a search that finds one")
    yield Page("/links?search=https://www.example.com/landing/b0420", "links, a search for part of an address")
    yield Page("/links?search=autumn", "links, a search that finds none")
    yield Page(f"/links?tag={TAG}", "links with a tag that half of them have")
    yield Page("/links?status=active", "active links")
    yield Page("/links?status=inactive", "links that are not active")
    yield Page(f"/links?hostname={HOSTNAME}", "links of a domain")
    yield Page(f"/links?page={links // 50}", "links, the page in their middle")
    yield Page(link, "a link")
    yield Page(f"{link}?lists=", "a link, its lists", part="lists")
    yield Page("/links/new")
    yield Page(f"{link}/edit")
    yield Page(f"/links/check-slug?slug={slug_of(1)}", part="slug-state")
    yield Page(f"{link}/qrcode")
    yield Page(f"{link}/delete")
    yield Page("/domains")
    yield Page(f"/domains/{place.domain}")
    yield Page("/pixels")
    yield Page(f"/pixels/{place.pixel}")
    yield Page("/webhooks")
    yield Page(f"/webhooks/{place.webhook}")
    yield Page(f"/webhooks/{place.webhook}?page=3000")
    for path in ("/integrations/api", "/account", "/account/security", "/account/sessions", "/account/data"):
        yield Page(path)
    for path in ("/account/delete", "/plan", "/docs"):
        yield Page(path)
    for path in ("/login", "/signup", "/forgot"):
        yield Page(path, is_public=True)


def _times(port: int, cookie: str, page: Page) -> list[float]:
    headers = {} if page.is_public else {"Cookie": cookie}
    if page.part:
        headers |= {"HX-Request": "true", "HX-Target": page.part}
    client, times = http.client.HTTPConnection("127.0.0.1", port), []
    for _ in range(_UNTIMED + _CALLS):
        began = time.perf_counter()
        client.request("GET", page.path, headers=headers)
        answer = client.getresponse()
        content = answer.read()
        times.append((time.perf_counter() - began) * 1000)
        if answer.status != 200:
            raise Failed(f"{page.path}: {answer.status}: {content[:300]!r}")
    client.close()
    return times[_UNTIMED:]


def _row(what: str, times: Sequence[float], place: Furnished, more: str = "") -> Row:
    stored = place.stored
    detail = f"{len(stored.links):,} links, {stored.clicks:,} clicks; p50 {percentile(times, 50):.1f} ms{more}"
    return at_most(f"{what}, p95 on {stored.database}", percentile(times, 95), _BOUND, detail, " ms")


def _told(path: str) -> str:
    return re.sub(r"[0-9a-f-]{36}", "…", path)


def _weight(run: Run, place: Furnished) -> list[Row]:
    """Of the heaviest page, apart from the API reference, whose script is somebody else's and comes on no other."""
    with waypost(place.stored, run.new_directory()) as server:
        paths = [page.path for page in _pages(place) if not (page.part or page.is_public or page.path == "/docs")]
        weights = {path: _bytes_of(server.port, place.cookie, path) for path in paths}
    heaviest = max(weights, key=lambda path: weights[path])
    detail = f"{_told(heaviest)}, the heaviest of {len(paths)} pages; HTML and all files it names, as they are sent"
    return [at_most("first load of a page", weights[heaviest] / 1000, _WEIGHT, detail, " KB")]


def _bytes_of(port: int, cookie: str, path: str) -> int:
    client = http.client.HTTPConnection("127.0.0.1", port)

    def got(path: str) -> bytes:
        client.request("GET", path, headers={"Cookie": cookie, "Accept-Encoding": "gzip"})
        return client.getresponse().read()

    html = got(path)
    whole = len(html) + sum(len(got(file.decode())) for file in set(_FILE.findall(gzip.decompress(html))))
    client.close()
    return whole
