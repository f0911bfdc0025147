"""The validity of a certificate chain: the right hostname and key, when it expires, when to renew it."""

from dataclasses import dataclass
from datetime import datetime

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_private_key


class UnusableChain(ValueError):
    """Its text says what is wrong with the chain."""


@dataclass(frozen=True, slots=True)
class Validity:
    expires_at: datetime
    renew_at: datetime


def validity_of(chain: str, key: str, hostname: str, now: datetime) -> Validity:
    """Raises UnusableChain for a chain that cannot be served."""
    try:
        certificate = x509.load_pem_x509_certificates(chain.encode())[0]
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (ValueError, x509.ExtensionNotFound) as error:
        raise UnusableChain("is not a PEM certificate chain") from error
    if hostname not in names.get_values_for_type(x509.DNSName):
        raise UnusableChain(f"is not for {hostname}")
    form = Encoding.DER, PublicFormat.SubjectPublicKeyInfo
    expected = load_pem_private_key(key.encode(), password=None).public_key().public_bytes(*form)
    if certificate.public_key().public_bytes(*form) != expected:
        raise UnusableChain("belongs to another key")
    if certificate.not_valid_after_utc <= now:
        raise UnusableChain("has expired")
    return Validity(certificate.not_valid_after_utc, _renewal(certificate))


def renewal_of(chain: str) -> datetime:
    return _renewal(x509.load_pem_x509_certificate(chain.encode()))


def _renewal(certificate: x509.Certificate) -> datetime:
    """After two thirds of the validity period."""
    begin, end = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    return begin + (end - begin) * 2 / 3
