"""An ACME client (RFC 8555) for certificate authorities, with HTTP-01 challenges only.

Sends requests through `Outbound` only; every response and every wait is limited. The caller limits the total time.
"""

import asyncio
import hashlib
import json
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self, TypeVar

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_private_key

from waypost.kit import base64url
from waypost.kit.urls import BadUrl
from waypost.outbound.acme_problems import (
    AcmeError,
    AuthorityRefused,
    AuthorityUnavailable,
    account_refused,
    problem_in,
    problem_of,
    retry_after,
)
from waypost.outbound.client import Outbound
from waypost.outbound.errors import NotPublic, OutboundError
from waypost.outbound.response import OutboundResponse

DEADLINE = 20.0  # seconds of one request
MAX_RESPONSE = 131_072  # bytes; a certificate chain has about 6,000
_NONCES_KEPT = 16
_TRIES = 4  # of a request whose nonce is rejected
_FIRST_POLL, _POLL_GROWTH, _LONGEST_POLL = 0.2, 1.6, 15.0  # seconds between polls
_UNREACHABLE = "The certificate authority cannot be reached."
_ACCOUNT_ERRORS = {"unauthorized", "userActionRequired"}  # of an order, before any challenge
_MAX_AUTHORIZATIONS = 4  # of one order; ours has one name
_SIZE = 32  # bytes of a key's coordinate

_T = TypeVar("_T")

PublishChallenge = Callable[[str, str], Awaitable[None]]
"""Serve the key authorization (second) for the token (first) from now on."""


class SigningKey:
    """An ECDSA key on P-256: for signing requests to the authority (JWS, RFC 7515) and for certificates."""

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
        """Return the JWK, with its members in the order that the thumbprint requires."""
        numbers = self._key.public_key().public_numbers()
        x, y = (base64url.encode(number.to_bytes(_SIZE)) for number in (numbers.x, numbers.y))
        return {"crv": "P-256", "kty": "EC", "x": x, "y": y}

    def thumbprint(self) -> str:
        """Return the thumbprint of the JWK (RFC 7638)."""
        return base64url.encode(hashlib.sha256(json.dumps(self.public(), separators=(",", ":")).encode()).digest())

    def sign(self, protected: Mapping[str, Any], payload: Mapping[str, Any] | None) -> bytes:
        """Return a flattened JWS. Without a payload it is a POST-as-GET request."""
        head = base64url.encode(json.dumps({"alg": "ES256", **protected}).encode())
        body = "" if payload is None else base64url.encode(json.dumps(payload).encode())
        r, s = decode_dss_signature(self._key.sign(f"{head}.{body}".encode(), ec.ECDSA(SHA256())))
        signature = base64url.encode(r.to_bytes(_SIZE) + s.to_bytes(_SIZE))
        return json.dumps({"protected": head, "payload": body, "signature": signature}).encode()

    def request_for(self, hostname: str) -> str:
        """Return the certificate signing request, DER in base64url."""
        names = x509.SubjectAlternativeName([x509.DNSName(hostname)])
        request = x509.CertificateSigningRequestBuilder(x509.Name([])).add_extension(names, critical=False)
        return base64url.encode(request.sign(self._key, SHA256()).public_bytes(Encoding.DER))


@dataclass(frozen=True, slots=True)
class AcmeAccount:
    url: str
    key: SigningKey


class AcmeDocument:
    """A JSON object from the authority. A missing field is the authority's error."""

    def __init__(self, fields: object, wait: float | None = None) -> None:
        self._fields = fields if isinstance(fields, dict) else {}
        self.wait = wait
        """Seconds until the next poll, as requested by the authority."""

    @property
    def status(self) -> str:
        return self.text("status")

    def error(self) -> AcmeError:
        """The error of a failed order, or of a failed authorization, whose challenges contain it."""
        challenges = self._fields.get("challenges")
        parts = [self._fields, *(challenges if isinstance(challenges, list) else [])]
        errors = (part["error"] for part in parts if isinstance(part, dict) and "error" in part)
        return problem_in(next(errors, None))

    def text(self, name: str) -> str:
        return self._field(name, str)

    def texts(self, name: str) -> Sequence[str]:
        return [value for value in self._field(name, list) if isinstance(value, str)]

    def documents(self, name: str) -> "Sequence[AcmeDocument]":
        return [AcmeDocument(value) for value in self._field(name, list)]

    def _field(self, name: str, kind: type[_T]) -> _T:
        value = self._fields.get(name)
        if not isinstance(value, kind):
            raise _not_acme(name)
        return value


class Acme:
    def __init__(self, outbound: Outbound, directory: str) -> None:
        self._outbound = outbound
        self.directory = directory
        self._directory: AcmeDocument | None = None
        self._nonces: deque[str] = deque(maxlen=_NONCES_KEPT)

    async def register(self, key: SigningKey, email: str = "") -> AcmeAccount:
        """Agree to the authority's terms. An existing account of this key is returned. Raises AcmeError."""
        fields: dict[str, Any] = {"termsOfServiceAgreed": True}
        if email:
            fields["contact"] = [f"mailto:{email}"]
        url = (await self._endpoints()).text("newAccount")
        try:
            response = await self._post(url, key, {"jwk": key.public()}, fields)
        except AuthorityRefused as refused:
            raise account_refused(refused) from refused
        return AcmeAccount(_location(response), key)

    async def obtain(self, account: AcmeAccount, hostname: str, request: str, publish: PublishChallenge) -> str:
        """Obtain the certificate chain in PEM, for a signing request of `SigningKey.request_for`.

        Raises AcmeError; AuthorityRefused of kind `accountDoesNotExist` when the authority has lost our account.
        """
        response = await self._order(account, hostname)
        order_url = _location(response)
        for authorization in _document(response).texts("authorizations")[:_MAX_AUTHORIZATIONS]:
            await self._pass_challenge(account, authorization, publish)
        order = await self._until(account, order_url, {"ready", "valid"}, while_={"pending", "processing"})
        if order.status == "ready":
            await self._signed(account, order.text("finalize"), {"csr": request})
            order = await self._until(account, order_url, {"valid"}, while_={"ready", "processing"})
        chain = await self._signed(account, order.text("certificate"), None)
        return chain.body.decode("ascii", "replace")

    async def _order(self, account: AcmeAccount, hostname: str) -> OutboundResponse:
        url = (await self._endpoints()).text("newOrder")
        try:
            return await self._signed(account, url, {"identifiers": [{"type": "dns", "value": hostname}]})
        except AuthorityRefused as refused:
            if refused.kind in _ACCOUNT_ERRORS:
                raise account_refused(refused) from refused
            raise

    async def _pass_challenge(self, account: AcmeAccount, url: str, publish: PublishChallenge) -> None:
        authorization = _document(await self._signed(account, url, None))
        if authorization.status == "valid":
            return  # validated by an earlier order
        offered = [each for each in authorization.documents("challenges") if each.text("type") == "http-01"]
        if not offered:
            raise AuthorityRefused("The certificate authority does not allow HTTP validation for this hostname.")
        token = offered[0].text("token")
        await publish(token, f"{token}.{account.key.thumbprint()}")
        await self._signed(account, offered[0].text("url"), {})
        await self._until(account, url, {"valid"}, while_={"pending", "processing"})

    async def _until(self, account: AcmeAccount, url: str, expected: set[str], *, while_: set[str]) -> AcmeDocument:
        """Poll at the interval that the authority requests."""
        pause = _FIRST_POLL
        while True:
            found = _document(await self._signed(account, url, None))
            if found.status in expected:
                return found
            if found.status not in while_:
                raise found.error()
            await asyncio.sleep(min(found.wait or pause, _LONGEST_POLL))
            pause = min(pause * _POLL_GROWTH, _LONGEST_POLL)

    async def _signed(self, account: AcmeAccount, url: str, payload: Mapping[str, Any] | None) -> OutboundResponse:
        return await self._post(url, account.key, {"kid": account.url}, payload)

    async def _post(
        self, url: str, key: SigningKey, who: Mapping[str, Any], payload: Mapping[str, Any] | None
    ) -> OutboundResponse:
        for tries_left in reversed(range(_TRIES)):
            protected = {"nonce": await self._nonce(), "url": url, **who}
            try:
                return await self._ask("POST", url, key.sign(protected, payload))
            except AuthorityRefused as refused:
                if refused.kind != "badNonce" or not tries_left:
                    raise
        raise AssertionError

    async def _nonce(self) -> str:
        if not self._nonces:
            await self._ask("HEAD", (await self._endpoints()).text("newNonce"))
        if not self._nonces:
            raise _not_acme("Replay-Nonce")
        return self._nonces.popleft()

    async def _endpoints(self) -> AcmeDocument:
        """Return the authority's endpoints. They are fetched again after a failure."""
        if self._directory is None:
            self._directory = _document(await self._ask("GET", self.directory))
        return self._directory

    async def _ask(self, method: str, url: str, body: bytes | None = None) -> OutboundResponse:
        try:
            response = await self._outbound.request(
                method,
                self._outbound.canonical(url, schemes=("https",)),
                headers={"Content-Type": "application/jose+json"} if body else None,
                body=body,
                deadline=DEADLINE,
                max_body=MAX_RESPONSE,
            )
        except NotPublic as error:
            detail = f"Its address is not public: {error}. WAYPOST_OUTBOUND_ALLOW allows requests to a network."
            raise AuthorityUnavailable(
                f"{_UNREACHABLE} The administrator of this service has to fix it.", detail=detail
            ) from error
        except BadUrl as error:
            raise AuthorityUnavailable("The certificate authority sent an invalid URL.", detail=str(error)) from error
        except OutboundError as error:
            self._directory = None
            raise AuthorityUnavailable(f"{_UNREACHABLE} Waypost will try again.", detail=str(error)) from error
        if nonce := response.headers.get("Replay-Nonce", "")[:512]:
            self._nonces.append(nonce)
        if response.status >= 300:
            problem = problem_of(response)
            if isinstance(problem, AuthorityUnavailable):
                self._directory = None
            raise problem
        return response


def _document(response: OutboundResponse) -> AcmeDocument:
    try:
        return AcmeDocument(response.json(), retry_after(response))
    except ValueError:
        raise _not_acme("JSON") from None


def _location(response: OutboundResponse) -> str:
    url = response.headers.get("Location", "")
    if not url:
        raise _not_acme("Location")
    return url


def _not_acme(missing: str) -> AuthorityUnavailable:
    return AuthorityUnavailable(f"The certificate authority is not an ACME server: its response has no {missing}.")
