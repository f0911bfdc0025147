"""The composition root: settings become doors, doors open rooms. The only place that knows how all parts fit."""

import asyncio
import contextlib
import gc
import socket
import time
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from urllib.parse import urlsplit

import structlog
import uvicorn
from fastapi import FastAPI

from waypost.database import Database
from waypost.database.secrets import KeyRing
from waypost.kit.clock import Clock, now
from waypost.kit.reserved import RESERVED
from waypost.outbound import Blocklist, Destinations, Outbound, Poster, SafeBrowsing, Safety
from waypost.redirect import ChangeFeed, Plane, RouteTable, Spool, protocol_for
from waypost.redirect.asgi import Site
from waypost.redirect.plane import keep_in_order
from waypost.resources import links, pixels, qrcodes, webhooks
from waypost.resources.account import api as account_api
from waypost.resources.clicks import Drainer, Rules
from waypost.resources.clicks import api as clicks_api
from waypost.resources.clicks.intake import countries
from waypost.resources.clicks.intake.robots import robot_of
from waypost.resources.clicks.retention import Retention
from waypost.resources.clicks.stats import api as stats_api
from waypost.resources.clicks.stats.owed import JOB
from waypost.resources.clicks.stats.rebuild_job import Rebuild
from waypost.resources.links import api as links_api
from waypost.resources.links import media, previews
from waypost.resources.links.routes import CHANNEL, PostgresRoutes, SqliteRoutes
from waypost.resources.pixels import api as pixels_api
from waypost.resources.pixels import events
from waypost.resources.qrcodes import api as qrcodes_api
from waypost.resources.webhooks import Deliverer, Sender
from waypost.resources.webhooks import api as webhooks_api
from waypost.resources.webhooks.figures import Figures
from waypost.secret_key import derived_key, derived_keys
from waypost.settings import Settings
from waypost.web import health, home, metrics
from waypost.web.api import new_api
from waypost.web.background import cancel, every
from waypost.web.guard import Guard
from waypost.web.server import Server
from waypost.worker import garbage, jobs
from waypost.worker.loop import Poller, Worker

log = structlog.get_logger(__name__)

_KEEP_ALIVE = 15  # seconds an idle connection is kept
_DRAIN = 12  # seconds that requests under way get at the end


@dataclass(frozen=True, slots=True)
class Web:
    """What a web process consists of; alive inside `open_web`."""

    site: Site
    plane: Plane
    db: Database
    tasks: "Sequence[asyncio.Task[None]]"
    """Run as long as it lives; one that ends by itself has failed."""


@contextlib.asynccontextmanager
async def open_web(
    settings: Settings,
    *,
    clock: Clock = now,
    time_ns: Callable[[], int] = time.time_ns,
    is_leaving: Callable[[], bool] = lambda: False,
) -> AsyncIterator[Web]:
    """`is_leaving` turns readiness off before the process ends."""
    async with contextlib.AsyncExitStack() as stack:
        db = Database(settings.database)
        stack.push_async_callback(db.close)
        feed = ChangeFeed(settings.data_dir / "run" / "changes")
        stack.callback(feed.close)
        source = _source(settings, db)
        stack.callback(source.close)
        table = RouteTable(source, feed, capacity=settings.routes_in_memory)
        spool = Spool(settings.data_dir / "spool", limit=settings.spool_limit_mb << 20)
        stack.callback(spool.close)
        plane = _plane(settings, table, spool, time_ns)
        guard = Guard.open(
            db, data_dir=settings.data_dir, base_url=settings.base_url, trusted=settings.trusted_proxies, clock=clock
        )
        stack.push_async_callback(guard.flush)
        outbound = _outbound(settings)
        doors = _link_doors(settings, db, outbound, feed, clock)
        stack.callback(doors.images.close)
        tasks = [
            asyncio.create_task(_follow_changes(settings, source, table)),
            asyncio.create_task(every(5, guard.flush)),
        ]
        stack.push_async_callback(cancel, tasks)
        preview = partial(previews.page_of, db, settings.shared_domain, settings.base_url)
        hooks = webhooks.Doors(db, webhooks.Receivers(outbound), _keys(settings), settings.base_url, clock)
        tags = pixels.Doors(db, _keys(settings), partial(links.reroute, doors), settings.base_url, clock)
        codes = _code_doors(settings, db, clock)
        stack.callback(codes.pictures.close)
        site = Site(plane, _api(settings, doors, hooks, tags, codes, guard, is_leaving), preview)
        yield Web(site, plane, db, tasks)


def _plane(settings: Settings, table: RouteTable, spool: Spool, time_ns: Callable[[], int]) -> Plane:
    return Plane(
        table,
        spool,
        is_robot=lambda user_agent: robot_of(user_agent) is not None,
        shared_host=settings.shared_domain,
        app_host=urlsplit(settings.base_url).netloc,
        app_segments={"", *RESERVED},
        time_ns=time_ns,
    )


def _api(
    settings: Settings,
    doors: links.Doors,
    hooks: webhooks.Doors,
    tags: pixels.Doors,
    codes: qrcodes.Doors,
    guard: Guard,
    is_leaving: Callable[[], bool],
) -> FastAPI:
    clock = doors.clock
    api = new_api()
    api.include_router(health.routes(doors.db, is_leaving=is_leaving))
    api.include_router(home.routes())
    figures = Figures(doors.db, clock=clock)
    api.include_router(metrics.routes(settings.data_dir, figures.gauges, trusted=settings.trusted_proxies))
    api.include_router(account_api.routes(doors.db, guard, shared_domain=settings.shared_domain, clock=clock))
    api.include_router(links_api.routes(doors, guard))
    api.include_router(clicks_api.routes(doors.db, guard, base_url=settings.base_url))
    api.include_router(stats_api.routes(doors.db, guard, shared_domain=settings.shared_domain, clock=clock))
    api.include_router(webhooks_api.routes(hooks, guard))
    api.include_router(pixels_api.routes(tags, guard))
    api.include_router(qrcodes_api.routes(codes, guard))
    api.include_router(media.routes(doors.media))
    return api


def _link_doors(settings: Settings, db: Database, outbound: Outbound, feed: ChangeFeed, clock: Clock) -> links.Doors:
    safety = Safety(
        Blocklist(settings.blocklist) if settings.blocklist else None,
        SafeBrowsing(outbound, settings.safe_browsing_key.get_secret_value(), str(settings.safe_browsing_url))
        if settings.safe_browsing_key
        else None,
    )
    is_one_host = urlsplit(settings.base_url).netloc == settings.shared_domain
    return links.Doors(
        db=db,
        destinations=Destinations(outbound, safety),
        media=settings.data_dir / "media",
        routes_changed=feed.publish,
        shared_domain=settings.shared_domain,
        base_url=settings.base_url,
        clock=clock,
        reserved=RESERVED if is_one_host else frozenset(),
    )


def _code_doors(settings: Settings, db: Database, clock: Clock) -> qrcodes.Doors:
    urls = qrcodes.Urls(settings.base_url, derived_keys(settings, "qrcodes"))
    return qrcodes.Doors(db, urls, settings.shared_domain, settings.base_url, clock)


def _outbound(settings: Settings) -> Outbound:
    return Outbound(allow=settings.outbound_allow, dns_servers=settings.dns_servers, ca_file=settings.outbound_ca_file)


def _source(settings: Settings, db: Database) -> SqliteRoutes | PostgresRoutes:
    host, keys = settings.shared_domain, _keys(settings)
    return SqliteRoutes(db.path, host, keys) if db.dialect == "sqlite" else PostgresRoutes(db, host, keys)


async def _follow_changes(settings: Settings, source: SqliteRoutes | PostgresRoutes, table: RouteTable) -> None:
    """News that does not come through this machine's feed: of other machines, and of processes that died untold."""
    if isinstance(source, PostgresRoutes):
        from waypost.database.listen import follow  # noqa: PLC0415  # psycopg's 7 MB are for those who use PostgreSQL

        table.distrust()  # until the connection that brings the news stands
        await follow(
            settings.database,
            CHANNEL,
            on_news=lambda slug: table.drop(slug.encode()),
            on_found=table.trust,
            on_lost=table.distrust,
        )

    async def poll() -> None:
        for slug in source.news():
            table.drop(slug.encode())

    await every(1, poll)


async def run_web(
    settings: Settings,
    *,
    role: str,
    sockets: list[socket.socket],
    stop: asyncio.Event,
    clock: Clock = now,
    time_ns: Callable[[], int] = time.time_ns,
) -> None:
    """Serves until `stop` is set and what was under way is answered."""
    async with open_web(settings, clock=clock, time_ns=time_ns, is_leaving=stop.is_set) as web:
        config = uvicorn.Config(
            web.site,
            http=protocol_for(web.plane),
            lifespan="off",
            access_log=False,
            log_config=None,
            log_level="warning",
            server_header=False,
            proxy_headers=False,  # believed from trusted proxies only, where it matters: web.guard, clicks.intake
            timeout_keep_alive=_KEEP_ALIVE,
            timeout_graceful_shutdown=_DRAIN,
        )
        server = Server(config)
        order = keep_in_order(web.plane, server.server_state, idle=_KEEP_ALIVE)
        lasting = [*web.tasks, asyncio.create_task(order)]
        serving = asyncio.create_task(server.serve(sockets))
        leaving = asyncio.create_task(server.leave_on(stop))
        gc.freeze()  # what has been imported stays: looking through it all took 60 ms at every full collection
        log.info("serving", role=role, base_url=settings.base_url, shared_domain=settings.shared_domain)
        try:
            await asyncio.wait([serving, *lasting], return_when=asyncio.FIRST_COMPLETED)
            server.should_exit = True
            await serving
            for task in lasting:
                if task.done():
                    await task  # raises what ended it: the process ends too, and the parent starts another
        finally:
            await cancel([leaving, lasting[-1]])


async def run_worker(settings: Settings, *, stop: asyncio.Event) -> None:
    """Works until `stop` is set and what was under way is done."""
    db = Database(settings.database)
    drainer = Drainer(db, settings.data_dir / "spool", _rules(settings))
    poster = Poster(_outbound(settings))
    deliverer = _deliverer(settings, db, poster)
    event_sender = _event_sender(settings, db, poster)
    try:
        garbage.look_seldom()
        log.info("working")
        retention = Retention(db, settings.click_retention_days, clock=now)
        pollers: list[Poller] = [
            drainer,
            deliverer,
            retention,
            webhooks.LogRetention(db, clicks_kept=settings.click_retention_days, clock=now),
            webhooks.Leftovers(db),
            event_sender,
            events.Leftovers(db, clock=now),
        ]
        handlers: jobs.Handlers = {JOB: Rebuild(db, clock=now)}
        await Worker(db, handlers, clock=now, pollers=pollers).run(stop)
    finally:
        async with contextlib.AsyncExitStack() as stack:  # also where one of them fails
            for last in (db, drainer, poster):
                stack.push_async_callback(last.close)
            await asyncio.gather(deliverer.close(), event_sender.close())  # at once: the parent waits for none twice


def _deliverer(settings: Settings, db: Database, poster: Poster) -> Deliverer:
    timeout = settings.webhook_timeout
    sender = Sender(poster.post, _keys(settings), clock=now, timeout=timeout, backoff=settings.webhook_backoff)
    return Deliverer(db, sender, clock=now, timeout=timeout)


def _event_sender(settings: Settings, db: Database, poster: Poster) -> events.EventSender:
    urls = {"facebook": settings.meta_url, "tiktok": settings.tiktok_url, "pinterest": settings.pinterest_url}
    places = {platform: str(url) for platform, url in urls.items()}
    return events.EventSender(db, events.Sender(db, _keys(settings), poster.post, places, clock=now), clock=now)


def _keys(settings: Settings) -> KeyRing:
    return KeyRing.from_setting(settings.secret_key.get_secret_value() if settings.secret_key else "")


def _rules(settings: Settings) -> Rules:
    return Rules(
        settings.trusted_proxies,
        settings.ip_privacy,
        countries.opened(settings.geoip_database).of,
        derived_key(settings, "visitors"),
        settings.shared_domain,
        urlsplit(settings.base_url).scheme,
    )
