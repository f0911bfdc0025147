"""Creates what the processes run from the settings: dependencies, endpoints, and the worker's queues and steps.

Each resource creates its own parts in `resources.<name>.wiring`. This module connects them.
"""

import sys
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from urllib.parse import urlsplit

from waypost.auth import RateLimiters, rate_limit_steps, sign_in
from waypost.auth.deps import new_deps as new_auth_deps
from waypost.database import Database, KeyRing
from waypost.kit.clock import Clock, now
from waypost.outbound import DnsRecords, Mailer, Outbound, Poster
from waypost.redirect import ChangeFeed, HostTable
from waypost.resources import clicks, domains, links, pixels, plan, qrcodes, webhooks
from waypost.resources.account import account_deletion
from waypost.resources.account import wiring as account_wiring
from waypost.resources.account.deps import Deps as AccountDeps
from waypost.resources.clicks import wiring as clicks_wiring
from waypost.resources.clicks.click_stores import new_click_store
from waypost.resources.clicks.stats.read import find_sparklines
from waypost.resources.domains import wiring as domains_wiring
from waypost.resources.links import domain_detach
from waypost.resources.links import wiring as links_wiring
from waypost.resources.pixels import wiring as pixels_wiring
from waypost.resources.plan import wiring as plan_wiring
from waypost.resources.qrcodes import wiring as qrcodes_wiring
from waypost.resources.webhooks import wiring as webhooks_wiring
from waypost.secret_key import derived_keys
from waypost.settings import Settings
from waypost.web import Endpoints, Guard
from waypost.web.dashboard import SessionAuth, Views
from waypost.worker import mail
from waypost.worker.jobs import Handlers, JobRunner
from waypost.worker.run import WorkerParts

TEMPLATES = {
    name: f"waypost.resources.{name}"
    for name in ("account", "links", "clicks", "qrcodes", "domains", "pixels", "webhooks", "plan")
}
"""The packages that have pages, by the prefix of their template names."""


@dataclass(frozen=True, slots=True)
class ResourceDeps:
    """The dependencies of each package in a web process."""

    account: AccountDeps
    links: links.Deps
    clicks: clicks.Deps
    domains: domains.WebDeps
    webhooks: webhooks.Deps
    pixels: pixels.Deps
    qrcodes: qrcodes.Deps
    plan: plan.Deps


def resource_deps(
    settings: Settings, db: Database, limiters: RateLimiters, feed: ChangeFeed, clock: Clock
) -> ResourceDeps:
    client, key_ring, base_url = outbound_client(settings), new_key_ring(settings), settings.base_url
    domains_deps = domain_deps(settings, db, feed, clock)
    links_deps = links_wiring.new_deps(settings, db, client, feed.publish, clock)
    urls = qrcodes.Urls(base_url, derived_keys(settings, "qrcodes"))
    return ResourceDeps(
        account=account_wiring.new_deps(settings, db, limiters, feed.publish, clock),
        links=links_deps,
        clicks=clicks.Deps(db, new_click_store(settings), settings.shared_domain, base_url, clock),
        domains=_domain_web_deps(settings, domains_deps, feed, links_deps.destination_checker.check_url),
        webhooks=webhooks.Deps(db, webhooks.EndpointChecker(client), key_ring, base_url, clock),
        pixels=pixels.Deps(db, key_ring, partial(links.invalidate_pixel, feed.publish, clock), base_url, clock),
        qrcodes=qrcodes.Deps(db, urls, settings.shared_domain, base_url, clock),
        plan=plan_wiring.new_deps(settings, db, client, clock),
    )


def domain_deps(settings: Settings, db: Database, feed: ChangeFeed, clock: Clock) -> domains.Deps:
    return domains.Deps(
        db=db,
        invalidate_host=partial(links.invalidate_host, feed.publish, clock),
        detach_links=partial(links.detach_domain, clock=clock),
        cname_target=settings.cname_host,
        base_url=settings.base_url,
        clock=clock,
    )


def _domain_web_deps(
    settings: Settings, deps: domains.Deps, feed: ChangeFeed, check_url: domains.CheckUrl
) -> domains.WebDeps:
    own = {urlsplit(f"//{netloc}").hostname or "" for netloc in settings.own_hosts}
    return domains.WebDeps(
        db=deps.db,
        invalidate_host=deps.invalidate_host,
        detach_links=deps.detach_links,
        cname_target=deps.cname_target,
        base_url=deps.base_url,
        clock=deps.clock,
        invalidate_host_pages=partial(links.invalidate_host_pages, feed.publish, deps.clock),
        own_hosts=tuple(sorted(own | {settings.cname_host})),
        check_url=check_url,
        points_here=partial(DnsRecords(settings.dns_servers).points_to, target=settings.cname_host),
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
        links_wiring.endpoints(
            deps.links, guard, auth, views, sparklines=partial(find_sparklines, deps.clicks.store, deps.links.clock)
        ),
        domains_wiring.endpoints(settings, deps.domains, hosts, guard, auth, views),
        qrcodes_wiring.endpoints(deps.qrcodes, guard, auth, views),
        clicks_wiring.endpoints(deps.clicks, guard, auth, views, is_shutting_down=is_shutting_down, stack=stack),
        webhooks_wiring.endpoints(deps.webhooks, guard, auth, views),
        pixels_wiring.endpoints(deps.pixels, guard, auth, views),
        plan_wiring.endpoints(deps.plan, auth, views),
    ]


def worker_parts(settings: Settings, db: Database, feed: ChangeFeed, stack: AsyncExitStack) -> list[WorkerParts]:
    client, key_ring, deps = outbound_client(settings), new_key_ring(settings), domain_deps(settings, db, feed, now)
    poster = Poster(client)
    stack.push_async_callback(poster.close)
    return [
        WorkerParts([JobRunner(handlers(settings, db, client, deps, feed), clock=now)], rate_limit_steps(db)),
        links_wiring.worker_parts(settings, db, now),
        webhooks_wiring.worker_parts(settings, db, poster, key_ring),
        pixels_wiring.worker_parts(settings, db, poster, key_ring),
        domains_wiring.worker_parts(settings, deps, client, key_ring),
        clicks_wiring.worker_parts(settings, db, stack),
    ]


def handlers(settings: Settings, db: Database, client: Outbound, deps: domains.Deps, feed: ChangeFeed) -> Handlers:
    """Return the handlers of the general queue by job name."""
    image_store = links_wiring.new_image_store(settings, db, now)
    return {
        domain_detach.JOB: partial(domain_detach.detach_links, db),
        sign_in.JOB: partial(sign_in.send_password_reset, new_auth_deps(settings, db, now)),
        mail.JOB: mail.handler(mail_sender(settings)),
        plan.JOB: partial(plan.cancel_subscriptions, plan_wiring.new_deps(settings, db, client, now).stripe),
        account_deletion.JOB: account_deletion.AccountDeletion(db, feed.publish, deps, image_store, now),
    }


def mail_sender(settings: Settings) -> mail.SendMail:
    url = settings.smtp_url.get_secret_value() if settings.smtp_url else ""
    if url:
        return Mailer(url, settings.sender, settings.outbound_ca_file, clock=now).send
    is_on_terminal = sys.stderr is not None and sys.stderr.isatty()
    return mail.log_mail if is_on_terminal else mail.MailDirectory(settings.data_dir / "mail", clock=now).write


def outbound_client(settings: Settings) -> Outbound:
    return Outbound(allow=settings.outbound_allow, dns_servers=settings.dns_servers, ca_file=settings.outbound_ca_file)


def new_key_ring(settings: Settings) -> KeyRing:
    return KeyRing.from_setting(settings.secret_key.get_secret_value() if settings.secret_key else "")
