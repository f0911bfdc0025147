"""Asks the OpenID Connect provider: its metadata, its keys, and tokens for a code."""

import asyncio
from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, NoReturn
from urllib.parse import quote_plus, urlencode

from waypost.accounts.oidc.cached import Cached
from waypost.accounts.oidc.errors import ProviderUnavailable, SignInRefused
from waypost.accounts.oidc.tokens import Claims, Client, Keys, UnknownKey, usable_keys
from waypost.kit.clock import Clock
from waypost.kit.urls import ANY_NAME, BadUrl, Url, canonical
from waypost.outbound import Outbound, OutboundError, OutboundResponse

DEADLINE = 8.0  # seconds of one request; a sign-in waits for up to four
_MAX_BODY = 262_144  # bytes
_MAX_KEYS = 100
_MAX_AGE = timedelta(hours=1)
_MAX_AGE_WITH_UNKNOWN_KEY = timedelta(minutes=1)
"""A token with an unknown key loads the keys again, but not at each of many such tokens."""


@dataclass(frozen=True, slots=True)
class Metadata:
    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    userinfo_endpoint: str | None
    end_session_endpoint: str | None
    sends_issuer: bool
    """Whether the provider's answers name it (RFC 9207)."""
    takes_secret_in_body: bool


@dataclass(frozen=True, slots=True)
class Tokens:
    id_token: str
    access_token: str | None


class Provider:
    def __init__(self, outbound: Outbound, client: Client, clock: Clock) -> None:
        self.client = client
        self._outbound = outbound
        self._metadata = Cached(self._load_metadata, clock)
        self._keys = Cached(self._load_keys, clock)

    async def metadata(self) -> Metadata:
        """Raises ProviderUnavailable."""
        return await self._metadata.get(max_age=_MAX_AGE)

    async def verify(self, verify: Callable[[Client, Keys], Claims]) -> Claims:
        """Verify a token with the provider's keys, which are loaded again for an unknown one.

        Raises ProviderUnavailable, SignInRefused.
        """
        try:
            return await asyncio.to_thread(verify, self.client, await self._keys.get(max_age=_MAX_AGE))
        except UnknownKey:
            keys = await self._keys.get(max_age=_MAX_AGE_WITH_UNKNOWN_KEY)
        try:
            return await asyncio.to_thread(verify, self.client, keys)
        except UnknownKey:
            raise SignInRefused("the key is unknown") from None

    async def count_keys(self) -> int:
        """Return the number of keys that can have signed a token. Raises ProviderUnavailable."""
        return len(usable_keys(await self._keys.get(max_age=_MAX_AGE)))

    async def redeem(self, code: str, *, redirect_uri: str, verifier: str) -> Tokens:
        """Return the tokens for an authorization code. Raises ProviderUnavailable, SignInRefused."""
        metadata = await self.metadata()
        fields = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": redirect_uri,
            "code_verifier": verifier,
        }
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        if metadata.takes_secret_in_body:
            fields |= {"client_id": self.client.id, "client_secret": self.client.secret}
        else:
            credentials = f"{quote_plus(self.client.id)}:{quote_plus(self.client.secret)}".encode()
            headers["Authorization"] = f"Basic {b64encode(credentials).decode()}"
        response = await self._ask("POST", metadata.token_endpoint, headers, urlencode(fields).encode())
        if response.status != 200:
            self._refuse_code(response)
        document = _object(response, "token endpoint")
        id_token, access_token = document.get("id_token"), document.get("access_token")
        if not isinstance(id_token, str):
            raise ProviderUnavailable("token endpoint: the response has no id_token")
        return Tokens(id_token, access_token if isinstance(access_token, str) else None)

    async def userinfo(self, access_token: str, subject: str) -> Claims:
        """Return the claims of the userinfo endpoint; empty without one. Raises ProviderUnavailable, SignInRefused."""
        url = (await self.metadata()).userinfo_endpoint
        if url is None:
            return {}
        response = await self._ask("GET", url, {"Authorization": f"Bearer {access_token}"})
        if response.status != 200:
            raise ProviderUnavailable(f"userinfo endpoint: responded with {response.status}")
        claims = _object(response, "userinfo endpoint")
        if claims.get("sub") != subject:
            raise SignInRefused("sub of userinfo")
        return claims

    async def _load_metadata(self) -> Metadata:
        url = f"{self.client.issuer.rstrip('/')}/.well-known/openid-configuration"
        response = await self._ask("GET", url)
        if response.status != 200:
            raise ProviderUnavailable(f"discovery: {url} responded with {response.status}")
        document = _object(response, "discovery")
        if document.get("issuer") != self.client.issuer:
            found = str(document.get("issuer") or "")[:200]
            raise ProviderUnavailable(f"discovery: the issuer is “{found}”, and WAYPOST_OIDC_ISSUER must be the same")
        methods = document.get("token_endpoint_auth_methods_supported")
        return Metadata(
            authorization_endpoint=self._endpoint(document, "authorization_endpoint"),
            token_endpoint=self._endpoint(document, "token_endpoint"),
            jwks_uri=self._endpoint(document, "jwks_uri"),
            userinfo_endpoint=self._optional_endpoint(document, "userinfo_endpoint"),
            end_session_endpoint=self._optional_endpoint(document, "end_session_endpoint"),
            sends_issuer=document.get("authorization_response_iss_parameter_supported") is True,
            takes_secret_in_body=isinstance(methods, list) and "client_secret_basic" not in methods,
        )

    async def _load_keys(self) -> Keys:
        response = await self._ask("GET", (await self.metadata()).jwks_uri)
        keys = _object(response, "keys").get("keys") if response.status == 200 else None
        if not isinstance(keys, list) or len(keys) > _MAX_KEYS:
            raise ProviderUnavailable(f"keys: responded with {response.status} and no list of keys")
        return [key for key in keys if isinstance(key, dict)]

    def _endpoint(self, document: Mapping[str, Any], name: str) -> str:
        """Return the URL, which is as secure as the issuer's."""
        url = _url(document.get(name), f"discovery: {name}")
        if "#" in url.text:
            raise ProviderUnavailable(f"discovery: {name} has a fragment")
        if url.scheme != "https" and not self.client.issuer.startswith("http:"):
            raise ProviderUnavailable(f"discovery: {name} must be an https:// URL")
        return url.text

    def _optional_endpoint(self, document: Mapping[str, Any], name: str) -> str | None:
        return self._endpoint(document, name) if document.get(name) else None

    async def _ask(
        self, method: str, url: str, headers: Mapping[str, str] | None = None, body: bytes | None = None
    ) -> OutboundResponse:
        try:
            return await self._outbound.request(
                method,
                _url(url, "URL"),
                headers={"Accept": "application/json", **(headers or {})},
                body=body,
                deadline=DEADLINE,
                max_body=_MAX_BODY,
            )
        except OutboundError as error:
            raise ProviderUnavailable(f"{url}: {error}") from error

    def _refuse_code(self, response: OutboundResponse) -> NoReturn:
        """Raise what a token endpoint's error means: the code is not valid, or we are not."""
        try:
            error = str(_object(response, "token endpoint").get("error"))[:100]
        except ProviderUnavailable:
            error = ""
        if error == "invalid_grant":
            raise SignInRefused("the code is not valid")
        raise ProviderUnavailable(f"token endpoint: responded with {response.status} {error}".rstrip())


def _url(text: object, what: str) -> Url:
    try:
        return canonical(text if isinstance(text, str) else "", private=ANY_NAME)
    except BadUrl as error:
        raise ProviderUnavailable(f"{what}: {error}") from None


def _object(response: OutboundResponse, what: str) -> Mapping[str, Any]:
    try:
        document = response.json()
    except ValueError:
        document = None
    if not isinstance(document, dict):
        raise ProviderUnavailable(f"{what}: the response is no JSON object")
    return document
