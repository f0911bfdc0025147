"""Certificates of the names that are served, with `waypost serve --tls`: obtained, renewed and chosen by name.

Orders none for a name that is not proven, and none because somebody visits it.
"""

from waypost.resources.domains.certificates.authority import Authority
from waypost.resources.domains.certificates.contexts import Contexts
from waypost.resources.domains.certificates.following import Following
from waypost.resources.domains.certificates.issuer import Issuer, certificate_loop
from waypost.resources.domains.certificates.store import forget, live_changed
from waypost.resources.domains.certificates.sweep import CertificateSweep

__all__ = [
    "Authority",
    "CertificateSweep",
    "Contexts",
    "Following",
    "Issuer",
    "certificate_loop",
    "forget",
    "live_changed",
]
