"""Dependencies that web processes and the worker both make from the settings."""

from functools import partial

from waypost.database import Database
from waypost.kit.clock import Clock
from waypost.outbound import Outbound
from waypost.resources import domains, links
from waypost.settings import Settings


def domain_deps(settings: Settings, db: Database, routes: links.Routes, clock: Clock) -> domains.Deps:
    return domains.Deps(
        db=db,
        invalidate_host=routes.host_changed,
        detach_links=partial(links.detach_domain, clock=clock),
        cname_target=settings.cname_host,
        base_url=settings.base_url,
        clock=clock,
    )


def outbound_client(settings: Settings) -> Outbound:
    return Outbound(
        allow=settings.allowed_networks,
        names=settings.allowed_names,
        dns_servers=settings.dns_servers,
        ca_file=settings.outbound_ca_file,
        proxy=settings.proxy,
    )
