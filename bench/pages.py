"""The dashboard's pages of one account with all links and clicks, over HTTP, with session and rate limit checked.

One client sends one request after the other, after a few that open connections and fill caches: the server's time for
the HTML of a page is measured. Lists of the overview and of a link with more than 20,000 clicks in the period are
requested after the page, so they have rows of their own. What is rarely asked for takes longer: middle pages, short
searches, and time ranges that begin within an aggregated day (ADRs 20 and 21). The size of the first page load is
compressed, as browsers get it, and includes every file that the page references.
"""

import gzip
import http.client
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bench.client import percentile
from bench.full_account import HOSTNAME, MEMBERS, TAG, FullAccount
from bench.report import Failed, Row, measured
from bench.run import Run
from bench.seed import slug_of
from bench.servers import waypost

_CALLS = 60
_UNTIMED = 6
_PAGES_OF_PERSON = 600 // (_CALLS + _UNTIMED) - 1
"""Within the rate limit of a person per minute."""
_OTHER_TIME_ZONE = "timezone=America/New_York"
"""Its days begin within the aggregated UTC days."""
_FILE = re.compile(rb'(?:src|href)="(/assets/[^"]+)"')


@dataclass(frozen=True)
class Page:
    path: str
    name: str = ""
    """The name of its row. Pages without a name share a row."""
    part: str = ""
    """The element that is reloaded in a loaded page."""
    is_public: bool = False
    """Requested without a session."""


def measure(run: Run) -> list[Row]:
    with run.full_accounts() as accounts:
        return [row for account in accounts for row in _rows(run, account)]


def _rows(run: Run, account: FullAccount) -> list[Row]:
    with waypost(account.store, run.new_directory()) as server:
        times = [
            (page, page_times(server.port, account.cookies[number // _PAGES_OF_PERSON], page))
            for number, page in enumerate(_pages(account))
        ]
    rows = [_row(f"page: {page.name}", each, account) for page, each in times if page.name]
    others = [(page, each) for page, each in times if not page.name]
    page, slowest = max(others, key=lambda other: percentile(other[1], 95))
    rows.append(_row(f"page: slowest of {len(others)} others", slowest, account, f", {_without_ids(page.path)}"))
    return [*rows, *(_page_size(run, account) if account.store.database == "SQLite" else [])]


def _pages(account: FullAccount) -> Iterator[Page]:
    link, links = f"/links/{account.store.link}", len(account.store.links)
    yield Page("/", "overview")
    yield Page("/stats", "statistics")
    yield Page("/stats?lists=", "statistics, lists", part="lists")
    yield Page("/stats?period=12m", "statistics of a year")
    yield Page("/stats?period=12m&lists=", "statistics of a year, lists", part="lists")
    yield Page(f"/stats?{_OTHER_TIME_ZONE}", "statistics in another time zone")
    yield Page(f"/stats?{_OTHER_TIME_ZONE}&lists=", "statistics in another time zone, lists", part="lists")
    yield Page("/links", "newest links")
    yield Page("/links?sort=clicks", "links by clicks")
    yield Page("/links?sort=clicks&range=90d", "links by clicks of 90 days")
    yield Page("/links?sort=title", "links by title")
    yield Page("/links?search=landing", "links, search matching all")
    yield Page("/links?search=landing&sort=clicks", "links by clicks, search matching all")
    yield Page(f"/links?search=Page+{links * 42 // 100}+of", "links, search matching one")
    yield Page("/links?search=https://www.example.com/landing/b0420", "links, search for part of a URL")
    yield Page("/links?search=autumn", "links, search matching none")
    yield Page(f"/links?tag={TAG}", "links with a tag of half of the links")
    yield Page("/links?status=active", "active links")
    yield Page("/links?status=inactive", "inactive links")
    yield Page(f"/links?hostname={HOSTNAME}", "links of a domain")
    yield Page(f"/links?page={links // 50}", "links, middle page")
    yield Page(link, "link statistics")
    yield Page(f"{link}?lists=", "link statistics, lists", part="lists")
    yield Page("/account/members", f"members, first page of {MEMBERS}")
    yield Page("/account/members?page=3&role=editor", "members with a role")
    yield Page("/account/members?search=member49", "members, search")
    log = "/account/audit"
    yield Page(log, f"audit log of {account.entries:,} entries")
    yield Page(f"{log}?by={account.rare_actor}", "audit log, few entries of an API key")
    yield Page(f"{log}?action=link.deleted&since=2020-01-01", "audit log, few entries of an action since a day")
    yield Page(f"{log}?item={link.rpartition('/')[2]}", "audit log, entries of a link")
    yield Page(f"{log}?text=matches+none", "audit log, text that matches none")
    yield Page(f"{log}?by={account.store.account}&action=link.deleted", "audit log, two filters that match none")
    yield from _corners(links)
    yield Page("/links/new")
    yield Page(f"{link}/edit")
    yield Page(f"/links/check-slug?slug={slug_of(1)}", part="slug-state")
    yield Page(f"{link}/qrcode")
    yield Page(f"{link}/delete")
    yield Page("/domains")
    yield Page(f"/domains/{account.domain}")
    yield Page("/pixels")
    yield Page(f"/pixels/{account.pixel}")
    yield Page("/webhooks")
    yield Page(f"/webhooks/{account.webhook}")
    yield Page(f"/webhooks/{account.webhook}?page=3000")
    for path in ("/integrations/api", "/account", "/account/security", "/account/sessions", "/account/data"):
        yield Page(path)
    for path in (
        "/account/settings",
        "/account/accounts",
        "/account/two-factor",
        "/account/sign-in-rules",
        f"/integrations/api/{account.key}",
        "/account/delete",
        "/plan",
        "/docs",
    ):
        yield Page(path)
    for path in ("/login", "/signup", "/forgot"):
        yield Page(path, is_public=True)


def _corners(links: int) -> Iterator[Page]:
    """What is rarely asked for and takes longer."""
    zones = ("Asia/Tokyo", "America/Los_Angeles")
    for query, name in (
        ("period=24h", "statistics of the last 24 hours"),
        *((f"period=7d&timezone={zone}", f"statistics of 7 days, {zone}") for zone in zones),
        *((f"period=30d&timezone={zone}", f"statistics of 30 days, {zone}") for zone in zones),
        ("period=90d&timezone=Asia/Tokyo", "statistics of 90 days, Asia/Tokyo"),
        ("period=12m&timezone=Asia/Tokyo", "statistics of a year, Asia/Tokyo"),
    ):
        yield Page(f"/stats?{query}", name)
        yield Page(f"/stats?{query}&lists=", f"{name}, lists", "lists")
    middle, last = links // 50, links // 25
    for query, name in (
        (f"sort=clicks&page={middle}", "links by clicks, middle page"),
        (f"sort=clicks&page={last}", "links by clicks, last page"),
        (f"sort=title&page={middle}", "links by title, middle page"),
        (f"tag={TAG}&page={middle // 2}", "links with a common tag, middle page"),
        (f"tag={TAG}&sort=clicks&page={middle // 2}", "links with a common tag by clicks, middle page"),
        ("search=%C3%A9", "links, search for a character of none"),
        ("search=q!", "links, search for two characters of none"),
        ("search=q!&sort=clicks", "links by clicks, search for two characters of none"),
        ("status=inactive&sort=clicks", "inactive links by clicks"),
    ):
        yield Page(f"/links?{query}", name)


def page_times(port: int, cookie: str, page: Page) -> list[float]:
    headers = {} if page.is_public else {"Cookie": cookie}
    if page.part:
        headers |= {"HX-Request": "true", "HX-Target": page.part}
    client, times = http.client.HTTPConnection("127.0.0.1", port), []
    for _ in range(_UNTIMED + _CALLS):
        began = time.perf_counter()
        client.request("GET", page.path, headers=headers)
        response = client.getresponse()
        content = response.read()
        times.append((time.perf_counter() - began) * 1000)
        if response.status != 200:
            raise Failed(f"{page.path}: {response.status}: {content[:300]!r}")
    client.close()
    return times[_UNTIMED:]


def _row(what: str, times: Sequence[float], account: FullAccount, more: str = "") -> Row:
    store = account.store
    detail = f"{len(store.links):,} links, {store.clicks:,} clicks; p50 {percentile(times, 50):.1f} ms{more}"
    return measured(f"{what}, p95 on {store.database}", percentile(times, 95), detail, " ms")


def _without_ids(path: str) -> str:
    return re.sub(r"[0-9a-f-]{36}", "…", path)


def _page_size(run: Run, account: FullAccount) -> list[Row]:
    """Of the largest page, except the API reference, whose third-party script is on no other page."""
    with waypost(account.store, run.new_directory()) as server:
        paths = [page.path for page in _pages(account) if not (page.part or page.is_public or page.path == "/docs")]
        sizes = {path: _bytes_of(server.port, account.cookies[-1], path) for path in paths}
    largest = max(sizes, key=lambda path: sizes[path])
    detail = f"{_without_ids(largest)}, the largest of {len(paths)} pages; HTML and all its files, compressed"
    return [measured("size of the first page load", sizes[largest] / 1000, detail, " KB")]


def _bytes_of(port: int, cookie: str, path: str) -> int:
    client = http.client.HTTPConnection("127.0.0.1", port)

    def fetch(path: str) -> bytes:
        client.request("GET", path, headers={"Cookie": cookie, "Accept-Encoding": "gzip"})
        return client.getresponse().read()

    html = fetch(path)
    size = len(html) + sum(len(fetch(file.decode())) for file in set(_FILE.findall(gzip.decompress(html))))
    client.close()
    return size
