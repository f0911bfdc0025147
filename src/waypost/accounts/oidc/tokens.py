"""Verifies tokens that the provider signed (OpenID Connect Core 3.1.3.7, Back-Channel Logout 2.6). Pure.

Only signatures with public keys are accepted: a client secret, which is short and shared, signs nothing.
"""

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from waypost.accounts.oidc.errors import SignInRefused
from waypost.kit import base64url

MAX_TOKEN = 65_536  # characters; an ID token with 500 groups has 30,000
MAX_ID = 255  # characters of subject and session id
SKEW = 60  # seconds that the clocks of the two servers may differ
MAX_LOGOUT_AGE = 600  # seconds; for longer than that, its id is remembered
LOGOUT_EVENT = "http://schemas.openid.net/event/backchannel-logout"
_MIN_RSA_BITS = 2048
_KEY_TYPES = {"RS256": ("RSA", None), "PS256": ("RSA", None), "ES256": ("EC", "P-256"), "EdDSA": ("OKP", "Ed25519")}
"""The accepted algorithms, with type and curve of their keys."""
_HASHES = {"EdDSA": hashlib.sha512}  # of `at_hash`; SHA-256 for all others

Claims = Mapping[str, Any]
Keys = Sequence[Mapping[str, Any]]
"""The provider's keys, as JWKs."""


class UnknownKey(Exception):
    """None of the keys has signed the token: the provider may have new ones."""


@dataclass(frozen=True, slots=True)
class Client:
    """We, as the provider knows us."""

    issuer: str
    id: str
    secret: str = field(repr=False)


def verify_id_token(
    text: str, client: Client, keys: Keys, *, nonce: str, access_token: str | None, now: datetime
) -> Claims:
    """Return the claims. Raises SignInRefused, UnknownKey."""
    header, claims = _verify_signature(text, keys)
    _check_common(claims, client, now)
    if "exp" not in claims:
        raise SignInRefused("exp is missing")
    if claims.get("nonce") != nonce:
        raise SignInRefused("nonce")
    if not is_id(claims.get("sub")):
        raise SignInRefused("sub is missing")
    at_hash = claims.get("at_hash")
    if at_hash is not None and at_hash != _at_hash(header["alg"], access_token or ""):
        raise SignInRefused("at_hash")
    return claims


def verify_logout_token(text: str, client: Client, keys: Keys, *, now: datetime) -> Claims:
    """Return the claims, with `jti` and one of `sub` and `sid`. Raises SignInRefused, UnknownKey."""
    header, claims = _verify_signature(text, keys)
    if str(header.get("typ", "logout+jwt")).lower().removeprefix("application/") not in {"logout+jwt", "jwt"}:
        raise SignInRefused("typ")
    _check_common(claims, client, now)
    if _number(claims, "iat") + MAX_LOGOUT_AGE < now.timestamp():
        raise SignInRefused("iat is too old")
    events = claims.get("events")
    if not isinstance(events, dict) or not isinstance(events.get(LOGOUT_EVENT), dict):
        raise SignInRefused("events")
    if "nonce" in claims:
        raise SignInRefused("nonce")  # an ID token is not a logout token
    ended = [claims[name] for name in ("sub", "sid") if name in claims]
    if not is_id(claims.get("jti")) or not ended or not all(map(is_id, ended)):
        raise SignInRefused("jti, or sub and sid, are missing")
    return claims


def usable_keys(keys: Keys) -> Keys:
    return [key for key in keys if any(_fits(key, algorithm) for algorithm in _KEY_TYPES)]


def is_id(value: object) -> bool:
    return isinstance(value, str) and 0 < len(value) <= MAX_ID and value.isprintable()


def _verify_signature(text: str, keys: Keys) -> tuple[Mapping[str, Any], Claims]:
    """Slow the first time: run it in a thread."""
    from jwt import PyJWK, PyJWS  # noqa: PLC0415  # 20 MB, which an idle process does without
    from jwt.exceptions import PyJWTError  # noqa: PLC0415

    if len(text) > MAX_TOKEN:
        raise SignInRefused("the token is too long")
    try:
        header = PyJWS().get_unverified_header(text)
        algorithm = header.get("alg")
        if algorithm not in _KEY_TYPES:
            raise SignInRefused("the algorithm is not accepted")
        key = _find_key(keys, algorithm, header.get("kid"))
        payload = PyJWS().decode(text, PyJWK(dict(key), algorithm), algorithms=[algorithm])
        claims = json.loads(payload, parse_constant=_refuse_constant)
    except (PyJWTError, ValueError, TypeError, KeyError, RecursionError):
        raise SignInRefused("signature") from None
    if not isinstance(claims, dict):
        raise SignInRefused("the claims are no object")
    return header, claims


def _find_key(keys: Keys, algorithm: str, key_id: object) -> Mapping[str, Any]:
    """Return the key with the id. A token without an id needs a provider with one key of its type."""
    found = [key for key in keys if _fits(key, algorithm) and (key_id is None or key.get("kid") == key_id)]
    if not found:
        raise UnknownKey
    if len(found) > 1:
        raise SignInRefused("several keys fit the token")
    if found[0]["kty"] == "RSA" and len(base64url.decode(found[0].get("n", "")).lstrip(b"\0")) * 8 < _MIN_RSA_BITS:
        raise SignInRefused("the key is too short")
    return found[0]


def _fits(key: Mapping[str, Any], algorithm: str) -> bool:
    kind, curve = _KEY_TYPES[algorithm]
    is_for_signing = key.get("use", "sig") == "sig" and key.get("alg", algorithm) == algorithm
    return is_for_signing and key.get("kty") == kind and (curve is None or key.get("crv") == curve)


def _check_common(claims: Claims, client: Client, now: datetime) -> None:
    if claims.get("iss") != client.issuer:
        raise SignInRefused("iss")
    audience = claims.get("aud")
    audiences = audience if isinstance(audience, list) else [audience]
    if client.id not in audiences:
        raise SignInRefused("aud")
    if (len(audiences) > 1 or "azp" in claims) and claims.get("azp") != client.id:
        raise SignInRefused("azp")
    at = now.timestamp()
    if _number(claims, "exp", default=at) + SKEW <= at:
        raise SignInRefused("exp")
    if _number(claims, "iat") - SKEW > at or _number(claims, "nbf", default=at) - SKEW > at:
        raise SignInRefused("iat or nbf is in the future")


def _number(claims: Claims, name: str, default: float | None = None) -> float:
    value = claims.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise SignInRefused(f"{name} is not a number")
    return value


def _at_hash(algorithm: str, access_token: str) -> str:
    digest = _HASHES.get(algorithm, hashlib.sha256)(access_token.encode()).digest()
    return base64url.encode(digest[: len(digest) // 2])


def _refuse_constant(text: str) -> float:
    raise ValueError(f"{text} is not JSON")
