"""Creates the parts of the application from the settings: deps, senders, sources. `app` composes them."""

import asyncio
import contextlib
import ssl
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.types import ASGIApp

from waypost.auth.deps import Deps as AuthDeps
from waypost.database import Database
from waypost.database.secrets import KeyRing
from waypost.kit.clock import Clock, now
from waypost.kit.errors import Unavailable
from waypost.kit.reserved import API_SEGMENTS, INFRASTRUCTURE, RESERVED
from waypost.outbound import (
    Blocklist,
    DestinationChecker,
    DnsRecords,
    Mailer,
    Outbound,
    Poster,
    SafeBrowsing,
    TlsProbe,
    UrlSafety,
)
from waypost.outbound.acme import Acme
from waypost.redirect import ChangeFeed, RouteTable
from waypost.redirect.asgi import IsHttps
from waypost.resources import domains, links, pixels, plan, qrcodes, webhooks
from waypost.resources.account.deps import Deps as AccountDeps
from waypost.resources.account.sign_in_limiter import SignInLimiter
from waypost.resources.clicks import Rules
from waypost.resources.clicks.intake import countries
from waypost.resources.domains import certificates, checks
from waypost.resources.domains.certificates import Authority, ContextRefresher, Issuer, TlsContexts
from waypost.resources.links.model import ROUTE_CHANNEL
from waypost.resources.links.routes import PostgresRoutes, SqliteRoutes
from waypost.resources.pixels import events
from waypost.secret_key import derived_key, derived_keys
from waypost.settings import Settings
from waypost.web import guard
from waypost.web.dashboard import AppRouter
from waypost.worker import mail
from waypost.worker.loop import LeaseLoop, every

TEMPLATES = {
    name: f"waypost.resources.{name}"
    for name in ("account", "links", "clicks", "qrcodes", "domains", "pixels", "webhooks", "plan")
}
"""The packages that have pages, by the prefix of their templates."""


@dataclass(frozen=True, slots=True)
class ResourceDeps:
    """The dependencies of each package in a web process."""

    links: links.Deps
    domains: domains.WebDeps
    webhooks: webhooks.Deps
    pixels: pixels.Deps
    qrcodes: qrcodes.Deps
    plan: plan.Deps


def resource_deps(settings: Settings, db: Database, feed: ChangeFeed, clock: Clock) -> ResourceDeps:
    client, ring, base_url = outbound_client(settings), key_ring(settings), settings.base_url
    deps = link_deps(settings, db, client, feed, clock)
    urls = qrcodes.Urls(base_url, derived_keys(settings, "qrcodes"))
    return ResourceDeps(
        links=deps,
        domains=domain_web_deps(settings, domain_deps(settings, db, feed, clock), deps.destinations.check_url, feed),
        webhooks=webhooks.Deps(db, webhooks.Receivers(client), ring, base_url, clock),
        pixels=pixels.Deps(db, ring, partial(links.pixel_changed, feed.publish, clock), base_url, clock),
        qrcodes=qrcodes.Deps(db, urls, settings.shared_domain, base_url, clock),
        plan=plan_deps(settings, db, client, clock),
    )


def app_router(settings: Settings, api: ASGIApp, dashboard: ASGIApp) -> AppRouter:
    return AppRouter(
        api,
        dashboard,
        API_SEGMENTS,
        base_url=settings.base_url,
        trusted=settings.trusted_proxies,
        has_tls=settings.tls,
    )


def is_https(settings: Settings) -> IsHttps:
    return lambda scope: guard.is_https(Request(scope), settings.trusted_proxies)


def auth_deps(settings: Settings, db: Database, clock: Clock) -> AuthDeps:
    return AuthDeps(
        db=db,
        base_url=settings.base_url,
        signup=settings.signup,
        new_plan=settings.default_plan,
        trial_days=settings.trial_days,
        sends_mail=bool(settings.smtp_url and settings.smtp_url.get_secret_value()),
        address_keys=derived_keys(settings, "addresses"),
        clock=clock,
    )


def account_deps(settings: Settings, db: Database, resources: ResourceDeps) -> AccountDeps:
    return AccountDeps(
        auth=auth_deps(settings, db, resources.links.clock),
        sign_in_limiter=SignInLimiter(
            settings.data_dir,
            settings.trusted_proxies,
            key=derived_key(settings, "known browsers"),
            is_secure=settings.base_url.startswith("https:"),
        ),
        routes_changed=resources.links.routes_changed,
        shared_domain=settings.shared_domain,
        cname_target=settings.cname_host,
    )


def link_deps(settings: Settings, db: Database, client: Outbound, feed: ChangeFeed, clock: Clock) -> links.Deps:
    safety = UrlSafety(
        Blocklist(settings.blocklist) if settings.blocklist else None,
        SafeBrowsing(client, settings.safe_browsing_key.get_secret_value(), str(settings.safe_browsing_url))
        if settings.safe_browsing_key
        else None,
    )
    is_one_host = settings.base_host == settings.shared_domain
    return links.Deps(
        db=db,
        destinations=DestinationChecker(client, safety),
        media=settings.data_dir / "media",
        routes_changed=feed.publish,
        shared_domain=settings.shared_domain,
        base_url=settings.base_url,
        clock=clock,
        reserved=RESERVED if is_one_host else INFRASTRUCTURE,
    )


def domain_deps(settings: Settings, db: Database, feed: ChangeFeed, clock: Clock) -> domains.Deps:
    return domains.Deps(
        db=db,
        invalidate_host=partial(links.host_changed, feed.publish, clock),
        detach_links=partial(links.detach_domain, clock=clock),
        cname_target=settings.cname_host,
        base_url=settings.base_url,
        clock=clock,
    )


def domain_web_deps(
    settings: Settings, deps: domains.Deps, check_url: domains.CheckUrl, feed: ChangeFeed
) -> domains.WebDeps:
    own = {urlsplit(f"//{netloc}").hostname or "" for netloc in (settings.base_host, settings.shared_domain)}
    return domains.WebDeps(
        db=deps.db,
        invalidate_host=deps.invalidate_host,
        detach_links=deps.detach_links,
        cname_target=deps.cname_target,
        base_url=deps.base_url,
        clock=deps.clock,
        invalidate_host_pages=partial(links.host_pages_changed, feed.publish, deps.clock),
        own_hosts=tuple(sorted(own | {settings.cname_host})),
        check_url=check_url,
        points_here=partial(DnsRecords(settings.dns_servers).points_to, target=settings.cname_host),
    )


def plan_deps(settings: Settings, db: Database, client: Outbound, clock: Clock) -> plan.Deps:
    key, secret = settings.stripe_secret_key, settings.stripe_webhook_secret
    stripe = plan.Stripe(client, key.get_secret_value(), str(settings.stripe_url)) if key and secret else None
    offered = (each.partition("=") for each in settings.stripe_prices)
    prices = tuple(plan.Price(label.strip(), price.strip()) for label, _, price in offered)
    return plan.Deps(db, stripe, secret.get_secret_value() if secret else "", prices, settings.base_url, clock)


def certificate_loop(settings: Settings, db: Database, client: Outbound) -> LeaseLoop[Any, Any]:
    acme, ring = Acme(client, str(settings.acme_directory)), key_ring(settings)
    authority = Authority(db, acme, ring, email=settings.acme_email, clock=now)
    return LeaseLoop(db, Issuer(db, authority, ring, clock=now))


async def tls_context(settings: Settings, db: Database, tasks: "list[asyncio.Task[None]]") -> ssl.SSLContext:
    """The TLS context of the listener. A task added to `tasks` keeps it up to date."""
    contexts = TlsContexts(key_ring(settings), urlsplit(settings.base_url).hostname or "")
    refresher = ContextRefresher(db, contexts)
    with contextlib.suppress(Unavailable):  # the task will log it and try again
        await refresher.refresh()
    tasks.append(asyncio.create_task(every(1, refresher.refresh)))
    return contexts.listening


def check_loop(settings: Settings, deps: domains.Deps) -> LeaseLoop[Any, Any]:
    allow, servers = settings.outbound_allow, settings.dns_servers
    probe = TlsProbe(allow=allow, dns_servers=servers, ca_file=settings.outbound_ca_file)
    live_changed = partial(certificates.live_changed, clock=deps.clock) if settings.tls else None
    return LeaseLoop(deps.db, checks.Checker(deps, DnsRecords(servers), probe, live_changed=live_changed))


def mail_sender(settings: Settings) -> mail.SendMail:
    url = settings.smtp_url.get_secret_value() if settings.smtp_url else ""
    if url:
        return Mailer(url, settings.sender, settings.outbound_ca_file, clock=now).send
    is_on_terminal = sys.stderr is not None and sys.stderr.isatty()
    return mail.log_mail if is_on_terminal else mail.MailDirectory(settings.data_dir / "mail", clock=now).write


def outbound_client(settings: Settings) -> Outbound:
    return Outbound(allow=settings.outbound_allow, dns_servers=settings.dns_servers, ca_file=settings.outbound_ca_file)


def route_source(settings: Settings, db: Database) -> SqliteRoutes | PostgresRoutes:
    host, ring = settings.shared_domain, key_ring(settings)
    return SqliteRoutes(db.path, host, ring) if db.dialect == "sqlite" else PostgresRoutes(db, host, ring)


async def follow_changes(
    settings: Settings, routes: SqliteRoutes | PostgresRoutes, tables: Sequence[RouteTable]
) -> None:
    """Follow changes that are missing in this machine's feed: of other machines, and of processes that died."""
    if isinstance(routes, PostgresRoutes):
        from waypost.database.listen import follow_channel  # noqa: PLC0415  # loads psycopg (7 MB)

        def each(act: Callable[[RouteTable], None]) -> None:
            for table in tables:
                act(table)

        each(RouteTable.distrust)  # until the connection is established
        await follow_channel(
            settings.database,
            ROUTE_CHANNEL,
            on_payload=lambda slug: each(lambda table: table.drop(slug.encode())),
            on_connected=lambda: each(RouteTable.trust),
            on_lost=lambda: each(RouteTable.distrust),
        )

    async def poll() -> None:
        for slug in routes.read_changes():
            for table in tables:
                table.drop(slug.encode())

    await every(1, poll)


def delivery_loop(settings: Settings, db: Database, poster: Poster) -> LeaseLoop[Any, Any]:
    timeout, backoff = settings.webhook_timeout, settings.webhook_backoff
    deliverer = webhooks.Deliverer(poster.post, key_ring(settings), clock=now, timeout=timeout, backoff=backoff)
    return LeaseLoop(db, deliverer)


def event_loop(settings: Settings, db: Database, poster: Poster) -> LeaseLoop[Any, Any]:
    urls = {"facebook": settings.meta_url, "tiktok": settings.tiktok_url, "pinterest": settings.pinterest_url}
    api_urls = {platform: str(url) for platform, url in urls.items()}
    return LeaseLoop(db, events.EventSender(db, key_ring(settings), poster.post, api_urls, clock=now))


def key_ring(settings: Settings) -> KeyRing:
    return KeyRing.from_setting(settings.secret_key.get_secret_value() if settings.secret_key else "")


def click_rules(settings: Settings) -> Rules:
    return Rules(
        settings.trusted_proxies,
        settings.ip_privacy,
        countries.open_countries(settings.geoip_database).of,
        derived_key(settings, "visitors"),
        settings.shared_domain,
        urlsplit(settings.base_url).scheme,
    )
