"""Certificates with `waypost serve --tls`: obtained and renewed for verified domains, and selected by hostname.

None is ordered for an unverified hostname, or because of a visit.
"""

from waypost.resources.domains.certificates.authority import Authority
from waypost.resources.domains.certificates.contexts import ContextRefresher, TlsContexts
from waypost.resources.domains.certificates.issuer import Issuer
from waypost.resources.domains.certificates.store import CertificateSweep, delete_certificate, set_served

__all__ = [
    "Authority",
    "CertificateSweep",
    "ContextRefresher",
    "Issuer",
    "TlsContexts",
    "delete_certificate",
    "set_served",
]
