"""Sets up and removes a person's second factor, and replaces the recovery codes."""

import base64
from dataclasses import dataclass
from datetime import timedelta
from urllib.parse import urlsplit

from waypost.accounts import emails
from waypost.accounts.auth_deps import Deps
from waypost.accounts.model import Person
from waypost.accounts.oidc import identities
from waypost.accounts.people import audit_entries as person_audit
from waypost.accounts.people import store as people
from waypost.accounts.second_factor import messages, recovery_codes, store, totp
from waypost.accounts.second_factor.verification import NO_CODE, WRONG_CODE
from waypost.accounts.sessions import store as sessions
from waypost.accounts.sessions.store import PersonSession
from waypost.accounts.sign_in import passkeys
from waypost.database import Ciphertext, DecryptionFailed, Tx
from waypost.kit.clock import from_microseconds, microseconds
from waypost.kit.errors import Invalid, NotFound

MAX_SETUP_TIME = timedelta(minutes=15)
ALREADY_ON = "Two-factor authentication is already on."
EXPIRED = "This page has expired. Start again."
UNCONFIRMED = "Confirm your email address first."
COMMAND = "waypost account remove-second-factor"
NONE_TO_REMOVE = "{} has no second factor."


@dataclass(frozen=True, slots=True)
class Setup:
    """A second factor that is not confirmed. It is not stored: its page sends it back, encrypted for the session."""

    secret: str
    uri: str
    sealed: str


async def find(deps: Deps, person: Person) -> store.SecondFactor | None:
    async with deps.db.read() as tx:
        return await store.find(tx, person.id)


async def begin(deps: Deps, session: PersonSession) -> Setup:
    """Create a secret. Raises Invalid if there is one, or if the email is unconfirmed.

    An unconfirmed email may be a third party's, who could then not reset the password.
    """
    if deps.sends_mail and session.person.confirmed_at is None:
        raise Invalid({"body": [UNCONFIRMED]})
    async with deps.db.read() as tx:
        await _refuse_second(tx, session.person)
    secret = totp.new_secret()
    text = f"{secret} {microseconds(deps.clock())}"
    sealed = base64.urlsafe_b64encode(deps.key_ring.encrypt(store.second_factors.c.secret, session.id, text)).decode()
    return _setup(deps, session, secret, sealed)


def reopen(deps: Deps, session: PersonSession, sealed: str) -> Setup:
    """Return what `begin` returned to this session. Raises Invalid if that is too long ago."""
    column = store.second_factors.c.secret
    try:
        ciphertext = Ciphertext(base64.urlsafe_b64decode(sealed))
        secret, at = deps.key_ring.decrypt(column, session.id, ciphertext).split()
    except (ValueError, DecryptionFailed):
        raise Invalid({"body": [EXPIRED]}) from None
    if deps.clock() - from_microseconds(int(at)) > MAX_SETUP_TIME:
        raise Invalid({"body": [EXPIRED]})
    return _setup(deps, session, secret, sealed)


async def confirm(deps: Deps, session: PersonSession, setup: Setup, code: str) -> list[str]:
    """Store the second factor, and sign out all other sessions. Return the recovery codes, which are shown only once.

    Raises Invalid, or NotFound if the session has ended.
    """
    person, now = session.person, deps.clock()
    if not code.strip():
        raise Invalid({"code": [NO_CODE]})
    step = next(totp.matching_steps(setup.secret, recovery_codes.normalize(code), now), None)
    if step is None:
        raise Invalid({"code": [WRONG_CODE]})
    encrypted = deps.key_ring.encrypt(store.second_factors.c.secret, person.id, setup.secret)
    new = recovery_codes.new_codes()
    async with deps.db.write() as tx:
        await _lock(tx, session)
        await _refuse_second(tx, person)
        await store.add(tx, person.id, encrypted, step, now)
        await store.replace_recovery_codes(tx, person.id, new)
        await sessions.end_others(tx, session)
        await person_audit.record(tx, person, session.request_ip, "second_factor.added", now)
        await emails.notify(tx, messages.added(deps.base_url), person, now=now)
    return new


async def replace_recovery_codes(deps: Deps, session: PersonSession) -> list[str]:
    """Return new recovery codes. The ones before are void. Raises NotFound without a second factor."""
    new = recovery_codes.new_codes()
    async with deps.db.write() as tx:
        await _lock(tx, session)
        if not await store.is_on(tx, session.person.id):
            raise NotFound
        await store.replace_recovery_codes(tx, session.person.id, new)
        now, ip = deps.clock(), session.request_ip
        await person_audit.record(tx, session.person, ip, "recovery_codes.replaced", now)
        await emails.notify(tx, messages.codes_replaced(deps.base_url), session.person, now=now)
    return new


async def remove(deps: Deps, session: PersonSession) -> None:
    """Raises NotFound if there is none."""
    async with deps.db.write() as tx:
        await _lock(tx, session)
        if not await store.remove(tx, session.person.id):
            raise NotFound(NONE_TO_REMOVE.format(session.person.email))
        await emails.notify(tx, messages.removed(deps.base_url), session.person, now=deps.clock())
        await person_audit.record(tx, session.person, session.request_ip, "second_factor.removed", deps.clock())


async def remove_by_command(deps: Deps, person: Person) -> None:
    """Remove it, passkeys and the identity of somebody who has lost them, and end all sessions on the lost device.

    The password signs in and is enough to set up others. Raises NotFound if there is none of them.
    """
    async with deps.db.write() as tx:
        await people.lock(tx, person.id)
        removed = [
            await store.remove(tx, person.id),
            await passkeys.delete_all(tx, person.id),
            await identities.disconnect(tx, person.id),
        ]
        if not any(removed):
            raise NotFound(NONE_TO_REMOVE.format(person.email))
        await emails.notify(tx, messages.all_removed(deps.base_url), person, now=deps.clock())
        await sessions.end_all(tx, person.id)
        await person_audit.record_command(tx, person, COMMAND, "second_factor.removed", deps.clock())


async def _lock(tx: Tx, session: PersonSession) -> None:
    """Lock the person. Raises NotFound if a concurrent change has ended the session."""
    await people.lock(tx, session.person.id)
    if not await sessions.is_active(tx, session):
        raise NotFound


async def _refuse_second(tx: Tx, person: Person) -> None:
    if await store.is_on(tx, person.id):
        raise Invalid({"body": [ALREADY_ON]})


def _setup(deps: Deps, session: PersonSession, secret: str, sealed: str) -> Setup:
    issuer = f"Waypost ({urlsplit(deps.base_url).hostname})"
    return Setup(secret, totp.uri(secret, session.person.email, issuer), sealed)
