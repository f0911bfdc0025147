"""Composes the HTTP application from the settings: redirects, API and dashboard."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from functools import partial

from fastapi import FastAPI
from starlette.applications import Starlette
from starlette.types import ASGIApp

from waypost import wiring
from waypost.database import Database
from waypost.kit.clock import Clock, now
from waypost.kit.reserved import INFRASTRUCTURE, RESERVED
from waypost.redirect import ChangeFeed, HostTable, Plane, RouteTable, Spool
from waypost.redirect.asgi import Site
from waypost.resources import domains
from waypost.resources.account import api as account_api
from waypost.resources.account import pages as account_pages
from waypost.resources.clicks import api as clicks_api
from waypost.resources.clicks.dashboard.pages import StatsPages
from waypost.resources.clicks.intake.bots import bot_of
from waypost.resources.clicks.stats import api as stats_api
from waypost.resources.clicks.stats.read import sparklines
from waypost.resources.domains import api as domains_api
from waypost.resources.domains import pages as domains_pages
from waypost.resources.domains import tls_ask
from waypost.resources.domains.certificates import challenges
from waypost.resources.links import api as links_api
from waypost.resources.links import media, previews
from waypost.resources.links import pages as links_pages
from waypost.resources.pixels import api as pixels_api
from waypost.resources.pixels import pages as pixels_pages
from waypost.resources.plan import api as plan_api
from waypost.resources.plan import pages as plan_pages
from waypost.resources.qrcodes import api as qrcodes_api
from waypost.resources.qrcodes import pages as qrcodes_pages
from waypost.resources.webhooks import api as webhooks_api
from waypost.resources.webhooks import pages as webhooks_pages
from waypost.resources.webhooks.pending import PendingGauges
from waypost.settings import Settings
from waypost.web.api import new_api
from waypost.web.dashboard import Assets, SessionAuth, Views, new_dashboard
from waypost.web.guard import Guard
from waypost.web.internal import metrics_route
from waypost.web.probes import health_routes, new_probes
from waypost.worker.loop import cancel, every

_HOSTS_IN_MEMORY = 50_000
_READ_LIMIT = 2.0  # seconds of a statement that reads


@dataclass(frozen=True, slots=True)
class Web:
    """The parts of a web process, valid inside `open_web`."""

    site: Site
    plane: Plane
    db: Database
    tasks: "list[asyncio.Task[None]]"
    """Background tasks. A task that ends by itself has failed."""


@dataclass(frozen=True, slots=True)
class _Redirects:
    """The parts that answer visits."""

    plane: Plane
    db: Database
    feed: ChangeFeed
    hosts: HostTable
    task: "asyncio.Task[None]"

    def site(self, settings: Settings, app: ASGIApp) -> Site:
        preview = partial(previews.render_page, self.db, settings.shared_domain, settings.base_url)
        return Site(self.plane, app, preview, wiring.is_https(settings))


@contextlib.asynccontextmanager
async def open_web(
    settings: Settings,
    *,
    clock: Clock = now,
    time_ns: Callable[[], int] = time.time_ns,
    is_leaving: Callable[[], bool] = lambda: False,
) -> AsyncIterator[Web]:
    """`is_leaving` makes the readiness probe fail before the process ends."""
    async with _open_redirects(settings, time_ns) as redirects, contextlib.AsyncExitStack() as stack:
        db, feed = redirects.db, redirects.feed
        guard = Guard(
            db, data_dir=settings.data_dir, base_url=settings.base_url, trusted=settings.trusted_proxies, clock=clock
        )
        stack.push_async_callback(guard.flush)
        resources = wiring.resource_deps(settings, db, feed, clock)
        stack.callback(resources.links.images.close)
        stack.callback(resources.qrcodes.image_cache.close)
        flushing = asyncio.create_task(every(5, guard.flush))
        stack.push_async_callback(cancel, [flushing])
        api = _api(settings, db, redirects.hosts, resources, guard, is_leaving)
        dashboard = _dashboard(settings, db, resources, clock, is_leaving, stack)
        site = redirects.site(settings, wiring.app_router(settings, api, dashboard))
        yield Web(site, redirects.plane, db, [redirects.task, flushing])


@contextlib.asynccontextmanager
async def open_redirect(
    settings: Settings,
    *,
    clock: Clock = now,
    time_ns: Callable[[], int] = time.time_ns,
    is_leaving: Callable[[], bool] = lambda: False,
) -> AsyncIterator[Web]:
    """Redirects, probes and ACME challenges, without API and dashboard."""
    async with _open_redirects(settings, time_ns) as redirects:
        probes = new_probe_app(settings, redirects.db, clock, is_leaving)
        if settings.tls:
            probes.include_router(challenges.routes(redirects.db))
        yield Web(redirects.site(settings, probes), redirects.plane, redirects.db, [redirects.task])


@contextlib.asynccontextmanager
async def _open_redirects(settings: Settings, time_ns: Callable[[], int]) -> AsyncIterator[_Redirects]:
    async with contextlib.AsyncExitStack() as stack:
        db = Database(settings.database, read_limit=_READ_LIMIT)
        stack.push_async_callback(db.close)
        feed = ChangeFeed(settings.data_dir / "run" / "changes")
        stack.callback(feed.close)
        source = wiring.route_source(settings, db)
        stack.callback(source.close)
        table = RouteTable(
            source, feed, capacity=settings.routes_in_memory, shared_host=settings.shared_domain.encode()
        )
        spool = Spool(settings.data_dir / "spool", limit=settings.spool_limit_mb << 20)
        stack.callback(spool.close)
        hosts = HostTable(domains.HostSource(db), feed, capacity=_HOSTS_IN_MEMORY)
        task = asyncio.create_task(wiring.follow_changes(settings, source, [table, hosts]))
        stack.push_async_callback(cancel, [task])
        yield _Redirects(_plane(settings, table, hosts, spool, time_ns), db, feed, hosts, task)


def new_probe_app(settings: Settings, db: Database, clock: Clock, is_leaving: Callable[[], bool]) -> FastAPI:
    app = new_probes()
    app.include_router(health_routes(db, is_leaving=is_leaving))
    gauges = PendingGauges(db, clock=clock).gauges
    app.include_router(
        metrics_route(settings.data_dir, gauges, trusted=settings.trusted_proxies, own_hosts=settings.own_hosts)
    )
    return app


def _is_bot(user_agent: bytes) -> bool:
    return bot_of(user_agent) is not None


def _plane(settings: Settings, table: RouteTable, hosts: HostTable, spool: Spool, time_ns: Callable[[], int]) -> Plane:
    return Plane(
        table,
        hosts,
        spool,
        is_bot=_is_bot,
        shared_host=settings.shared_domain,
        app_host=settings.base_host,
        app_segments={"", *RESERVED},
        everywhere=INFRASTRUCTURE,
        has_https=settings.base_url.startswith("https:"),
        time_ns=time_ns,
    )


def _api(
    settings: Settings,
    db: Database,
    hosts: HostTable,
    resources: wiring.ResourceDeps,
    guard: Guard,
    is_leaving: Callable[[], bool],
) -> FastAPI:
    clock = resources.links.clock
    api = new_api(settings.base_url)
    api.include_router(health_routes(db, is_leaving=is_leaving))
    api.include_router(challenges.routes(db))
    api.include_router(tls_ask.routes(hosts, trusted=settings.trusted_proxies, own_hosts=settings.own_hosts))
    gauges = PendingGauges(db, clock=clock).gauges
    api.include_router(
        metrics_route(settings.data_dir, gauges, trusted=settings.trusted_proxies, own_hosts=settings.own_hosts)
    )
    api.include_router(account_api.routes(db, guard, shared_domain=settings.shared_domain, clock=clock))
    api.include_router(links_api.routes(resources.links, guard))
    api.include_router(domains_api.routes(resources.domains, guard))
    api.include_router(qrcodes_api.routes(resources.qrcodes, guard))
    api.include_router(clicks_api.routes(db, guard, base_url=settings.base_url, clock=clock))
    api.include_router(stats_api.routes(db, guard, shared_domain=settings.shared_domain, clock=clock))
    api.include_router(webhooks_api.routes(resources.webhooks, guard))
    api.include_router(pixels_api.routes(resources.pixels, guard))
    api.include_router(plan_api.routes(resources.plan))
    api.include_router(media.routes(resources.links.media))
    return api


def _dashboard(
    settings: Settings,
    db: Database,
    resources: wiring.ResourceDeps,
    clock: Clock,
    is_leaving: Callable[[], bool],
    stack: contextlib.AsyncExitStack,
) -> Starlette:
    assets = Assets()
    views = Views(wiring.TEMPLATES, assets, base_url=settings.base_url, clock=clock)
    auth = SessionAuth(
        db,
        data_dir=settings.data_dir,
        base_url=settings.base_url,
        trusted=settings.trusted_proxies,
        ip_privacy=settings.ip_privacy,
        clock=clock,
    )
    figures = StatsPages(resources.links, auth, views, is_leaving)
    stack.push_async_callback(figures.live.close)
    pages = [
        *account_pages.routes(wiring.account_deps(settings, db, resources), auth, views),
        *links_pages.routes(resources.links, auth, views, sparklines=partial(sparklines, clock)),
        *figures.routes(),
        *qrcodes_pages.routes(resources.qrcodes, auth, views),
        *domains_pages.routes(resources.domains, auth, views),
        *pixels_pages.routes(resources.pixels, auth, views),
        *webhooks_pages.routes(resources.webhooks, auth, views),
        *plan_pages.routes(resources.plan, auth, views),
    ]
    return new_dashboard(views, assets, pages)
