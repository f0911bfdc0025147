"""Passkeys (WebAuthn). Each use requires user verification, not only the device.

A challenge is a one-time token, so a signed response cannot be replayed.
"""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

from sqlalchemy import BigInteger, Column, ForeignKey, LargeBinary, Table, Text, delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from waypost.accounts import emails
from waypost.accounts.auth_deps import Deps
from waypost.accounts.model import AuthenticationResult, Person
from waypost.accounts.people import audit_entries as person_audit
from waypost.accounts.people import store as people
from waypost.accounts.people import tokens
from waypost.database import Id, Instant, Tx, metadata
from waypost.kit import base64url
from waypost.kit.errors import Invalid, or_not_found
from waypost.kit.ids import new_id

MAX_PASSKEYS = 20
MAX_NAME_LENGTH = 100
REJECTED = "This passkey could not be used. Try again, or sign in another way."
_ALGORITHMS = -8, -7, -257  # EdDSA, ES256, RS256
_VERIFIED_USER = {"userVerification": "required"}
_TIMEOUT = int(tokens.LIFETIMES["passkey"].total_seconds() * 1000)
UNCONFIRMED = "Confirm your email address first."
TOO_MANY = f"You can have at most {MAX_PASSKEYS} passkeys. Remove one first."

passkeys = Table(
    "passkeys",
    metadata,
    Column("id", Id, primary_key=True),
    Column("person_id", Id, ForeignKey("people.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("credential_id", LargeBinary, nullable=False, unique=True),
    Column("public_key", LargeBinary, nullable=False),
    Column("uses", BigInteger, nullable=False),  # the signature counter of the device; most send 0
    Column("name", Text, nullable=False),
    Column("created_at", Instant, nullable=False),
    Column("used_at", Instant),
)
_passkeys = passkeys.c


@dataclass(frozen=True, slots=True)
class Passkey:
    id: UUID
    name: str
    created_at: datetime
    used_at: datetime | None


_PASSKEY = tuple(_passkeys[name] for name in Passkey.__dataclass_fields__)


async def registration_options(deps: Deps, person: Person) -> dict[str, Any]:
    """Return the options for `navigator.credentials.create`. Raises Invalid."""
    refuse_unconfirmed(deps, person)
    async with deps.db.read() as tx:
        query = select(_passkeys.credential_id).where(_passkeys.person_id == person.id)
        credential_ids = (await tx.execute(query)).scalars().all()
    return {
        "challenge": await _new_challenge(deps, person),
        "rp": {"id": _rp_id(deps), "name": "Waypost"},
        "user": {"id": base64url.encode(person.id.bytes), "name": person.email, "displayName": person.name},
        "pubKeyCredParams": [{"type": "public-key", "alg": algorithm} for algorithm in _ALGORITHMS],
        "authenticatorSelection": {"residentKey": "required", "requireResidentKey": True, **_VERIFIED_USER},
        "attestation": "none",
        "excludeCredentials": [{"type": "public-key", "id": base64url.encode(id_)} for id_ in credential_ids],
        "timeout": _TIMEOUT,
    }


async def authentication_options(deps: Deps) -> dict[str, Any]:
    """Return the options for `navigator.credentials.get`. Any passkey is accepted: the device knows its person."""
    return {"challenge": await _new_challenge(deps), "rpId": _rp_id(deps), "timeout": _TIMEOUT, **_VERIFIED_USER}


async def register(deps: Deps, person: Person, name: str, response: str, *, ip: str) -> None:
    """Store a new passkey. `response`: the new credential as JSON. `ip`: of the request. Raises Invalid."""
    refuse_unconfirmed(deps, person)
    credential = _read(response)
    challenge = _challenge(credential)
    token = await tokens.find(deps.db, "passkey", challenge, now=deps.clock())
    if token is None or token.person_id != person.id:
        raise Invalid({"body": [REJECTED]})
    verified = await asyncio.to_thread(_verify_registration, deps, credential, challenge)
    if verified is None:
        raise Invalid({"body": [REJECTED]})
    row = {"id": new_id(), "person_id": person.id, "name": _label(name), "created_at": deps.clock()}
    try:
        async with deps.db.write() as tx:
            await people.lock(tx, person.id)
            if await tokens.consume(tx, "passkey", challenge, now=deps.clock()) is None:
                raise Invalid({"body": [REJECTED]})  # consumed concurrently, or deleted by a change of the password
            count_query = select(func.count()).select_from(passkeys).where(_passkeys.person_id == person.id)
            if (await tx.execute(count_query)).scalar_one() >= MAX_PASSKEYS:
                raise Invalid({"body": [TOO_MANY]})
            await tx.execute(insert(passkeys), row | dict(verified))
            details = {"name": row["name"]}
            await person_audit.record(tx, person, ip, "passkey.added", deps.clock(), details=details)
            await emails.notify(tx, emails.passkey_added(deps.base_url), person, now=deps.clock())
    except IntegrityError:
        raise Invalid({"body": [REJECTED]}) from None


async def authenticate(deps: Deps, response: str) -> AuthenticationResult:
    """Verify the signed credential, `response` as JSON. Raises Invalid."""
    credential = _read(response)
    challenge = _challenge(credential)
    async with deps.db.write() as tx:
        token = await tokens.consume(tx, "passkey", challenge, now=deps.clock())
        query = select(passkeys).where(_passkeys.credential_id == _credential_id(credential))
        passkey = (await tx.execute(query)).one_or_none()
    if token is None or token.person_id is not None or passkey is None:
        raise Invalid({"body": [REJECTED]})
    uses = await asyncio.to_thread(
        _verify_authentication, deps, credential, challenge, passkey.public_key, passkey.uses
    )
    async with deps.db.write() as tx:
        person = await people.find(tx, passkey.person_id)
        password = await people.find_password_hash(tx, passkey.person_id)
        if uses is None or person is None:
            raise Invalid({"body": [REJECTED]})
        statement = update(passkeys).where(_passkeys.id == passkey.id).values(uses=uses, used_at=deps.clock())
        if (await tx.execute(statement)).rowcount == 0:
            raise Invalid({"body": [REJECTED]})  # deleted concurrently
    return AuthenticationResult(person, password=password, passkey=passkey.id)


async def list_all(deps: Deps, person: Person) -> list[Passkey]:
    async with deps.db.read() as tx:
        rows = await tx.execute(
            select(*_PASSKEY).where(_passkeys.person_id == person.id).order_by(_passkeys.created_at, _passkeys.id)
        )
        return [Passkey(*row) for row in rows]


async def get(deps: Deps, person: Person, passkey_id: UUID) -> Passkey:
    async with deps.db.read() as tx:
        return or_not_found(await tx.find(Passkey, select(*_PASSKEY).where(*_match(person, passkey_id))))


async def delete_passkey(deps: Deps, person: Person, passkey_id: UUID, *, ip: str) -> None:
    """`ip`: of the request. Raises NotFound."""
    async with deps.db.write() as tx:
        await people.lock(tx, person.id)  # a concurrent sign-in with it comes before or after
        statement = delete(passkeys).where(*_match(person, passkey_id)).returning(_passkeys.name)
        details = {"name": or_not_found(await tx.scalar(statement))}
        await person_audit.record(tx, person, ip, "passkey.removed", deps.clock(), details=details)


async def exists(tx: Tx, person_id: UUID, passkey_id: UUID) -> bool:
    query = select(_passkeys.id).where(_passkeys.id == passkey_id, _passkeys.person_id == person_id)
    return (await tx.execute(query)).first() is not None


async def delete_all(tx: Tx, person_id: UUID) -> bool:
    """Return False if there is none."""
    return (await tx.execute(delete(passkeys).where(_passkeys.person_id == person_id))).rowcount > 0


async def _new_challenge(deps: Deps, person: Person | None = None) -> str:
    """Issue a challenge to register a passkey for the person; without one, to authenticate."""
    async with deps.db.write() as tx:
        return await tokens.issue(tx, "passkey", now=deps.clock(), person_id=person.id if person else None)


def refuse_unconfirmed(deps: Deps, person: Person) -> None:
    """Raise Invalid if the email is unconfirmed: what is added would stay when its owner signs in."""
    if deps.sends_mail and person.confirmed_at is None:
        raise Invalid({"body": [UNCONFIRMED]})


def _match(person: Person, passkey_id: UUID) -> Any:
    return _passkeys.id == passkey_id, _passkeys.person_id == person.id


def _rp_id(deps: Deps) -> str:
    return urlsplit(deps.base_url).hostname or ""


def _label(name: str) -> str:
    label = name.strip()
    if len(label) > MAX_NAME_LENGTH or not label.isprintable():
        raise Invalid({"passkey_name": [f"This must have at most {MAX_NAME_LENGTH} printable characters."]})
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
    """Return the challenge that the credential claims to have signed; the signature is verified later."""
    try:
        challenge = json.loads(base64url.decode(credential["response"]["clientDataJSON"]))["challenge"]
    except (KeyError, TypeError, ValueError, RecursionError):
        challenge = None
    if not isinstance(challenge, str) or not challenge.isascii():
        raise Invalid({"body": [REJECTED]})
    return challenge


def _credential_id(credential: Mapping[str, Any]) -> bytes:
    try:
        return base64url.decode(credential["rawId"])
    except (KeyError, TypeError, ValueError):
        raise Invalid({"body": [REJECTED]}) from None


def _verify_registration(deps: Deps, credential: Mapping[str, Any], challenge: str) -> Mapping[str, Any] | None:
    """Return the columns to store; None if the credential is invalid. Slow: run it in a thread."""
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
    """Return the device's new signature counter; None if the response is invalid or the device was cloned."""
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
        "expected_challenge": base64url.decode(challenge),
        "expected_rp_id": _rp_id(deps),
        "expected_origin": deps.base_url,
        "require_user_verification": True,
    }
