"""What the worker runs of domains: checks, and certificates if TLS is on."""

from functools import partial

from waypost.database import KeyRing
from waypost.kit.clock import now
from waypost.outbound import DnsRecords, Outbound, TlsProbe
from waypost.outbound.acme import Acme
from waypost.resources.domains import certificates, checks
from waypost.resources.domains.deps import Deps
from waypost.settings import Settings
from waypost.worker.run import Periodic, WorkerParts


def worker_parts(settings: Settings, deps: Deps, client: Outbound, key_ring: KeyRing) -> WorkerParts:
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
