"""Stats and pages of clicks with ten million stored, through HTTP with key, scope and budget checked.

One client, one request after the other: it is how long an answer takes, not how many come in a second. Judged by the
p99, after a few calls that open connections and fill caches.
"""

import asyncio
from datetime import UTC, datetime, timedelta

from bench.client import Client, percentile
from bench.report import Failed, Row, at_most, told
from bench.run import Run
from bench.seed import add_keys
from bench.servers import waypost
from bench.stored import Stored
from waypost.database import Database

_CALLS = 100
_UNTIMED = 10
_EACH = 55  # requests a key makes: within its budget


def measure(run: Run) -> list[Row]:
    return [row for database in ("SQLite", "PostgreSQL") for row in _rows(run, run.full_store(database))]


def _rows(run: Run, stored: Stored) -> list[Row]:
    with waypost(stored, run.new_directory()) as server:
        return [
            _row(what, bound, asyncio.run(_times(server.port, stored, path)), stored)
            for what, path, bound in _questions(stored)
        ]


def _questions(stored: Stored) -> list[tuple[str, str, float | None]]:
    """What is asked, its path, and in how many milliseconds it is to be answered."""
    link, account = f"/v1/links/{stored.link}", "/v1"
    whole = f"from={datetime.now(UTC) - timedelta(days=400):%Y-%m-%d}"
    half_hour = "interval=hour&timezone=Asia/Kolkata"
    deep = min(1_000, stored.link_clicks // 15)
    busy = f"a link with {stored.link_clicks:,} clicks"
    return [
        (f"stats of {busy}", f"{link}/stats", 20),
        ("stats of the largest account's 30 days", f"{account}/stats", 50),
        (f"stats of {busy}, over all time", f"{link}/stats?{whole}", None),
        (f"stats of {busy}, by the hour in a half-hour zone", f"{link}/stats?{half_hour}", None),
        ("stats of the largest account, over all time", f"{account}/stats?{whole}", None),
        ("stats of the largest account, by the hour in a half-hour zone", f"{account}/stats?{half_hour}", None),
        (f"newest page of clicks of {busy}", f"{link}/clicks", 5),
        ("newest page of clicks of the largest account", f"{account}/clicks", 5),
        (f"page {deep:,} of clicks of {busy}", f"{link}/clicks?page={deep}", 50),
        (f"page {deep:,} of clicks of the largest account", f"{account}/clicks?page={deep}", 50),
    ]


def _row(what: str, bound: float | None, times: list[float], stored: Stored) -> Row:
    what, p99 = f"{what}, p99 on {stored.database}", percentile(times, 99)
    detail = f"{stored.clicks:,} clicks stored; p50 {percentile(times, 50):.1f} ms over {len(times)} calls"
    return told(what, f"{p99:.1f} ms", detail) if bound is None else at_most(what, p99, bound, detail, " ms")


async def _times(port: int, stored: Stored, path: str) -> list[float]:
    keys = await _new_keys(stored)
    client, times = await Client.open(port), []
    for number in range(_UNTIMED + _CALLS):
        answer = await client.request("GET", f"/api{path}", key=keys[number // _EACH])
        if answer.status != 200 or not answer.data:
            raise Failed(f"{path}: {answer.status}: {answer.body[:300]!r}")
        times.append(answer.milliseconds)
    await client.close()
    return times[_UNTIMED:]


async def _new_keys(stored: Stored) -> list[str]:
    db = Database(stored.url)
    keys = await add_keys(db, stored.account, -(-(_UNTIMED + _CALLS) // _EACH))
    await db.close()
    return keys
