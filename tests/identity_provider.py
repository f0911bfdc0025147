"""An OpenID Connect provider on a real socket that speaks the true protocol, and whose answers a test falsifies."""

import asyncio
import base64
import hashlib
import json
import secrets
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from typing import Any
from urllib.parse import parse_qs, parse_qsl, unquote_plus, urlencode, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

CLIENT_ID = "waypost & co"  # both have characters that Basic authentication must encode
CLIENT_SECRET = "a+secret:of the/provider%"
REMOVED = object()
"""A claim with this value is left out."""


def private_key(algorithm: str, name: str = "") -> Any:
    """Another name is another key."""
    return _private_key(algorithm, name)


@cache
def _private_key(algorithm: str, _name: str) -> Any:
    if algorithm in {"RS256", "PS256"}:
        return rsa.generate_private_key(65_537, 2048)
    return ec.generate_private_key(ec.SECP256R1()) if algorithm == "ES256" else ed25519.Ed25519PrivateKey.generate()


def public_jwk(algorithm: str, name: str = "") -> dict[str, Any]:
    kinds: dict[str, Any] = {"RS256": RSAAlgorithm, "PS256": RSAAlgorithm, "ES256": ECAlgorithm, "EdDSA": OKPAlgorithm}
    return dict(json.loads(kinds[algorithm].to_jwk(private_key(algorithm, name).public_key())))


def base64url(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


@dataclass
class Answer:
    status: int = 200
    body: bytes = b"{}"
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass
class IdentityProvider:
    clock: Callable[[], datetime]
    issuer: str = ""
    algorithm: str = "RS256"
    key_name: str = ""
    key_id: str = "first"
    user: dict[str, Any] = field(default_factory=dict)
    """Claims of whoever signs in."""
    falsified: dict[str, Any] = field(default_factory=dict)
    """Claims of the next ID tokens that are not what they should be."""
    header: dict[str, Any] = field(default_factory=dict)
    sign: Callable[[dict[str, Any], dict[str, Any]], str] | None = None
    """Signs (header, claims) instead of the provider's key."""
    metadata: dict[str, Any] = field(default_factory=dict)
    jwks: list[dict[str, Any]] | None = None
    userinfo: dict[str, Any] | None = None
    answers: dict[str, Answer | None] = field(default_factory=dict)
    """What a path answers instead; None: nothing, ever."""
    checks_clients: bool = True
    codes_stay: bool = False
    asked: list[str] = field(default_factory=list)
    """Paths, in order."""
    forms: list[dict[str, str]] = field(default_factory=list)
    _codes: dict[str, dict[str, str]] = field(default_factory=dict)

    def signs_in(self, subject: str, email: str | None = None, **claims: Any) -> None:
        """Whoever comes from now on is signed in as this user."""
        email_claims = {"email": email, "email_verified": True} if email else {}
        self.user = {"sub": subject, **email_claims, **claims}

    def token(self, claims: Mapping[str, Any]) -> str:
        present = {name: value for name, value in claims.items() if value is not REMOVED}
        header = {"alg": self.algorithm, "kid": self.key_id, **self.header}
        if self.sign:
            return self.sign(header, present)
        extra = {name: value for name, value in header.items() if name != "alg"}
        return jwt.encode(present, private_key(self.algorithm, self.key_name), self.algorithm, headers=extra)

    def logout_token(self, **changed: Any) -> str:
        now = int(self.clock().timestamp())
        events = {"http://schemas.openid.net/event/backchannel-logout": {}}
        own = {"iss": self.issuer, "aud": CLIENT_ID, "iat": now, "exp": now + 120, "jti": secrets.token_hex(8)}
        return self.token({**own, "events": events, **changed})

    def _id_token(self, nonce: str, access_token: str) -> str:
        now = int(self.clock().timestamp())
        hashed = (hashlib.sha512 if self.algorithm == "EdDSA" else hashlib.sha256)(access_token.encode()).digest()
        own = {
            "iss": self.issuer,
            "aud": CLIENT_ID,
            "iat": now,
            "exp": now + 300,
            "auth_time": now,
            "nonce": nonce,
            "at_hash": base64url(hashed[: len(hashed) // 2]),
        }
        return self.token({**own, **self.user, **self.falsified})

    def answer(self, method: str, target: str, headers: Mapping[str, str], body: str) -> Answer:
        path = urlsplit(target).path.removeprefix(urlsplit(self.issuer).path.rstrip("/"))
        if path == "/.well-known/openid-configuration":
            return _json(self._discovery())
        if path == "/keys":
            own = {**public_jwk(self.algorithm, self.key_name), "kid": self.key_id, "use": "sig"}
            return _json({"keys": [own] if self.jwks is None else self.jwks})
        if path == "/authorize":
            return self._authorize(dict(parse_qsl(urlsplit(target).query)))
        if path == "/token" and method == "POST":
            return self._redeem(headers.get("authorization", ""), dict(parse_qsl(body)))
        if path == "/userinfo" and headers.get("authorization", "").startswith("Bearer access-"):
            return _json({"sub": self.user["sub"], **(self.userinfo or {})})
        return Answer(404)

    def _discovery(self) -> dict[str, Any]:
        base = self.issuer.rstrip("/")
        endpoints = {
            "authorization_endpoint": f"{base}/authorize",
            "token_endpoint": f"{base}/token",
            "jwks_uri": f"{base}/keys",
            "end_session_endpoint": f"{base}/logout?from=waypost",
        }
        optional = {} if self.userinfo is None else {"userinfo_endpoint": f"{base}/userinfo"}
        found = {"issuer": self.issuer, **endpoints, **optional, **self.metadata}
        return {name: value for name, value in found.items() if value is not REMOVED}

    def _authorize(self, query: dict[str, str]) -> Answer:
        assert query["response_type"] == "code"
        assert query["client_id"] == CLIENT_ID
        assert query["code_challenge_method"] == "S256"
        assert "openid" in query["scope"].split()
        code = f"code-{secrets.token_hex(8)}"
        self._codes[code] = query
        back = f"{query['redirect_uri']}?{urlencode({'code': code, 'state': query['state']})}"
        return Answer(302, b"", {"Location": back})

    def _redeem(self, authorization: str, form: dict[str, str]) -> Answer:
        self.forms.append(form)
        if self.checks_clients and not _is_client(authorization, form):
            return _json({"error": "invalid_client"}, 401)
        query = self._codes.get(form["code"]) if self.codes_stay else self._codes.pop(form["code"], None)
        challenge = base64url(hashlib.sha256(form["code_verifier"].encode()).digest())
        if not query or query["redirect_uri"] != form["redirect_uri"] or query["code_challenge"] != challenge:
            return _json({"error": "invalid_grant"}, 400)
        access_token = f"access-{secrets.token_hex(8)}"
        id_token = self._id_token(query["nonce"], access_token)
        return _json({"access_token": access_token, "token_type": "Bearer", "expires_in": 60, "id_token": id_token})

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            first, *lines = head.split("\r\n")
            method, target, _ = first.split(" ")
            headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
            body = (await reader.readexactly(int(headers.get("content-length", "0")))).decode()
            path = urlsplit(target).path
            self.asked.append(path)
            answer = self.answers[path] if path in self.answers else self.answer(method, target, headers, body)
            if answer is None:
                await reader.read()
                return
            fields = {"Content-Type": "application/json", "Content-Length": str(len(answer.body)), **answer.headers}
            lines = [f"HTTP/1.1 {answer.status} X", *(f"{name}: {value}" for name, value in fields.items())]
            writer.write("\r\n".join([*lines, "Connection: close", "", ""]).encode() + answer.body)
            await writer.drain()
        finally:
            writer.close()


@asynccontextmanager
async def identity_provider(clock: Callable[[], datetime], path: str = "") -> AsyncIterator[IdentityProvider]:
    """`path`: of the issuer."""
    provider = IdentityProvider(clock)
    provider.signs_in("ann-1", "ann@example.com", name="Ann")
    server = await asyncio.start_server(provider.accept, "127.0.0.1", 0)
    provider.issuer = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}{path}"
    try:
        yield provider
    finally:
        server.close()


def parameters(url: str) -> dict[str, str]:
    """Of a URL's query, each of which is there once."""
    return {name: value for name, [value] in parse_qs(urlsplit(url).query, strict_parsing=True).items()}


def _json(document: object, status: int = 200) -> Answer:
    return Answer(status, json.dumps(document).encode())


def _is_client(authorization: str, form: Mapping[str, str]) -> bool:
    if not authorization:
        return (form.get("client_id"), form.get("client_secret")) == (CLIENT_ID, CLIENT_SECRET)
    kind, _, encoded = authorization.partition(" ")
    name, _, secret = base64.b64decode(encoded).decode().partition(":")
    return kind == "Basic" and (unquote_plus(name), unquote_plus(secret)) == (CLIENT_ID, CLIENT_SECRET)
