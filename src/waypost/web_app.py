"""Composes the HTTP application from the settings: redirects, API and dashboard."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from functools import partial

from fastapi import APIRouter, FastAPI
from starlette.requests import Request
from starlette.types import ASGIApp

from waypost import wiring
from waypost.auth import RateLimiters, open_limiters
from waypost.database import Database
from waypost.kit.clock import Clock, now
from waypost.kit.reserved import API_SEGMENTS, INFRASTRUCTURE, RESERVED
from waypost.redirect import ChangeFeed, HostTable, RedirectState, RouteTable, Spool
from waypost.redirect.asgi import RedirectApp
from waypost.resources import domains
from waypost.resources.clicks.intake.bots import detect_bot
from waypost.resources.domains import tls_api
from waypost.resources.links.bot_pages import find_bot_page
from waypost.resources.links.route_source import open_route_source
from waypost.resources.webhooks.metrics import PendingGauges
from waypost.settings import Settings
from waypost.web import guard as web_guard
from waypost.web import new_api
from waypost.web.client_address import is_https
from waypost.web.dashboard import AppRouter, Assets, SessionAuth, Views, new_dashboard
from waypost.web.internal import metrics_endpoint
from waypost.web.probes import health_endpoints, new_probes
from waypost.worker.loop import cancel, every

_HOSTS_IN_MEMORY = 50_000
_READ_TIMEOUT = 2.0  # seconds per statement


@dataclass(frozen=True, slots=True)
class WebProcess:
    """The parts of a web process, valid inside `open_full_app` or `open_redirect_app`."""

    app: RedirectApp
    state: RedirectState
    db: Database
    tasks: "list[asyncio.Task[None]]"
    """Background tasks. A task that ends by itself has failed."""


@dataclass(frozen=True, slots=True)
class _RedirectParts:
    """The parts that respond to visits."""

    state: RedirectState
    db: Database
    feed: ChangeFeed
    hosts: HostTable
    task: "asyncio.Task[None]"

    def app(self, settings: Settings, app: ASGIApp) -> RedirectApp:
        bot_page = partial(find_bot_page, self.db, settings.shared_domain, settings.base_url)
        return RedirectApp(self.state, app, bot_page, lambda scope: is_https(Request(scope), settings.trusted_proxies))


@contextlib.asynccontextmanager
async def open_full_app(
    settings: Settings,
    *,
    clock: Clock = now,
    time_ns: Callable[[], int] = time.time_ns,
    is_shutting_down: Callable[[], bool] = lambda: False,
) -> AsyncIterator[WebProcess]:
    """Open redirects, API and dashboard. `is_shutting_down` makes the readiness probe fail before the process ends."""
    async with _open_redirect_parts(settings, time_ns) as redirects, contextlib.AsyncExitStack() as stack:
        db, feed = redirects.db, redirects.feed
        limiters = open_limiters(db, settings.data_dir)
        stack.push_async_callback(limiters.close)
        guard = web_guard.Guard(db, limiters, base_url=settings.base_url, trusted=settings.trusted_proxies, clock=clock)
        stack.push_async_callback(guard.flush)
        flushing = asyncio.create_task(every(5, guard.flush))
        stack.push_async_callback(cancel, [flushing])
        assets = Assets()
        views = Views(wiring.TEMPLATES, assets, base_url=settings.base_url, clock=clock)
        auth = _session_auth(settings, db, limiters, clock)
        deps = wiring.resource_deps(settings, db, limiters, feed, clock)
        endpoints = wiring.endpoints(
            settings, deps, redirects.hosts, guard, auth, views, is_shutting_down=is_shutting_down, stack=stack
        )
        api = new_api(settings.base_url)
        probes = _probes(settings, db, clock, is_shutting_down)
        for router in (*probes, *(router for package in endpoints for router in package.api)):
            api.include_router(router)
        dashboard = new_dashboard(auth, views, assets, [page for package in endpoints for page in package.pages])
        app = redirects.app(settings, _app_router(settings, api, dashboard))
        yield WebProcess(app, redirects.state, db, [redirects.task, flushing])


@contextlib.asynccontextmanager
async def open_redirect_app(
    settings: Settings,
    *,
    clock: Clock = now,
    time_ns: Callable[[], int] = time.time_ns,
    is_shutting_down: Callable[[], bool] = lambda: False,
) -> AsyncIterator[WebProcess]:
    """Open redirects, probes and ACME challenges, without API and dashboard."""
    async with _open_redirect_parts(settings, time_ns) as redirects:
        probes = new_probe_app(settings, redirects.db, clock, is_shutting_down)
        if settings.tls:
            probes.include_router(tls_api.challenge_endpoints(redirects.db))
        yield WebProcess(redirects.app(settings, probes), redirects.state, redirects.db, [redirects.task])


@contextlib.asynccontextmanager
async def _open_redirect_parts(settings: Settings, time_ns: Callable[[], int]) -> AsyncIterator[_RedirectParts]:
    async with contextlib.AsyncExitStack() as stack:
        db = Database(settings.database, read_timeout=_READ_TIMEOUT)
        stack.push_async_callback(db.close)
        feed = ChangeFeed(settings.data_dir / "run" / "changes")
        stack.callback(feed.close)
        source = open_route_source(db, settings.shared_domain, wiring.new_key_ring(settings))
        stack.callback(source.close)
        table = RouteTable(
            source, feed, capacity=settings.routes_in_memory, shared_host=settings.shared_domain.encode()
        )
        spool = Spool(settings.data_dir / "spool", limit=settings.spool_limit_mb << 20)
        stack.callback(spool.close)
        hosts = HostTable(domains.HostSource(db), feed, capacity=_HOSTS_IN_MEMORY)
        task = asyncio.create_task(source.follow([table, hosts]))
        stack.push_async_callback(cancel, [task])
        yield _RedirectParts(_redirect_state(settings, table, hosts, spool, time_ns), db, feed, hosts, task)


def new_probe_app(settings: Settings, db: Database, clock: Clock, is_shutting_down: Callable[[], bool]) -> FastAPI:
    app = new_probes()
    for router in _probes(settings, db, clock, is_shutting_down):
        app.include_router(router)
    return app


def _probes(settings: Settings, db: Database, clock: Clock, is_shutting_down: Callable[[], bool]) -> list[APIRouter]:
    gauges = PendingGauges(db, clock=clock).gauges
    trusted, own_hosts = settings.trusted_proxies, settings.own_hosts
    return [
        health_endpoints(db, is_shutting_down=is_shutting_down),
        metrics_endpoint(settings.data_dir, gauges, trusted=trusted, own_hosts=own_hosts),
    ]


def _is_bot(user_agent: bytes) -> bool:
    return detect_bot(user_agent) is not None


def _redirect_state(
    settings: Settings, table: RouteTable, hosts: HostTable, spool: Spool, time_ns: Callable[[], int]
) -> RedirectState:
    return RedirectState(
        table,
        hosts,
        spool,
        is_bot=_is_bot,
        shared_host=settings.shared_domain,
        app_host=settings.base_host,
        app_segments={"", *RESERVED},
        all_hosts_segments=INFRASTRUCTURE,
        has_https=settings.base_url.startswith("https:"),
        time_ns=time_ns,
    )


def _session_auth(settings: Settings, db: Database, limiters: RateLimiters, clock: Clock) -> SessionAuth:
    return SessionAuth(
        db,
        limiters,
        base_url=settings.base_url,
        trusted=settings.trusted_proxies,
        ip_privacy=settings.ip_privacy,
        clock=clock,
    )


def _app_router(settings: Settings, api: ASGIApp, dashboard: ASGIApp) -> AppRouter:
    return AppRouter(
        api,
        dashboard,
        API_SEGMENTS,
        base_url=settings.base_url,
        trusted=settings.trusted_proxies,
        has_tls=settings.tls,
    )
