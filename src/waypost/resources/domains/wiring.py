"""Makes the API, pages, checks and certificates of domains."""

import asyncio
import contextlib
import ssl
from functools import partial
from urllib.parse import urlsplit

from waypost.database import Database, KeyRing
from waypost.kit.clock import now
from waypost.kit.errors import Unavailable
from waypost.outbound import DnsRecords, Outbound, TlsProbe
from waypost.outbound.acme import Acme
from waypost.redirect import HostTable
from waypost.resources.domains import api, certificates, checks, pages, tls_api
from waypost.resources.domains.deps import Deps, WebDeps
from waypost.settings import Settings
from waypost.web import Endpoints, Guard
from waypost.web.dashboard import SessionAuth, Views
from waypost.worker.loop import every
from waypost.worker.run import Periodic, WorkerParts


def endpoints(
    settings: Settings, deps: WebDeps, hosts: HostTable, guard: Guard, auth: SessionAuth, views: Views
) -> Endpoints:
    ask = tls_api.ask_endpoint(hosts, trusted=settings.trusted_proxies, own_hosts=settings.own_hosts)
    return Endpoints(
        [tls_api.challenge_endpoints(deps.db), ask, api.endpoints(deps, guard)],
        pages.DomainPages(deps, auth, views).endpoints(),
    )


def worker_parts(settings: Settings, deps: Deps, client: Outbound, key_ring: KeyRing) -> WorkerParts:
    """Return the loops for checks, and for certificates if TLS is on."""
    db, servers = deps.db, settings.dns_servers
    probe = TlsProbe(allow=settings.outbound_allow, dns_servers=servers, ca_file=settings.outbound_ca_file)
    set_served = partial(certificates.set_served, clock=deps.clock) if settings.tls else None
    checker = checks.Checker(deps, DnsRecords(servers), probe, set_served=set_served)
    expiry: Periodic = (60, partial(checks.delete_expired, deps))
    if not settings.tls:
        return WorkerParts([checker], [expiry])
    acme = Acme(client, str(settings.acme_directory))
    authority = certificates.Authority(db, acme, key_ring, email=settings.acme_email, clock=now)
    issuer = certificates.Issuer(db, authority, key_ring, clock=now)
    sweep = certificates.CertificateSweep(db, settings.certified_hosts, clock=now)
    return WorkerParts([checker, issuer], [expiry, (3600, sweep.step)])


async def tls_context(
    settings: Settings, db: Database, key_ring: KeyRing, tasks: "list[asyncio.Task[None]]"
) -> ssl.SSLContext:
    """The TLS context of the listener. A task added to `tasks` keeps it up to date."""
    contexts = certificates.TlsContexts(key_ring, urlsplit(settings.base_url).hostname or "")
    refresher = certificates.ContextRefresher(db, contexts)
    with contextlib.suppress(Unavailable):  # the task logs it and tries again
        await refresher.refresh()
    tasks.append(asyncio.create_task(every(1, refresher.refresh)))
    return contexts.listening
