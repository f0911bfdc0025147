"""What web processes run of domains."""

from fastapi import APIRouter

from waypost.redirect import HostTable
from waypost.resources.domains import api, pages, tls_api
from waypost.resources.domains.app_links.pages import AppLinksPages
from waypost.resources.domains.deps import WebDeps
from waypost.settings import Settings
from waypost.web import Endpoints, Guard
from waypost.web.dashboard import SessionAuth, Views


def endpoints(
    settings: Settings, deps: WebDeps, hosts: HostTable, guard: Guard, auth: SessionAuth, views: Views
) -> Endpoints:
    ask = tls_api.ask_route(hosts, trusted=settings.trusted_proxies, own_hosts=settings.own_hosts)
    return Endpoints(
        [APIRouter(routes=[tls_api.challenge_route(deps.db), ask]), api.endpoints(deps, guard)],
        [*pages.DomainPages(deps, auth, views).endpoints(), *AppLinksPages(deps, auth, views).endpoints()],
    )
