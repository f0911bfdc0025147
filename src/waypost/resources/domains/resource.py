"""The parts of domains."""

from collections.abc import AsyncGenerator
from functools import partial
from typing import TYPE_CHECKING
from uuid import UUID

from waypost.context import Context
from waypost.resource import Resource, Web, Worker
from waypost.resources.domains import account_data
from waypost.resources.domains.logos.model import logos
from waypost.worker.run import Periodic, WorkerParts

if TYPE_CHECKING:
    from waypost.resources.domains.certificates.issuer import Issuer
    from waypost.web import Endpoints


def _endpoints(web: Web) -> "Endpoints":
    from waypost.outbound import DnsRecords
    from waypost.resources import links
    from waypost.resources.domains import api, pages, tls_api
    from waypost.resources.domains.app_links.pages import AppLinksPages
    from waypost.resources.domains.appearance.pages import AppearancePages
    from waypost.resources.domains.deps import WebDeps
    from waypost.resources.domains.missed.pages import MissedPages
    from waypost.resources.domains.target_addresses import TargetAddresses
    from waypost.web import Endpoints

    settings, context = web.settings, web.context
    records = DnsRecords(settings.dns_servers)
    deps = WebDeps(
        **vars(links.domain_deps(context)),
        check_url=web.destination_checker.check_url,
        points_here=partial(records.points_to, target=context.cname_target),
        find_free_share=partial(links.find_free_share, context.db, context.reserved),
        find_addresses=TargetAddresses(records, context.cname_target, context.clock).find,
    )
    ask = tls_api.ask_route(web.hosts, trusted=settings.trusted_proxies, own_hosts=settings.own_hosts)
    return Endpoints(
        [(deps, api.ENDPOINTS)],
        [
            *pages.DomainPages(deps, web.auth, web.views).endpoints(),
            *AppLinksPages(deps, web.auth, web.views).endpoints(),
            *AppearancePages(deps, web.auth, web.views).endpoints(),
            *MissedPages(deps, web.auth, web.views).endpoints(),
        ],
        routes=[tls_api.challenge_route(deps.db), ask],
    )


def _worker_parts(worker: Worker) -> WorkerParts:
    from waypost.outbound import DnsRecords, TlsProbe
    from waypost.resources import links
    from waypost.resources.domains import certificates, checks
    from waypost.resources.domains.missed import service as missed
    from waypost.resources.domains.model import CHECK_JOB

    settings, deps = worker.settings, links.domain_deps(worker.context)
    servers = settings.dns_servers
    probe = TlsProbe(allow=settings.allowed_networks, dns_servers=servers, ca_file=settings.outbound_ca_file)
    set_served = partial(certificates.set_served, clock=deps.clock) if settings.tls else None
    checker = checks.Checker(deps, DnsRecords(servers), probe, set_served=set_served)
    periodic: list[Periodic] = [(60, partial(checks.delete_expired, deps)), (3600, partial(missed.delete_old, deps))]
    handlers = {CHECK_JOB: checker.check}
    if not settings.tls:
        return WorkerParts(periodic=periodic, handlers=handlers)
    sweep = certificates.CertificateSweep(deps.db, settings.certified_hosts, clock=deps.clock)
    return WorkerParts([_issuer(worker)], [*periodic, (3600, sweep.step)], handlers)


def _issuer(worker: Worker) -> "Issuer":
    from waypost.outbound.acme import Acme
    from waypost.resources.domains.certificates.authority import Authority
    from waypost.resources.domains.certificates.issuer import Issuer

    settings, context = worker.settings, worker.context
    acme = Acme(context.outbound, str(settings.acme_directory))
    authority = Authority(context.db, acme, context.key_ring, email=settings.acme_email, clock=context.clock)
    return Issuer(context.db, authority, context.key_ring, clock=context.clock)


def _delete(context: Context, account_id: UUID) -> AsyncGenerator[None, None]:
    from waypost.resources import links

    return account_data.delete_account_data(links.domain_deps(context), account_id)


RESOURCE = Resource(
    templates={"domains": "waypost.resources.domains"},
    endpoints=_endpoints,
    worker_parts=_worker_parts,
    exported_rows={
        "domains.ndjson": account_data.read_domains,
        "app_links.ndjson": account_data.read_app_links,
        "domain_options.ndjson": account_data.read_options,
        "domain_appearances.ndjson": account_data.read_appearances,
    },
    deleted_rows=[logos],
    delete=_delete,
)
