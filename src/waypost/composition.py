"""The packages, and what processes make of the settings for all of them. `resource` of a package has its parts."""

import importlib
import pkgutil
import sys
from contextlib import AsyncExitStack
from functools import partial
from secrets import token_hex

from waypost import accounts, resources
from waypost.accounts.resource import RESOURCE as ACCOUNTS
from waypost.context import Context
from waypost.database import Database, KeyRing
from waypost.idempotency import delete_expired
from waypost.kit.clock import Clock, now
from waypost.outbound import Blocklist, DestinationChecker, Outbound, Poster, SafeBrowsing, UrlSafety
from waypost.redirect import ChangeFeed, InvalidateRoutes
from waypost.resource import Worker
from waypost.resources.audit.resource import RESOURCE as AUDIT
from waypost.resources.clicks.click_stores import new_click_store
from waypost.resources.clicks.resource import RESOURCE as CLICKS
from waypost.resources.domains.resource import RESOURCE as DOMAINS
from waypost.resources.imports.resource import RESOURCE as IMPORTS
from waypost.resources.links.images.stores import new_image_store
from waypost.resources.links.resource import RESOURCE as LINKS
from waypost.resources.links.routes.changes import Routes
from waypost.resources.operator.resource import RESOURCE as OPERATOR
from waypost.resources.pixels.resource import RESOURCE as PIXELS
from waypost.resources.plan.resource import RESOURCE as PLAN
from waypost.resources.qrcodes.resource import RESOURCE as QR_CODES
from waypost.resources.reports.resource import RESOURCE as REPORTS
from waypost.resources.webhooks.resource import RESOURCE as WEBHOOKS
from waypost.secret_key import secret_text
from waypost.settings import Settings
from waypost.worker import mail
from waypost.worker.jobs import JobRunner, LongJobRunner
from waypost.worker.run import WorkerParts

RESOURCES = (
    ACCOUNTS,
    AUDIT,
    LINKS,
    DOMAINS,
    QR_CODES,
    CLICKS,
    WEBHOOKS,
    PIXELS,
    PLAN,
    IMPORTS,
    REPORTS,
    OPERATOR,
)
"""In the order of their endpoints in the OpenAPI document."""


def load_tables() -> None:
    """Add the tables of all packages to the metadata: a process imports only those that it uses."""
    for package in (accounts, resources):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)


def new_context(settings: Settings, db: Database, publish: InvalidateRoutes, clock: Clock = now) -> Context:
    """Close its `click_store` afterwards."""
    return Context(
        db=db,
        clock=clock,
        base_url=settings.base_url,
        shared_domain=settings.shared_domain,
        cname_target=settings.cname_host,
        own_hosts=settings.own_hostnames,
        reserved=settings.reserved_slugs,
        key_ring=KeyRing.from_setting(secret_text(settings) or token_hex()),  # commands that store no secret need none
        outbound=outbound_client(settings),
        routes=Routes(publish, clock),
        click_store=new_click_store(settings),
        image_store=new_image_store(settings, db, clock),
    )


def outbound_client(settings: Settings) -> Outbound:
    return Outbound(
        allow=settings.allowed_networks,
        names=settings.allowed_names,
        dns_servers=settings.dns_servers,
        ca_file=settings.outbound_ca_file,
        proxy=settings.proxy,
    )


def new_destination_checker(settings: Settings, outbound: Outbound) -> DestinationChecker:
    key = settings.safe_browsing_key
    safety = UrlSafety(
        Blocklist(settings.blocklist) if settings.blocklist else None,
        SafeBrowsing(outbound, key.get_secret_value(), str(settings.safe_browsing_url)) if key else None,
    )
    return DestinationChecker(outbound, safety)


def worker_parts(settings: Settings, db: Database, feed: ChangeFeed, stack: AsyncExitStack) -> list[WorkerParts]:
    """Return what the worker runs of all packages, and its runners of jobs."""
    context = new_context(settings, db, feed.publish)
    stack.push_async_callback(context.click_store.close)
    poster = Poster(context.outbound)
    stack.push_async_callback(poster.close)
    checker = new_destination_checker(settings, context.outbound)
    worker = Worker(
        settings=settings, context=context, resources=RESOURCES, poster=poster, destination_checker=checker, stack=stack
    )
    parts = [resource.worker_parts(worker) for resource in RESOURCES if resource.worker_parts]
    parts.append(
        WorkerParts(
            periodic=[(60, partial(delete_expired, db, now))], handlers={mail.JOB: mail.handler(mail_sender(settings))}
        )
    )
    long_jobs = LongJobRunner(
        {name: handler for each in parts for name, handler in each.long_handlers.items()},
        clock=now,
        stops={name: stop for each in parts for name, stop in each.stops.items()},
    )
    handlers = {name: handler for each in parts for name, handler in each.handlers.items()}
    return [WorkerParts([JobRunner(handlers, clock=now, excluded=long_jobs.names), long_jobs]), *parts]


def mail_sender(settings: Settings) -> mail.SendMail:
    url = settings.smtp_url.get_secret_value() if settings.smtp_url else ""
    if url:
        from waypost.outbound.mail import Mailer  # noqa: PLC0415  # only with a mail server

        return Mailer(url, settings.sender, settings.outbound_ca_file, clock=now).send
    is_on_terminal = sys.stderr is not None and sys.stderr.isatty()
    return mail.log_mail if is_on_terminal else mail.MailDirectory(settings.data_dir / "mail", clock=now).write
