"""What a web process answers: redirects, API and dashboard."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable

from fastapi import APIRouter
from starlette.types import ASGIApp

from waypost import web_wiring
from waypost.accounts import RateLimiters, open_limiters
from waypost.database import Database, KeyRing
from waypost.kit.clock import Clock, now
from waypost.kit.reserved import API_SEGMENTS
from waypost.mcp import endpoint as mcp
from waypost.probes import probe_routes
from waypost.redirect_app import WebProcess, open_redirect_parts
from waypost.resources.qrcodes import wiring as qrcodes_wiring
from waypost.secret_key import secret_text
from waypost.settings import Settings
from waypost.web import guard as web_guard
from waypost.web import new_api
from waypost.web.dashboard import AppRouter, Assets, SessionAuth, Views, new_dashboard
from waypost.worker.loop import cancel, every


@contextlib.asynccontextmanager
async def open_full_app(
    settings: Settings,
    *,
    clock: Clock = now,
    time_ns: Callable[[], int] = time.time_ns,
    is_shutting_down: Callable[[], bool] = lambda: False,
    listens_locally: bool = False,
) -> AsyncIterator[WebProcess]:
    """Open redirects, API and dashboard. `is_shutting_down` makes the readiness probe fail before the process ends.

    `listens_locally`: whether all sockets are on the loopback interface.
    """
    async with open_redirect_parts(settings, time_ns) as redirects, contextlib.AsyncExitStack() as stack:
        db, feed = redirects.db, redirects.feed
        limiters = open_limiters(db, settings.data_dir)
        stack.push_async_callback(limiters.close)
        guard = web_guard.Guard(
            db,
            limiters,
            KeyRing.from_setting(secret_text(settings)),
            base_url=settings.base_url,
            trusted=settings.trusted_proxies,
            contact=settings.contact_email,
            ip_privacy=settings.ip_privacy,
            clock=clock,
        )
        stack.push_async_callback(guard.flush)
        flushing = asyncio.create_task(every(5, guard.flush))
        stack.push_async_callback(cancel, [flushing])
        assets = Assets()
        views = Views(web_wiring.TEMPLATES, assets, base_url=settings.base_url, docs_url=settings.docs_url, clock=clock)
        auth = _session_auth(settings, db, limiters, clock)
        deps = web_wiring.resource_deps(settings, db, limiters, feed, clock, listens_locally=listens_locally)
        endpoints = web_wiring.endpoints(
            settings, deps, redirects.hosts, guard, auth, views, is_shutting_down=is_shutting_down, stack=stack
        )
        api = new_api(settings.base_url, [event for package in endpoints for event in package.events])
        probes = APIRouter(routes=probe_routes(settings, db, clock, is_shutting_down))
        for router in (probes, *(router for package in endpoints for router in package.api)):
            api.add(router)
        api.add(mcp.new_router(web_wiring.mcp_endpoint(settings, db, api, guard)))
        dashboard = new_dashboard(auth, views, assets, [page for package in endpoints for page in package.pages])
        images = qrcodes_wiring.before_framework(deps.qrcodes, api, redirects.state.table, guard)
        app = redirects.app(settings, _app_router(settings, images, dashboard), clock)
        read_gauges = [*redirects.read_gauges, limiters.gauges]
        yield WebProcess(app, redirects.state, db, [redirects.task, flushing], read_gauges)


def _session_auth(settings: Settings, db: Database, limiters: RateLimiters, clock: Clock) -> SessionAuth:
    return SessionAuth(
        db,
        limiters,
        base_url=settings.base_url,
        trusted=settings.trusted_proxies,
        ip_privacy=settings.ip_privacy,
        contact=settings.contact_email,
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
