"""Certificates with `waypost serve --tls`: obtained and renewed for verified domains, and chosen by hostname.

None is ordered for an unverified hostname, or because of a visit.
"""

from waypost.resources.domains.certificates.authority import Authority
from waypost.resources.domains.certificates.contexts import TlsContexts
from waypost.resources.domains.certificates.issuer import Issuer
from waypost.resources.domains.certificates.refresher import ContextRefresher
from waypost.resources.domains.certificates.store import erase, live_changed
from waypost.resources.domains.certificates.sweep import CertificateSweep

__all__ = [
    "Authority",
    "CertificateSweep",
    "ContextRefresher",
    "Issuer",
    "TlsContexts",
    "erase",
    "live_changed",
]
