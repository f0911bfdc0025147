"""What the worker runs of domains: checks, and certificates if TLS is on."""

from functools import partial
from typing import TYPE_CHECKING

from waypost.database import Database, KeyRing
from waypost.kit.clock import now
from waypost.outbound import DnsRecords, Outbound, TlsProbe
from waypost.resources.domains import certificates, checks
from waypost.resources.domains.deps import Deps
from waypost.settings import Settings
from waypost.worker.run import Periodic, WorkerParts

if TYPE_CHECKING:
    from waypost.resources.domains.certificates.issuer import Issuer


def worker_parts(settings: Settings, deps: Deps, client: Outbound, key_ring: KeyRing) -> WorkerParts:
    db, servers = deps.db, settings.dns_servers
    probe = TlsProbe(allow=settings.allowed_networks, dns_servers=servers, ca_file=settings.outbound_ca_file)
    set_served = partial(certificates.set_served, clock=deps.clock) if settings.tls else None
    checker = checks.Checker(deps, DnsRecords(servers), probe, set_served=set_served)
    expiry: Periodic = (60, partial(checks.delete_expired, deps))
    if not settings.tls:
        return WorkerParts([checker], [expiry])
    issuer = _issuer(settings, db, client, key_ring)
    sweep = certificates.CertificateSweep(db, settings.certified_hosts, clock=now)
    return WorkerParts([checker, issuer], [expiry, (3600, sweep.step)])


def _issuer(settings: Settings, db: Database, client: Outbound, key_ring: KeyRing) -> "Issuer":
    from waypost.outbound.acme import Acme  # noqa: PLC0415  # 2 MB, only with TLS
    from waypost.resources.domains.certificates.authority import Authority  # noqa: PLC0415
    from waypost.resources.domains.certificates.issuer import Issuer  # noqa: PLC0415

    authority = Authority(
        db, Acme(client, str(settings.acme_directory)), key_ring, email=settings.acme_email, clock=now
    )
    return Issuer(db, authority, key_ring, clock=now)
