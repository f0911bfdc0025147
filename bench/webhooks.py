"""Webhook deliveries: throughput, duration of a claim, isolation of receivers from each other, and memory.

The deliverer runs in this process as it does in a worker, with TLS connections to receivers in another process, on all
cores. Every outcome is committed. A minimal client that signs, checks and stores nothing shows what the receivers can
handle.
"""

import asyncio
import ssl
import time
from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from uuid import UUID

import uvloop

from bench.client import percentile
from bench.postgres import postgres
from bench.report import Failed, Row, measured
from bench.run import Run
from bench.seed import say
from bench.servers import on_all_cores
from bench.webhook_setup import (
    RECEIVERS,
    Receivers,
    count_of,
    enqueue,
    mark_all_delivered,
    new_loop,
    new_poster,
    receivers,
    subscribe,
)
from waypost.database import Database
from waypost.database.migrations import migrate
from waypost.kit.clock import now
from waypost.resources.webhooks import queue
from waypost.resources.webhooks.deliverer import Deliverer
from waypost.resources.webhooks.delivery_limiter import DeliveryLimiter
from waypost.worker.run import collect_garbage_rarely

_ROUNDS = 3
_CLAIM = 32
_EACH = 25  # deliveries to each healthy receiver …
_EVERY = 0.2  # … one every so many seconds
_QUEUED = 1_000  # to the one that hangs
_TIMEOUT = 60.0


def measure(run: Run) -> list[Row]:
    with on_all_cores(), receivers(run.new_directory()) as to:
        rows = [row for database, url in _databases(run) for row in _rows(database, url, to, run)]
        return [*rows, _memory(run, to)]


def _databases(run: Run) -> Iterator[tuple[str, str]]:
    yield "SQLite", _new_file(run)
    with postgres() as url:
        yield "PostgreSQL", url


def _new_file(run: Run) -> str:
    return f"sqlite:///{run.new_directory() / 'waypost.db'}"


def _rows(database: str, url: str, to: Receivers, run: Run) -> list[Row]:
    uvloop.run(_migrated(url))
    return [
        _rate(database, url, to, run.deliveries),
        uvloop.run(_isolation(database, url, to)),
        uvloop.run(_claims(database, url, run.pending)),
    ]


async def _migrated(url: str) -> None:
    collect_garbage_rarely()  # as a worker does
    db = Database(url)
    await migrate(db)
    await db.close()


def _rate(database: str, url: str, to: Receivers, count: int) -> Row:
    """Alternates between the service and the minimal client."""
    ours, bare = list[float](), list[float]()
    for _ in range(_ROUNDS):
        ours.append(uvloop.run(_delivered(url, to, count)))
        bare.append(uvloop.run(_bare(to, count)))
        say(f"{ours[-1]:,.0f}/s, bare {bare[-1]:,.0f}/s")
    mine, theirs = percentile(ours, 50), percentile(bare, 50)
    detail = f"{count:,} to {RECEIVERS} TLS receivers; {min(ours):,.0f} to {max(ours):,.0f}/s;"
    detail += f" {mine / theirs:.2f} of the {theirs:,.0f}/s of a minimal client"
    return measured(f"webhook deliveries on {database}", mine, detail, "/s")


async def _delivered(url: str, to: Receivers, count: int) -> float:
    """Deliveries a second."""
    db, poster = Database(url), new_poster(to)
    await enqueue(db, await subscribe(db, to.fast), count)
    loop, began = new_loop(db, poster), time.perf_counter()
    while await loop.step():
        pass
    seconds = time.perf_counter() - began
    delivered = await count_of(db, "delivered")
    await poster.close()
    await db.close()
    if delivered != count:
        raise Failed(f"{delivered:,} of {count:,} were delivered")
    return count / seconds


async def _bare(to: Receivers, count: int) -> float:
    """The same with a minimal client, over as many connections as the deliverer uses."""
    context, each = ssl.create_default_context(cafile=to.ca_file), count // Deliverer.max_concurrent
    body = b'{"data":{}}'.ljust(600)
    request = b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)
    ports = [to.fast[number % RECEIVERS] for number in range(Deliverer.max_concurrent)]
    streams = [await asyncio.open_connection("127.0.0.1", port, ssl=context) for port in ports]

    async def post(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for _ in range(each):
            writer.write(request)
            await reader.readuntil(b"\r\n\r\nok")
        writer.close()

    began = time.perf_counter()
    await asyncio.gather(*(post(*stream) for stream in streams))
    return each * Deliverer.max_concurrent / (time.perf_counter() - began)


async def _isolation(database: str, url: str, to: Receivers) -> Row:
    db, poster = Database(url), new_poster(to)
    hanging, *healthy = await subscribe(db, [to.hanging, *to.fast])
    await enqueue(db, [hanging], _QUEUED)
    loop = new_loop(db, poster)
    await loop.step()  # the first attempts hang now
    to.delays()
    recording = asyncio.create_task(_record_events(db, healthy))
    delays, deadline = list[float](), time.monotonic() + _TIMEOUT
    while len(delays) < RECEIVERS * _EACH and time.monotonic() < deadline:
        await loop.step()
        if recording.done():
            delays += await asyncio.to_thread(to.delays)
    await recording
    await loop.close()
    await poster.close()
    await db.close()
    if len(delays) < RECEIVERS * _EACH:
        raise Failed(f"{len(delays):,} deliveries reached the healthy receivers")
    detail = f"{RECEIVERS / _EVERY:.0f} a second to {RECEIVERS} healthy ones, {_QUEUED:,} queued to one that hangs;"
    detail += f" p50 {percentile(delays, 50) * 1000:.0f} ms"
    what = f"event to receiver while another receiver hangs, p99 on {database}"
    return measured(what, percentile(delays, 99), detail, " s")


async def _record_events(db: Database, ids: Sequence[UUID]) -> None:
    for _ in range(_EACH):
        await enqueue(db, ids, len(ids))
        await asyncio.sleep(_EVERY)


async def _claims(database: str, url: str, pending: int) -> Row:
    db, few = Database(url), pending // 100
    ids = await subscribe(db, range(1, RECEIVERS + 1))
    await enqueue(db, ids, few)
    with_few = await _claim_time(db)
    await enqueue(db, ids, pending - few)
    with_many = await _claim_time(db)
    await db.close()
    detail = f"{_CLAIM} deliveries of {RECEIVERS} subscriptions; {with_few * 1000:.1f} ms with {few:,} pending,"
    detail += f" {with_many * 1000:.1f} ms with {pending:,}"
    return measured(
        f"duration of a claim on {database} with 100 times as many pending deliveries", with_many / with_few, detail
    )


async def _claim_time(db: Database) -> float:
    """The median, in seconds."""
    times = list[float]()
    for _ in range(30):
        async with db.write() as tx:
            began = time.perf_counter()
            claimed = await queue.claim(
                tx, clock=now, lease=timedelta(seconds=30), limit=_CLAIM, limiter=DeliveryLimiter()
            )
            times.append(time.perf_counter() - began)
            await queue.settle(tx, [queue.DeliveryOutcome(each, "delivered", response_status=200) for each in claimed])
        if len(claimed) != _CLAIM:
            raise Failed(f"{len(claimed)} were claimed")
    return percentile(times, 50)


def _memory(run: Run, to: Receivers) -> Row:
    """Private memory of this process after the first tenth and at the end. The receivers never stop sending.

    As many deliveries are stored before as are sent, so that SQLite's caches, which grow to a limit, are full.
    """
    url = _new_file(run)
    uvloop.run(_migrated(url))
    sizes = uvloop.run(_sizes(url, to, run.endless))
    change = max(abs(size / sizes[0] - 1) for size in sizes[1:]) * 100
    detail = f"after {run.endless // 10:,}: {sizes[0]:.1f} MB, after {run.endless:,}: {sizes[-1]:.1f} MB"
    return measured("largest change of memory while every response is endless", change, detail, " %")


async def _sizes(url: str, to: Receivers, count: int) -> list[float]:
    db, poster = Database(url), new_poster(to)
    ids, sizes = await subscribe(db, [to.endless] * RECEIVERS), list[float]()
    loop = new_loop(db, poster)
    await enqueue(db, ids, count)
    await mark_all_delivered(db)
    for _ in range(10):
        await enqueue(db, ids, count // 10)
        while await loop.step():
            pass
        sizes.append(_own_memory())
    await poster.close()
    await db.close()
    return sizes


def _own_memory() -> float:
    """Anonymous pages, in MB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("RssAnon:"))
