"""Statistics and pages of clicks with ten million clicks stored, over HTTP, with key, scope and rate limit checked.

One client sends one request after the other: the latency is measured, not the throughput. A few calls before open
connections and fill caches. A click takes fewer bytes the more there are of its link on its day.
"""

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

from sqlalchemy import text

from bench.click_store import ClickStore
from bench.client import Client, percentile
from bench.history import DAYS
from bench.report import Failed, Row, measured
from bench.run import Run
from bench.seed import add_keys
from bench.servers import waypost
from waypost.database import Database

_CALLS = 100
_UNTIMED = 10
_EACH = 55  # requests of a key: within its rate limit


def measure(run: Run) -> list[Row]:
    return [row for store in run.click_stores() for row in _rows(run, store)]


def _rows(run: Run, store: ClickStore) -> list[Row]:
    with waypost(store, run.new_directory()) as server:
        rows = [_row(what, asyncio.run(_times(server.port, store, path)), store) for what, path in _requests(store)]
    size = asyncio.run(_size(store)) / store.clicks
    detail = f"with statistics and the {len(store.links):,} links"
    return [
        *rows,
        measured(f"bytes for each of {store.clicks:,} clicks in {store.database}", size, detail),
    ]


async def _size(store: ClickStore) -> int:
    if store.database == "SQLite":
        return Path(store.url.removeprefix("sqlite:///")).stat().st_size
    db = Database(store.url)
    async with db.read() as tx:
        size = (await tx.execute(text("SELECT pg_database_size(current_database())"))).scalar_one()
    await db.close()
    return int(size)


def _requests(store: ClickStore) -> list[tuple[str, str]]:
    """(name of the row, path)"""
    link, account = f"/v1/links/{store.link}", "/v1"
    all_time = f"from={datetime.now(UTC) - timedelta(days=400):%Y-%m-%d}"
    half_hour = "interval=hour&timezone=Asia/Kolkata"
    deep = min(1_000, store.link_clicks // 15)
    busy = f"a link with {store.link_clicks:,} clicks"
    filtered = "country=US,DE&device=-tablet"
    days = min(DAYS, DAYS * 2_200_000 // store.clicks)  # the largest account has three tenths, more of the latest
    million = f"from={datetime.now(UTC) - timedelta(days=days):%Y-%m-%d}"
    return [
        (f"stats of {busy}", f"{link}/stats"),
        ("stats of the largest account, 30 days", f"{account}/stats"),
        (f"stats of {busy}, over all time", f"{link}/stats?{all_time}"),
        (f"stats of {busy}, by hour in a half-hour time zone", f"{link}/stats?{half_hour}"),
        ("stats of the largest account, over all time", f"{account}/stats?{all_time}"),
        ("stats of the largest account, by hour in a half-hour time zone", f"{account}/stats?{half_hour}"),
        (f"filtered stats of {busy}, over all time", f"{link}/stats?{filtered}&{all_time}"),
        ("filtered stats of about a million clicks", f"{account}/stats?{filtered}&{million}"),
        (f"newest page of clicks of {busy}", f"{link}/clicks"),
        ("newest page of clicks of the largest account", f"{account}/clicks"),
        (f"page {deep:,} of clicks of {busy}", f"{link}/clicks?page={deep}"),
        (f"page {deep:,} of clicks of the largest account", f"{account}/clicks?page={deep}"),
    ]


def _row(what: str, times: list[float], store: ClickStore) -> Row:
    what, p99 = f"{what}, p99 on {store.database}", percentile(times, 99)
    detail = f"{store.clicks:,} clicks stored; p50 {percentile(times, 50):.1f} ms over {len(times)} calls"
    return measured(what, p99, detail, " ms")


async def _times(port: int, store: ClickStore, path: str) -> list[float]:
    return await response_times(port, store.url, store.account, path, calls=_CALLS)


async def response_times(port: int, url: str, account: UUID, path: str, *, calls: int) -> list[float]:
    """Return the milliseconds of `calls` requests of the account, after some that are not timed."""
    db = Database(url)
    keys = await add_keys(db, account, -(-(_UNTIMED + calls) // _EACH))
    await db.close()
    client, times = await Client.open(port), []
    for number in range(_UNTIMED + calls):
        response = await client.request("GET", f"/api{path}", key=keys[number // _EACH])
        if response.status != 200 or not response.data:
            raise Failed(f"{path}: {response.status}: {response.body[:300]!r}")
        times.append(response.milliseconds)
    await client.close()
    return times[_UNTIMED:]
