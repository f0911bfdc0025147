"""Passkeys (WebAuthn). Each use requires user verification, not only the device (R14).

A challenge is a one-time token, so a signed response cannot be replayed.
"""

import asyncio
import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

from sqlalchemy import BigInteger, Column, ForeignKey, LargeBinary, Table, Text, delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from waypost.auth import store, tokens
from waypost.auth.deps import Deps
from waypost.auth.model import Account, AuthenticationResult
from waypost.database import Id, Instant, Tx, metadata
from waypost.kit.errors import Invalid, NotFound, or_not_found
from waypost.kit.ids import new_id

MAX_PASSKEYS = 20
NAME_LIMIT = 100
REJECTED = "This passkey could not be used. Try again, or sign in another way."
_ALGORITHMS = -8, -7, -257  # EdDSA, ES256, RS256
_VERIFIED_USER = {"userVerification": "required"}
_TIMEOUT = int(tokens.LIFETIMES["passkey"].total_seconds() * 1000)
UNCONFIRMED = "Confirm your email address first."
TOO_MANY = f"An account can have at most {MAX_PASSKEYS} passkeys. Remove one first."

passkeys = Table(
    "passkeys",
    metadata,
    Column("id", Id, primary_key=True),
    Column("account_id", Id, ForeignKey("accounts.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("credential_id", LargeBinary, nullable=False, unique=True),
    Column("public_key", LargeBinary, nullable=False),
    Column("uses", BigInteger, nullable=False),  # the signature counter of the device; most send 0
    Column("name", Text, nullable=False),
    Column("created_at", Instant, nullable=False),
    Column("used_at", Instant),
)
_P = passkeys.c


@dataclass(frozen=True, slots=True)
class Passkey:
    id: UUID
    name: str
    created_at: datetime
    used_at: datetime | None


_PASSKEY = tuple(_P[name] for name in Passkey.__dataclass_fields__)


async def registration_options(deps: Deps, account: Account) -> dict[str, Any]:
    """For `navigator.credentials.create` of a browser. Raises Invalid."""
    _refuse_unconfirmed(deps, account)
    async with deps.db.read() as tx:
        known = (await tx.execute(select(_P.credential_id).where(_P.account_id == account.id))).scalars().all()
    return {
        "challenge": await _new_challenge(deps, account),
        "rp": {"id": _rp_id(deps), "name": "Waypost"},
        "user": {"id": _text(account.id.bytes), "name": account.email, "displayName": account.name},
        "pubKeyCredParams": [{"type": "public-key", "alg": algorithm} for algorithm in _ALGORITHMS],
        "authenticatorSelection": {"residentKey": "required", "requireResidentKey": True, **_VERIFIED_USER},
        "attestation": "none",
        "excludeCredentials": [{"type": "public-key", "id": _text(each)} for each in known],
        "timeout": _TIMEOUT,
    }


async def authentication_options(deps: Deps) -> dict[str, Any]:
    """For `navigator.credentials.get`. Any passkey of this service is accepted: the device knows its account."""
    return {"challenge": await _new_challenge(deps), "rpId": _rp_id(deps), "timeout": _TIMEOUT, **_VERIFIED_USER}


async def register(deps: Deps, account: Account, name: str, response: str) -> None:
    """`response`: the new credential as JSON. Raises Invalid."""
    _refuse_unconfirmed(deps, account)
    credential = _read(response)
    challenge = _challenge(credential)
    token = await tokens.find(deps.db, "passkey", challenge, now=deps.clock())
    if token is None or token.account_id != account.id:
        raise Invalid({"body": [REJECTED]})
    row = await asyncio.to_thread(_verify_registration, deps, credential, challenge)
    if row is None:
        raise Invalid({"body": [REJECTED]})
    known = {"id": new_id(), "account_id": account.id, "name": _label(name), "created_at": deps.clock()}
    try:
        async with deps.db.write() as tx:
            await store.lock_account(tx, account.id)
            if await tokens.spend(tx, "passkey", challenge, now=deps.clock()) is None:
                raise Invalid({"body": [REJECTED]})  # spent, or deleted by a new password, meanwhile
            counted = select(func.count()).select_from(passkeys).where(_P.account_id == account.id)
            if (await tx.execute(counted)).scalar_one() >= MAX_PASSKEYS:
                raise Invalid({"body": [TOO_MANY]})
            await tx.execute(insert(passkeys), known | dict(row))
    except IntegrityError:
        raise Invalid({"body": [REJECTED]}) from None


async def authenticate(deps: Deps, response: str) -> AuthenticationResult:
    """`response`: the signed credential as JSON. Raises Invalid, whatever is wrong with it."""
    credential = _read(response)
    challenge = _challenge(credential)
    async with deps.db.write() as tx:
        token = await tokens.spend(tx, "passkey", challenge, now=deps.clock())
        key = (await tx.execute(select(passkeys).where(_P.credential_id == _id_of(credential)))).one_or_none()
    if token is None or token.account_id is not None or key is None:
        raise Invalid({"body": [REJECTED]})
    uses = await asyncio.to_thread(_verify_authentication, deps, credential, challenge, key.public_key, key.uses)
    async with deps.db.write() as tx:
        account = await store.find_account(tx, key.account_id)
        password = await store.find_password_hash(tx, key.account_id)
        if uses is None or account is None:
            raise Invalid({"body": [REJECTED]})
        used = update(passkeys).where(_P.id == key.id).values(uses=uses, used_at=deps.clock())
        if (await tx.execute(used)).rowcount == 0:
            raise Invalid({"body": [REJECTED]})  # removed meanwhile
    return AuthenticationResult(account, password=password, passkey=key.id)


async def list_all(deps: Deps, account: Account) -> list[Passkey]:
    async with deps.db.read() as tx:
        rows = await tx.execute(select(*_PASSKEY).where(_P.account_id == account.id).order_by(_P.created_at, _P.id))
        return [Passkey(*row) for row in rows]


async def find(deps: Deps, account: Account, passkey_id: UUID) -> Passkey:
    async with deps.db.read() as tx:
        row = (await tx.execute(select(*_PASSKEY).where(*_is(account, passkey_id)))).one_or_none()
    return Passkey(*or_not_found(row))


async def remove(deps: Deps, account: Account, passkey_id: UUID) -> None:
    async with deps.db.write() as tx:
        await store.lock_account(tx, account.id)  # a concurrent sign-in with it comes before or after
        if (await tx.execute(delete(passkeys).where(*_is(account, passkey_id)))).rowcount == 0:
            raise NotFound


async def exists(tx: Tx, account_id: UUID, passkey_id: UUID) -> bool:
    found = select(_P.id).where(_P.id == passkey_id, _P.account_id == account_id)
    return (await tx.execute(found)).first() is not None


async def remove_all(tx: Tx, account_id: UUID) -> None:
    await tx.execute(delete(passkeys).where(_P.account_id == account_id))


async def _new_challenge(deps: Deps, account: Account | None = None) -> str:
    """To register a passkey for this account; without one, to authenticate by any passkey."""
    async with deps.db.write() as tx:
        account_id = account.id if account else None
        return await tokens.issue(tx, "passkey", now=deps.clock(), account_id=account_id)


def _refuse_unconfirmed(deps: Deps, account: Account) -> None:
    """An unconfirmed email may belong to somebody else, and a passkey would outlive the owner's first sign-in."""
    if deps.sends_mail and account.confirmed_at is None:
        raise Invalid({"body": [UNCONFIRMED]})


def _is(account: Account, passkey_id: UUID) -> Any:
    return _P.id == passkey_id, _P.account_id == account.id


def _rp_id(deps: Deps) -> str:
    return urlsplit(deps.base_url).hostname or ""


def _label(name: str) -> str:
    label = name.strip()
    if len(label) > NAME_LIMIT or not label.isprintable():
        raise Invalid({"passkey_name": [f"The name must be printable text of at most {NAME_LIMIT} characters."]})
    return label or "Passkey"


def _read(response: str) -> Mapping[str, Any]:
    try:
        credential = json.loads(response)
    except (ValueError, RecursionError):
        credential = None
    if not isinstance(credential, dict) or not isinstance(credential.get("response"), dict):
        raise Invalid({"body": [REJECTED]})
    return credential


def _challenge(credential: Mapping[str, Any]) -> str:
    """The challenge that it claims to have signed; the signature is verified later."""
    try:
        challenge = json.loads(_bytes(credential["response"]["clientDataJSON"]))["challenge"]
    except (KeyError, TypeError, ValueError, RecursionError):
        challenge = None
    if not isinstance(challenge, str) or not challenge.isascii():
        raise Invalid({"body": [REJECTED]})
    return challenge


def _id_of(credential: Mapping[str, Any]) -> bytes:
    try:
        return _bytes(credential["rawId"])
    except (KeyError, TypeError, ValueError):
        raise Invalid({"body": [REJECTED]}) from None


def _bytes(text: Any) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def _text(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def _verify_registration(deps: Deps, credential: Mapping[str, Any], challenge: str) -> Mapping[str, Any] | None:
    """What is stored of a new passkey; None when it is invalid. Slow: run it in a thread."""
    from webauthn import verify_registration_response  # noqa: PLC0415  # takes 0.2 s, and few need it
    from webauthn.helpers.exceptions import WebAuthnException  # noqa: PLC0415

    try:
        verified = verify_registration_response(**_expected(deps, credential, challenge))
    except (WebAuthnException, ValueError, KeyError, TypeError):
        return None
    key = {"credential_id": verified.credential_id, "public_key": verified.credential_public_key}
    return {**key, "uses": verified.sign_count}


def _verify_authentication(
    deps: Deps, credential: Mapping[str, Any], challenge: str, public_key: bytes, uses: int
) -> int | None:
    """The device's new signature counter; None when the response is invalid, or comes from a cloned device."""
    from webauthn import verify_authentication_response  # noqa: PLC0415  # see above
    from webauthn.helpers.exceptions import WebAuthnException  # noqa: PLC0415

    stored: dict[str, Any] = {"credential_public_key": public_key, "credential_current_sign_count": uses}
    try:
        return verify_authentication_response(**_expected(deps, credential, challenge), **stored).new_sign_count
    except (WebAuthnException, ValueError, KeyError, TypeError):
        return None


def _expected(deps: Deps, credential: Mapping[str, Any], challenge: str) -> dict[str, Any]:
    return {
        "credential": dict(credential),
        "expected_challenge": _bytes(challenge),
        "expected_rp_id": _rp_id(deps),
        "expected_origin": deps.base_url,
        "require_user_verification": True,
    }
