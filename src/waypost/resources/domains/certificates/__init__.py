"""Certificates with `waypost serve --tls`: obtained and renewed for verified domains, and selected by hostname.

None is ordered for an unverified hostname, or because of a visit. `authority`, `issuer` and `contexts` are needed with
TLS only, and therefore not imported here.
"""

from waypost.resources.domains.certificates.store import CertificateSweep, count, delete_certificate, retry, set_served
