"""What a web process answers: redirects, API and dashboard."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Any
from uuid import UUID

from starlette.types import ASGIApp

from waypost.accounts import ApiCaller, open_limiters
from waypost.composition import new_context, new_destination_checker
from waypost.kit.clock import Clock, now
from waypost.mcp import endpoint as mcp
from waypost.mcp.api_calls import ApiCalls
from waypost.packages import RESOURCES
from waypost.probes import probe_routes
from waypost.redirect_app import WebProcess, open_redirect_parts
from waypost.resource import Web
from waypost.resources import links
from waypost.settings import Settings
from waypost.settings.reserved import API_SEGMENTS
from waypost.web import Guard, new_api, well_known
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
        db = redirects.db
        context = new_context(settings, db, redirects.feed.publish, clock)
        stack.push_async_callback(context.click_store.close)
        limiters = open_limiters(db, settings.data_dir)
        stack.push_async_callback(limiters.close)
        shared: dict[str, Any] = {
            "base_url": settings.base_url,
            "trusted": settings.trusted_proxies,
            "contact": settings.contact_email,
            "ip_privacy": settings.ip_privacy,
            "clock": clock,
        }
        guard = Guard(db, limiters, context.key_ring, **shared)
        stack.push_async_callback(guard.flush)
        flushing = asyncio.create_task(every(5, guard.flush))
        stack.push_async_callback(cancel, [flushing])
        assets, auth = (
            Assets(brand_color=settings.brand_color, logo=settings.brand_logo),
            SessionAuth(db, limiters, **shared),
        )
        web = Web(
            settings=settings,
            context=context,
            resources=RESOURCES,
            guard=guard,
            auth=auth,
            views=_views(settings, assets, clock),
            limiters=limiters,
            destination_checker=new_destination_checker(settings, context.outbound),
            routes=redirects.state.table,
            hosts=redirects.hosts,
            is_shutting_down=is_shutting_down,
            listens_locally=listens_locally,
            stack=stack,
        )
        app = redirects.app(settings, _app(web, assets), clock)
        read_gauges = [*redirects.read_gauges, limiters.gauges]
        yield WebProcess(app, redirects.state, db, [*redirects.tasks, flushing], read_gauges)


def _views(settings: Settings, assets: Assets, clock: Clock) -> Views:
    templates = {name: package for resource in RESOURCES for name, package in resource.templates.items()}
    urls = {"base_url": settings.base_url, "docs_url": settings.docs_url}
    return Views(templates, assets, **urls, clock=clock, name=settings.brand_name)


def _app(web: Web, assets: Assets) -> ASGIApp:
    settings, context = web.settings, web.context
    endpoints = [resource.endpoints(web) for resource in RESOURCES if resource.endpoints]
    groups = [group for each in endpoints for group in each.api]
    api = new_api(
        web.guard,
        groups,
        [
            *probe_routes(settings, context.db, context.clock, web.is_shutting_down),
            *well_known.routes(settings.base_url, settings.contact_email, context.clock),
            *(route for each in endpoints for route in each.routes),
        ],
        [event for each in endpoints for event in each.events],
        settings.base_url,
    )
    operations = {endpoint.operation: endpoint for _, of_package in groups for endpoint in of_package}
    api.routes.append(mcp.route(_mcp_endpoint(web, partial(ApiCalls, api, operations))))
    return AppRouter(
        api,
        new_dashboard(web.auth, web.views, assets, [page for each in endpoints for page in each.pages]),
        API_SEGMENTS,
        base_url=settings.base_url,
        trusted=settings.trusted_proxies,
        has_tls=settings.tls,
    )


def _mcp_endpoint(web: Web, new_calls: Callable[[ApiCaller], ApiCalls]) -> mcp.McpEndpoint:
    context = web.context

    async def find_link(account: UUID, host: str, path: str) -> UUID | None:
        async with context.db.read_for(account) as tx:
            return await links.find_by_address(tx, host, path)

    return mcp.McpEndpoint(
        new_calls, web.guard, find_link, base_url=context.base_url, shared_domain=context.shared_domain
    )
