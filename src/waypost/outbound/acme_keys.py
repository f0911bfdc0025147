"""ECDSA keys on P-256: for signing requests to the certificate authority (JWS, RFC 7515) and for certificates."""

import base64
import hashlib
import json
from collections.abc import Mapping
from typing import Any, Self

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

_SIZE = 32  # bytes of a coordinate


class SigningKey:
    def __init__(self, key: ec.EllipticCurvePrivateKey) -> None:
        self._key = key

    @classmethod
    def new(cls) -> Self:
        return cls(ec.generate_private_key(ec.SECP256R1()))

    @classmethod
    def from_pem(cls, text: str) -> Self:
        key = load_pem_private_key(text.encode(), password=None)
        if not isinstance(key, ec.EllipticCurvePrivateKey):
            raise TypeError("not a key on an elliptic curve")
        return cls(key)

    def pem(self) -> str:
        return self._key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()

    def public(self) -> dict[str, str]:
        """The JWK, its members in the order that the thumbprint requires."""
        numbers = self._key.public_key().public_numbers()
        x, y = (base64url(number.to_bytes(_SIZE)) for number in (numbers.x, numbers.y))
        return {"crv": "P-256", "kty": "EC", "x": x, "y": y}

    def thumbprint(self) -> str:
        """RFC 7638."""
        return base64url(hashlib.sha256(json.dumps(self.public(), separators=(",", ":")).encode()).digest())

    def sign(self, protected: Mapping[str, Any], payload: Mapping[str, Any] | None) -> bytes:
        """A flattened JWS. Without a payload it reads: POST-as-GET."""
        head = base64url(json.dumps({"alg": "ES256", **protected}).encode())
        body = "" if payload is None else base64url(json.dumps(payload).encode())
        r, s = decode_dss_signature(self._key.sign(f"{head}.{body}".encode(), ec.ECDSA(SHA256())))
        signature = base64url(r.to_bytes(_SIZE) + s.to_bytes(_SIZE))
        return json.dumps({"protected": head, "payload": body, "signature": signature}).encode()

    def request_for(self, hostname: str) -> str:
        """The certificate signing request, DER in base64url."""
        names = x509.SubjectAlternativeName([x509.DNSName(hostname)])
        request = x509.CertificateSigningRequestBuilder(x509.Name([])).add_extension(names, critical=False)
        return base64url(request.sign(self._key, SHA256()).public_bytes(Encoding.DER))


def base64url(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()
