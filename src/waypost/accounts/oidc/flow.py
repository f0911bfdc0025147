"""The way of a browser to the provider and back: authorization code flow with PKCE.

An attempt is a one-time token, `state`. Nonce and PKCE verifier are derived from it and from a secret in a cookie: only
the browser that started an attempt can finish it, and several tabs do not interfere.
"""

import hashlib
import hmac
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Literal, cast, get_args
from urllib.parse import urlencode

from waypost.accounts.oidc.deps import Deps
from waypost.accounts.oidc.errors import SignInRefused
from waypost.accounts.oidc.rules import Identity, check_authentication_time, has_too_many_groups, read_identity
from waypost.accounts.oidc.tokens import verify_id_token
from waypost.accounts.people import tokens as one_time_tokens
from waypost.kit import base64url

FlowPurpose = Literal["sign_in", "connect", "verify"]
"""`connect`: add the identity to the person who is signed in; `verify`: reauthenticate."""
_SCOPES = "openid email profile"
_MAX_NEXT = 1_000  # characters
_MAX_TIMEZONE = 64
_MAX_CODE = 4_096
_ERROR = re.compile(r"[a-z_]{1,60}")
EXPIRED = "This sign-in has expired or was already used. Start again."
DENIED = "The single sign-on provider did not sign you in."


@dataclass(frozen=True, slots=True)
class Completed:
    purpose: FlowPurpose
    next_path: str
    """As it was sent; not checked. So is the time zone, which may be empty."""
    timezone: str
    identity: Identity


async def start(deps: Deps, browser: bytes, purpose: FlowPurpose, next_path: str, timezone: str = "") -> str:
    """Return the URL of the provider's sign-in page. `browser`: a secret of the browser. Raises ProviderUnavailable.

    `timezone`: of the browser, which the first page after a sign-in follows.
    """
    metadata = await deps.provider.metadata()
    async with deps.db.write() as tx:
        token = await one_time_tokens.issue(tx, "oidc", now=deps.clock())
    kept = (text if len(text) <= limit else "" for text, limit in ((next_path, _MAX_NEXT), (timezone, _MAX_TIMEZONE)))
    state = ".".join([token, purpose, *(base64url.encode(text.encode()) for text in kept)])
    challenge = hashlib.sha256(_derived(browser, "verifier", state).encode()).digest()
    parameters = {
        "response_type": "code",
        "client_id": deps.provider.client.id,
        "redirect_uri": deps.redirect_uri,
        "scope": _SCOPES,
        "state": state,
        "nonce": _derived(browser, "nonce", state),
        "code_challenge": base64url.encode(challenge),
        "code_challenge_method": "S256",
    }
    if purpose == "verify":
        parameters |= {"prompt": "login", "max_age": "0"}
    return with_query(metadata.authorization_endpoint, parameters)


async def finish(deps: Deps, browser: bytes | None, query: Mapping[str, str]) -> Completed:
    """Verify the provider's answer, once. Raises ProviderUnavailable, SignInRefused."""
    state = query.get("state", "")
    started_at, purpose, next_path, timezone = await _consume(deps, state)
    if browser is None:
        raise SignInRefused("the browser did not start it", EXPIRED)
    code = _read_code(query, deps.provider.client.issuer, is_named=(await deps.provider.metadata()).sends_issuer)
    verifier = _derived(browser, "verifier", state)
    received = await deps.provider.redeem(code, redirect_uri=deps.redirect_uri, verifier=verifier)
    verify = partial(
        verify_id_token,
        received.id_token,
        nonce=_derived(browser, "nonce", state),
        access_token=received.access_token,
        now=deps.clock(),
    )
    claims = await deps.provider.verify(verify)
    if purpose == "verify":
        check_authentication_time(claims, started_at)
    needed = {"email", deps.groups_claim} if deps.role_by_group else {"email"}
    if received.access_token and not needed <= claims.keys():
        claims = {**await deps.provider.userinfo(received.access_token, claims["sub"]), **claims}
    if deps.role_by_group and has_too_many_groups(claims, deps.groups_claim):
        raise SignInRefused("the provider left out the groups, because there are too many", DENIED)
    return Completed(purpose, next_path, timezone, read_identity(claims, deps.groups_claim, received.id_token))


def with_query(url: str, parameters: Mapping[str, str]) -> str:
    return f"{url}{'&' if '?' in url else '?'}{urlencode(parameters)}"


async def _consume(deps: Deps, state: str) -> tuple[datetime, FlowPurpose, str, str]:
    """Return when the attempt started, what for, the page to go to, and the time zone of the browser.

    Raises SignInRefused for a second time.
    """
    text, purpose, next_path, timezone = (*state.split(".", 3), "", "", "")[:4]
    async with deps.db.write() as tx:
        token = await one_time_tokens.consume(tx, "oidc", text, now=deps.clock())
    if token is None or purpose not in get_args(FlowPurpose):
        raise SignInRefused("state", EXPIRED)
    return token.created_at, cast("FlowPurpose", purpose), _decoded(next_path), _decoded(timezone)


def _read_code(query: Mapping[str, str], issuer: str, *, is_named: bool) -> str:
    """Return the authorization code. `is_named`: whether each answer of the provider has its issuer."""
    if query.get("iss", "" if is_named else issuer) != issuer:
        raise SignInRefused("iss of the answer")
    if error := query.get("error"):
        raise SignInRefused(error if _ERROR.fullmatch(error) else "error", DENIED)
    code = query.get("code", "")
    if not 0 < len(code) <= _MAX_CODE:
        raise SignInRefused("code")
    return code


def _derived(browser: bytes, purpose: str, state: str) -> str:
    return base64url.encode(hmac.digest(browser, f"{purpose}\0{state}".encode(), "sha256"))


def _decoded(text: str) -> str:
    try:
        return base64url.decode(text).decode()
    except ValueError:  # a state that we did not make
        return ""
