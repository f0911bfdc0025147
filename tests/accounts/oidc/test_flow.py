"""The way to the provider and back, with everything on it that may be wrong."""

import asyncio
import hmac
import json
import secrets
import shutil
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from identity_provider import (
    CLIENT_ID,
    CLIENT_SECRET,
    REMOVED,
    Answer,
    IdentityProvider,
    base64url,
    parameters,
    private_key,
    public_jwk,
)
from people import START, FakeClock

from waypost.accounts.oidc import flow
from waypost.accounts.oidc import provider as provider_module
from waypost.accounts.oidc.errors import ProviderUnavailable, SignInRefused
from waypost.accounts.oidc.rules import Identity

NOW = int(START.timestamp())


@pytest.fixture
def database_url(sqlite_template: Path, tmp_path: Path) -> str:
    """One database: it keeps a one-time token, and test_service.py is about what it stores."""
    shutil.copy(sqlite_template, tmp_path / "waypost.db")
    return f"sqlite:///{tmp_path / 'waypost.db'}"


async def test_returns_who_signed_in(sign_in: Any, provider: IdentityProvider) -> None:
    provider.signs_in("ann-1", " Ann@Example.com", name="Ann", groups=["it", "other"], sid="session-1")
    completed = await sign_in.through()
    identity = completed.identity
    assert (completed.purpose, completed.next_path) == ("sign_in", "/links")
    assert replace(identity, id_token="") == Identity(
        provider.issuer, "ann-1", "ann@example.com", "Ann", ("it", "other"), "session-1"
    )
    assert jwt.decode(identity.id_token, options={"verify_signature": False})["sub"] == "ann-1"


async def test_asks_with_pkce_state_and_nonce(sign_in: Any, provider: IdentityProvider) -> None:
    url = await flow.start(sign_in.deps, sign_in.secret, "sign_in", "/links")
    asked = parameters(url)
    assert url.startswith(f"{provider.issuer}/authorize?")
    assert asked.keys() == {
        "response_type", "client_id", "redirect_uri", "scope", "state", "nonce", "code_challenge",
        "code_challenge_method",
    }  # fmt: skip
    assert asked["redirect_uri"] == "http://app.test/login/oidc/callback"
    again = parameters(await flow.start(sign_in.deps, sign_in.secret, "sign_in", "/links"))
    assert all(again[name] != asked[name] for name in ("state", "nonce", "code_challenge"))


@pytest.mark.parametrize("algorithm", ["RS256", "PS256", "ES256", "EdDSA"])
async def test_accepts_public_key_algorithms(sign_in: Any, provider: IdentityProvider, algorithm: str) -> None:
    provider.algorithm = algorithm
    assert (await sign_in.through()).identity.subject == "ann-1"


def none_signed(header: dict[str, Any], claims: dict[str, Any]) -> str:
    return f"{base64url(json.dumps({**header, 'alg': 'none'}).encode())}.{base64url(json.dumps(claims).encode())}."


def signed_with_secret(header: dict[str, Any], claims: dict[str, Any]) -> str:
    return jwt.encode(claims, CLIENT_SECRET.ljust(32), "HS256", headers={"kid": header["kid"]})


def signed_with_public_key(header: dict[str, Any], claims: dict[str, Any]) -> str:
    """The confusion of a public key with a shared secret."""
    pem = private_key("RS256").public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    signed = ".".join(base64url(json.dumps(part).encode()) for part in ({**header, "alg": "HS256"}, claims))
    return f"{signed}.{base64url(hmac.digest(pem, signed.encode(), 'sha256'))}"


def signed_by_another(header: dict[str, Any], claims: dict[str, Any]) -> str:
    return jwt.encode(claims, private_key("RS256", "another"), "RS256", headers={"kid": header["kid"]})


def with_own_key(header: dict[str, Any], claims: dict[str, Any]) -> str:
    headers = {"kid": header["kid"], "jwk": public_jwk("RS256", "another")}
    return jwt.encode(claims, private_key("RS256", "another"), "RS256", headers=headers)


def changed_after_signing(header: dict[str, Any], claims: dict[str, Any]) -> str:
    head, _, signature = jwt.encode(claims, private_key("RS256"), "RS256", headers={"kid": header["kid"]}).split(".")
    return f"{head}.{base64url(json.dumps({**claims, 'sub': 'bob-1'}).encode())}.{signature}"


SIGNATURES = {
    "none": none_signed,
    "secret": signed_with_secret,
    "public key as secret": signed_with_public_key,
    "another key": signed_by_another,
    "a key of the token": with_own_key,
    "changed": changed_after_signing,
    "no token": lambda *_: "a.b.c",
    "nothing": lambda *_: "",
    "not ASCII": lambda *_: "é.\ud800.c",
    "long": lambda *_: "a" * 70_000,
}


@pytest.mark.parametrize("name", SIGNATURES)
async def test_refuses_wrong_signatures(sign_in: Any, provider: IdentityProvider, name: str) -> None:
    provider.sign = SIGNATURES[name]
    with pytest.raises(SignInRefused):
        await sign_in.through()
    provider.sign = None
    assert await sign_in.through()  # what was wrong has no consequence


WRONG_CLAIMS: dict[str, dict[str, Any]] = {
    "iss": {"iss": "https://evil.test"},
    "iss with a slash": {"iss": "http://127.0.0.1/"},
    "no iss": {"iss": REMOVED},
    "aud": {"aud": "another client"},
    "aud of nobody": {"aud": []},
    "no aud": {"aud": REMOVED},
    "several aud without azp": {"aud": [CLIENT_ID, "another client"]},
    "azp": {"azp": "another client"},
    "nonce": {"nonce": "another"},
    "no nonce": {"nonce": REMOVED},
    "nonce of another kind": {"nonce": {"a": 1}},
    "expired": {"exp": NOW - 60},
    "no exp": {"exp": REMOVED},
    "exp is text": {"exp": str(NOW + 60)},
    "exp is true": {"exp": True},
    "exp is null": {"exp": None},
    "endless": {"exp": float("inf")},
    "iat": {"iat": NOW + 61},
    "no iat": {"iat": REMOVED},
    "nbf": {"nbf": NOW + 61},
    "at_hash": {"at_hash": "another"},
    "no sub": {"sub": REMOVED},
    "empty sub": {"sub": ""},
    "long sub": {"sub": "a" * 256},
    "number as sub": {"sub": 7},
    "NUL in sub": {"sub": "a\0b"},
    "no email": {"email": REMOVED},
    "empty email": {"email": " "},
    "no email address": {"email": "ann"},
    "two emails": {"email": ["ann@example.com"]},
    "unverified email": {"email_verified": False},
    "email that nobody verified": {"email_verified": REMOVED},
    "email verified as text": {"email_verified": "false"},
    "email verified as the number 1": {"email_verified": 1},
    "email verified as the number 1.0": {"email_verified": 1.0},
    "email verified as the text 1": {"email_verified": "1"},
    "email verified as a list": {"email_verified": [True]},
    "too many groups": {"_claim_names": {"groups": "src1"}},
}


@pytest.mark.parametrize("name", WRONG_CLAIMS)
async def test_refuses_wrong_claims(sign_in: Any, provider: IdentityProvider, name: str) -> None:
    provider.falsified = WRONG_CLAIMS[name]
    with pytest.raises(SignInRefused):
        await sign_in.through()


ACCEPTED_CLAIMS: dict[str, dict[str, Any]] = {
    "several aud": {"aud": [CLIENT_ID, "another client"], "azp": CLIENT_ID},
    "a list": {"aud": [CLIENT_ID]},
    "clock that is behind": {"exp": NOW - 59},
    "clock that is ahead": {"iat": NOW + 59, "nbf": NOW + 59},
    "no at_hash": {"at_hash": REMOVED},
    "fractions": {"exp": NOW + 0.5},
    "verified as text": {"email_verified": "true"},
    "Entra": {"email_verified": REMOVED, "xms_edov": "1"},
    "groups of another kind": {"groups": [1, None, {"it": 1}]},
    "a hundred groups": {"groups": [f"group {number}" * 5 for number in range(100)]},
}


@pytest.mark.parametrize("name", ACCEPTED_CLAIMS)
async def test_accepts_unusual_claims(sign_in: Any, provider: IdentityProvider, name: str) -> None:
    provider.falsified = ACCEPTED_CLAIMS[name]
    assert (await sign_in.through()).identity.subject == "ann-1"


async def test_an_answer_counts_once(sign_in: Any, provider: IdentityProvider) -> None:
    provider.codes_stay = True
    query = await sign_in.start()
    await sign_in.finish(query)
    with pytest.raises(SignInRefused, match="already used"):
        await sign_in.finish(query)


async def test_refuses_the_answer_to_another_browser(sign_in: Any) -> None:
    """Otherwise somebody could sign others in to an account of their own."""
    other = replace(sign_in, secret=secrets.token_bytes(32))
    with pytest.raises(SignInRefused):
        await sign_in.finish(await other.start())
    with pytest.raises(SignInRefused):
        await flow.finish(sign_in.deps, None, await sign_in.start())


async def test_several_tabs_sign_in(sign_in: Any) -> None:
    first, second = await sign_in.start(next_path="/first"), await sign_in.start(next_path="/second")
    assert (await sign_in.finish(second)).next_path == "/second"
    assert (await sign_in.finish(first)).next_path == "/first"


async def test_refuses_a_changed_state(sign_in: Any) -> None:
    query = await sign_in.start()
    token, _, path = query["state"].split(".", 2)
    with pytest.raises(SignInRefused):
        await sign_in.finish({**query, "state": f"{token}.connect.{path}"})
    for state in ("", ".", "..", "a.b.c", "é.sign_in.\ud800", f"{token}.sign_in.{path}"):
        with pytest.raises(SignInRefused):
            await sign_in.finish({**query, "state": state})


async def test_an_attempt_expires(sign_in: Any, clock: FakeClock) -> None:
    query = await sign_in.start()
    clock.move(timedelta(minutes=15))
    with pytest.raises(SignInRefused, match="expired"):
        await sign_in.finish(query)


@pytest.mark.parametrize("answer", [{"error": "access_denied"}, {"error": "<b>"}, {"code": ""}, {"code": "a" * 5_000}])
async def test_refuses_an_answer_without_a_code(sign_in: Any, answer: dict[str, str]) -> None:
    query = await sign_in.start()
    with pytest.raises(SignInRefused) as refused:
        await sign_in.finish({"state": query["state"], **answer})
    assert "<" not in f"{refused.value.reason}{refused.value}"


async def test_checks_the_issuer_of_an_answer(sign_in: Any, provider: IdentityProvider) -> None:
    with pytest.raises(SignInRefused):
        await sign_in.finish({**await sign_in.start(), "iss": "https://evil.test"})
    assert await sign_in.finish({**await sign_in.start(), "iss": provider.issuer})


async def test_requires_the_issuer_of_an_answer_if_it_is_promised(sign_in: Any, provider: IdentityProvider) -> None:
    provider.metadata = {"authorization_response_iss_parameter_supported": True}
    with pytest.raises(SignInRefused):
        await sign_in.through()


async def test_reads_what_the_token_lacks_from_userinfo(sign_in: Any, provider: IdentityProvider) -> None:
    """Okta sends a short token."""
    provider.signs_in("ann-1")
    provider.userinfo = {"email": "ann@example.com", "email_verified": True, "groups": ["it"], "name": "Ann"}
    assert (await sign_in.through()).identity.groups == ("it",)
    provider.userinfo["sub"] = "bob-1"
    with pytest.raises(SignInRefused):
        await sign_in.through()


async def test_verifying_needs_a_new_authentication(sign_in: Any, provider: IdentityProvider) -> None:
    asked = parameters(await flow.start(sign_in.deps, sign_in.secret, "verify", "/"))
    assert (asked["prompt"], asked["max_age"]) == ("login", "0")
    assert await sign_in.through("verify")
    provider.falsified = {"auth_time": NOW - 61}
    with pytest.raises(SignInRefused, match="sign in again"):
        await sign_in.through("verify")
    assert await sign_in.through("sign_in")


# ── keys ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_loads_new_keys_for_an_unknown_one(sign_in: Any, provider: IdentityProvider, clock: FakeClock) -> None:
    await sign_in.through()
    provider.key_id, provider.key_name = "second", "another"
    clock.move(timedelta(minutes=1))
    await sign_in.through()
    assert provider.asked.count("/keys") == 2
    for _ in range(5):
        provider.header = {"kid": "forged"}
        with pytest.raises(SignInRefused):
            await sign_in.through()
    assert provider.asked.count("/keys") == 2  # at most once a minute


async def test_keys_and_metadata_are_cached_for_an_hour(
    sign_in: Any, provider: IdentityProvider, clock: FakeClock
) -> None:
    await sign_in.through()
    await sign_in.through()
    assert (provider.asked.count("/keys"), provider.asked.count("/.well-known/openid-configuration")) == (1, 1)
    clock.move(timedelta(hours=1))
    await sign_in.through()
    assert (provider.asked.count("/keys"), provider.asked.count("/.well-known/openid-configuration")) == (2, 2)


WRONG_KEYS: dict[str, Callable[[dict[str, Any]], list[Any]]] = {
    "none": lambda _: [],
    "for encryption": lambda key: [{**key, "use": "enc"}],
    "for another algorithm": lambda key: [{**key, "alg": "RS512"}],
    "of another type": lambda key: [{**public_jwk("ES256"), "kid": key["kid"]}],
    "no numbers": lambda key: [{"kty": "RSA", "kid": key["kid"]}],
    "numbers of another kind": lambda key: [{**key, "n": 7}],
    "short": lambda key: [{**key, "n": base64url(b"\xff" * 128)}],
    "twice": lambda key: [key, key],
    "no object": lambda _: ["key"],
}


def _jwk() -> dict[str, Any]:
    return {**public_jwk("RS256"), "kid": "first"}


@pytest.mark.parametrize("name", WRONG_KEYS)
async def test_refuses_wrong_keys(sign_in: Any, provider: IdentityProvider, name: str) -> None:
    provider.jwks = WRONG_KEYS[name](_jwk())
    with pytest.raises(SignInRefused):
        await sign_in.through()


async def test_a_token_without_key_id_needs_one_key(sign_in: Any, provider: IdentityProvider) -> None:
    provider.header = {"kid": None}
    provider.sign = lambda header, claims: jwt.encode(claims, private_key("RS256"), "RS256")
    provider.jwks = [_jwk(), {**public_jwk("ES256"), "kid": "second"}]
    assert await sign_in.through()


def extended(header: dict[str, Any], claims: dict[str, Any]) -> str:
    """Sign any header."""
    signed = ".".join(base64url(json.dumps(part).encode()) for part in (header, claims))
    signature = private_key("RS256").sign(signed.encode(), PKCS1v15(), SHA256())
    return f"{signed}.{base64url(signature)}"


async def test_refuses_critical_extensions(sign_in: Any, provider: IdentityProvider) -> None:
    for header in ({"crit": ["exp"], "exp": 1}, {"b64": False}, {"b64": False, "crit": ["b64"]}):
        provider.header = header
        provider.sign = extended
        with pytest.raises(SignInRefused):
            await sign_in.through()
    provider.header = {"typ": "JWT"}
    assert await sign_in.through()


# ── a provider that fails ─────────────────────────────────────────────────────────────────────────────────────────────

DISCOVERY = "/.well-known/openid-configuration"


@pytest.mark.parametrize(
    "answer",
    [
        Answer(500),
        Answer(404),
        Answer(302, b"", {"Location": "http://127.0.0.1:1/"}),
        Answer(200, b"<html>"),
        Answer(200, b"[]"),
        Answer(200, b"[" * 100_000),
        Answer(200, b"{}"),
        Answer(200, b'{"issuer": "' + b"a" * 400_000),
    ],
    ids=lambda answer: f"{answer.status} {answer.body[:9]!r}",
)
async def test_discovery_fails(sign_in: Any, provider: IdentityProvider, answer: Answer, clock: FakeClock) -> None:
    provider.answers[DISCOVERY] = answer
    with pytest.raises(ProviderUnavailable):
        await sign_in.start()
    del provider.answers[DISCOVERY]
    clock.move(timedelta(seconds=10))
    assert await sign_in.through()


@pytest.mark.parametrize(
    "metadata",
    [
        {"issuer": "https://evil.test"},
        {"issuer": None},
        {"authorization_endpoint": None},
        {"authorization_endpoint": "javascript:alert(1)"},
        {"authorization_endpoint": "http://127.0.0.1/#here"},
        {"token_endpoint": 7},
        {"jwks_uri": "file:///etc/passwd"},
    ],
    ids=str,
)
async def test_refuses_wrong_metadata(sign_in: Any, provider: IdentityProvider, metadata: dict[str, Any]) -> None:
    provider.metadata = metadata
    with pytest.raises(ProviderUnavailable):
        await sign_in.start()


async def test_everyone_waits_for_one_request(
    sign_in: Any, provider: IdentityProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A provider that does not respond is asked once, not once for each visitor of the page."""
    monkeypatch.setattr(provider_module, "DEADLINE", 0.2)
    provider.answers[DISCOVERY] = None
    results = await asyncio.gather(*(sign_in.start() for _ in range(20)), return_exceptions=True)
    assert {type(result) for result in results} == {ProviderUnavailable}
    with pytest.raises(ProviderUnavailable):
        await sign_in.start()
    assert len(provider.asked) == 1


@pytest.mark.parametrize("path", ["/token", "/keys"])
@pytest.mark.parametrize("answer", [Answer(500), Answer(200, b"<html>"), Answer(200, b"{}")], ids=str)
async def test_an_endpoint_fails(sign_in: Any, provider: IdentityProvider, path: str, answer: Answer) -> None:
    provider.answers[path] = answer
    with pytest.raises(ProviderUnavailable):
        await sign_in.through()


async def test_a_code_that_is_not_valid_is_no_outage(sign_in: Any) -> None:
    with pytest.raises(SignInRefused):
        await sign_in.finish({**await sign_in.start(), "code": "code-of-nobody"})


async def test_a_wrong_client_secret_is_an_outage(sign_in: Any, provider: IdentityProvider) -> None:
    provider.answers["/token"] = Answer(401, b'{"error": "invalid_client"}')
    with pytest.raises(ProviderUnavailable) as unavailable:
        await sign_in.through()
    assert unavailable.value.reason == "token endpoint: responded with 401 invalid_client"


async def test_sends_the_secret_as_the_provider_wants(sign_in: Any, provider: IdentityProvider) -> None:
    await sign_in.through()
    assert "client_secret" not in provider.forms[-1]


async def test_sends_the_secret_in_the_body(sign_in: Any, provider: IdentityProvider) -> None:
    provider.metadata = {"token_endpoint_auth_methods_supported": ["client_secret_post"]}
    await sign_in.through()
    assert provider.forms[-1]["client_secret"] == CLIENT_SECRET
