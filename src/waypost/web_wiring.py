"""Makes what web processes run from the settings: dependencies and endpoints.

Each resource makes its own in `resources.<name>.wiring`. This module connects them.
"""

from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from urllib.parse import urlsplit
from uuid import UUID

from starlette.types import ASGIApp

from waypost.accounts import RateLimiters
from waypost.accounts import wiring as account_wiring
from waypost.accounts.deps import Deps as AccountDeps
from waypost.database import Database, KeyRing
from waypost.kit.clock import Clock
from waypost.mcp.endpoint import McpEndpoint
from waypost.outbound import DnsRecords
from waypost.redirect import ChangeFeed, HostTable
from waypost.resources import domains, links
from waypost.resources.audit import wiring as audit_wiring
from waypost.resources.audit.deps import Deps as AuditDeps
from waypost.resources.clicks import wiring as clicks_wiring
from waypost.resources.clicks.click_stores import new_click_store
from waypost.resources.clicks.deps import Deps as ClicksDeps
from waypost.resources.clicks.stats.read import find_sparklines
from waypost.resources.domains import wiring as domains_wiring
from waypost.resources.domains.target_addresses import TargetAddresses
from waypost.resources.imports import wiring as imports_wiring
from waypost.resources.imports.requests.deps import Deps as ImportsDeps
from waypost.resources.links import wiring as links_wiring
from waypost.resources.links.assembly import new_deps as new_links_deps
from waypost.resources.links.deps import Deps as LinksDeps
from waypost.resources.operator import wiring as operator_wiring
from waypost.resources.pixels import wiring as pixels_wiring
from waypost.resources.pixels.deps import Deps as PixelsDeps
from waypost.resources.plan import wiring as plan_wiring
from waypost.resources.plan.deps import Deps as PlanDeps
from waypost.resources.qrcodes import wiring as qrcodes_wiring
from waypost.resources.qrcodes.deps import Deps as QrCodesDeps
from waypost.resources.qrcodes.deps import Urls
from waypost.resources.webhooks import wiring as webhooks_wiring
from waypost.resources.webhooks.deps import Deps as WebhooksDeps
from waypost.resources.webhooks.endpoint_checker import EndpointChecker
from waypost.secret_key import derived_keys, secret_text
from waypost.settings import Settings
from waypost.web import Endpoints, Guard
from waypost.web.dashboard import SessionAuth, Views
from waypost.wiring import domain_deps, outbound_client

TEMPLATES = {"account": "waypost.accounts"} | {
    name: f"waypost.resources.{name}"
    for name in (
        "audit",
        "links",
        "clicks",
        "qrcodes",
        "domains",
        "pixels",
        "webhooks",
        "plan",
        "imports",
        "operator",
    )
}
"""The packages that have pages, by the prefix of their template names."""


@dataclass(frozen=True, slots=True)
class ResourceDeps:
    """The dependencies of each package in a web process."""

    account: AccountDeps
    audit: AuditDeps
    links: LinksDeps
    clicks: ClicksDeps
    domains: domains.WebDeps
    webhooks: WebhooksDeps
    pixels: PixelsDeps
    qrcodes: QrCodesDeps
    plan: PlanDeps
    imports: ImportsDeps


def resource_deps(
    settings: Settings,
    db: Database,
    limiters: RateLimiters,
    feed: ChangeFeed,
    clock: Clock,
    *,
    listens_locally: bool = False,
) -> ResourceDeps:
    client, key_ring = outbound_client(settings), KeyRing.from_setting(secret_text(settings))
    base_url, click_store, routes = settings.base_url, new_click_store(settings), links.Routes(feed.publish, clock)
    domains_deps = domain_deps(settings, db, routes, clock)
    links_deps = new_links_deps(settings, db, client, routes, clock)
    urls = Urls(base_url, derived_keys(settings, "qrcodes"))
    domains_web_deps = _domain_web_deps(settings, domains_deps, routes, links_deps.destination_checker.check_url)
    return ResourceDeps(
        account=account_wiring.new_deps(
            settings,
            db,
            limiters,
            routes,
            click_store,
            links_deps.image_store,
            clock,
            listens_locally=listens_locally,
        ),
        audit=AuditDeps(db, clock),
        links=links_deps,
        clicks=ClicksDeps(db, click_store, settings.shared_domain, base_url, clock),
        domains=domains_web_deps,
        webhooks=WebhooksDeps(db, EndpointChecker(client), key_ring, base_url, clock),
        pixels=PixelsDeps(db, key_ring, routes.pixel_changed, base_url, clock),
        qrcodes=QrCodesDeps(db, urls, settings.shared_domain, base_url, clock),
        plan=plan_wiring.new_deps(settings, db, client, clock),
        imports=imports_wiring.new_deps(settings, db, key_ring, domains_web_deps, clock),
    )


def _domain_web_deps(
    settings: Settings, deps: domains.Deps, routes: links.Routes, check_url: domains.CheckUrl
) -> domains.WebDeps:
    own = {urlsplit(f"//{netloc}").hostname or "" for netloc in settings.own_hosts}
    records = DnsRecords(settings.dns_servers)
    return domains.WebDeps(
        db=deps.db,
        invalidate_host=deps.invalidate_host,
        detach_links=deps.detach_links,
        cname_target=deps.cname_target,
        base_url=deps.base_url,
        clock=deps.clock,
        invalidate_host_pages=routes.host_pages_changed,
        own_hosts=tuple(sorted(own | {settings.cname_host})),
        check_url=check_url,
        points_here=partial(records.points_to, target=settings.cname_host),
        find_addresses=TargetAddresses(records, settings.cname_host, deps.clock).find,
    )


def endpoints(
    settings: Settings,
    deps: ResourceDeps,
    hosts: HostTable,
    guard: Guard,
    auth: SessionAuth,
    views: Views,
    *,
    is_shutting_down: Callable[[], bool],
    stack: AsyncExitStack,
) -> list[Endpoints]:
    stack.callback(deps.links.images.close)
    stack.callback(deps.qrcodes.image_cache.close)
    return [
        account_wiring.endpoints(deps.account, guard, auth, views),
        audit_wiring.endpoints(deps.audit, auth, views),
        links_wiring.endpoints(
            deps.links,
            guard,
            auth,
            views,
            sparklines=partial(find_sparklines, deps.clicks.db, deps.clicks.store, deps.links.clock),
        ),
        domains_wiring.endpoints(settings, deps.domains, hosts, guard, auth, views),
        qrcodes_wiring.endpoints(deps.qrcodes, guard, auth, views),
        clicks_wiring.endpoints(deps.clicks, guard, auth, views, is_shutting_down=is_shutting_down, stack=stack),
        webhooks_wiring.endpoints(deps.webhooks, guard, auth, views),
        pixels_wiring.endpoints(deps.pixels, guard, auth, views),
        plan_wiring.endpoints(deps.plan, auth, views),
        imports_wiring.endpoints(deps.imports, auth, views),
        operator_wiring.endpoints(operator_wiring.new_deps(deps.account, deps.clicks, deps.links), auth, views),
    ]


def mcp_endpoint(settings: Settings, db: Database, api: ASGIApp, guard: Guard) -> McpEndpoint:
    async def find_link(account: UUID, host: str, path: str) -> UUID | None:
        async with db.read_for(account) as tx:
            return await links.find_by_address(tx, host, path)

    return McpEndpoint(api, guard, find_link, base_url=settings.base_url, shared_domain=settings.shared_domain)
