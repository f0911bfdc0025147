"""Set-up: the owner replaces the placeholders of the first start by an email, a name and a password, once.

What proves that somebody is the owner: a sign-in link, the settings, the code in the log, or, where only this machine
can reach the service, a request from it.
"""

import base64
import contextlib
import hmac
from dataclasses import replace

from sqlalchemy.exc import IntegrityError

from waypost import audit
from waypost.accounts.auth_deps import Deps
from waypost.accounts.keys.caller_cache import changing_callers
from waypost.accounts.members import store as memberships
from waypost.accounts.model import AuthenticationResult, Person, SignInClient
from waypost.accounts.people import audit_entries as person_audit
from waypost.accounts.people import profile, tokens
from waypost.accounts.people import store as people
from waypost.accounts.sessions import store as sessions
from waypost.accounts.setup import first_start, signup
from waypost.accounts.sign_in import passwords
from waypost.database import Tx
from waypost.kit.errors import Invalid, NotFound, or_not_found

WRONG_CODE = "This code is incorrect. Copy it from the log of Waypost."
_CODE_LENGTH, _GROUP = 20, 5
"""Characters of 5 bits."""


def code(deps: Deps, pending: Person) -> str:
    """Return the code, which every process and node with the secret key derives, until there is an owner."""
    return _codes(deps, pending)[0]


def check_code(deps: Deps, pending: Person, text: str) -> None:
    """Raises Invalid."""
    given = _normalize(text).encode()
    if not any(hmac.compare_digest(given, _normalize(own).encode()) for own in _codes(deps, pending)):
        raise Invalid({"code": [WRONG_CODE]})


async def complete(
    deps: Deps, pending: Person, *, email: str, name: str, password: str, client: SignInClient, ip: str
) -> AuthenticationResult:
    """Make the person of the first start the owner. Raises Invalid, or NotFound if there is an owner already."""
    owner = replace(signup.new_person(deps, email, name, is_confirmed=True), id=pending.id)
    signup.check(owner, password)
    hashed = await passwords.hash_password(password, client)
    try:
        async with changing_callers(deps.db) as tx:
            await first_start.lock(tx)
            return await _replace_placeholders(tx, owner, hashed, ip)
    except IntegrityError:
        raise Invalid({"email": [profile.EMAIL_EXISTS]}) from None


async def start(deps: Deps, *, email: str, password: str) -> None:
    """Do what the first start of a service does. With an email, make this person the owner unless there is one."""
    async with deps.db.write() as tx:
        await first_start.lock(tx)
        await first_start.create(deps, tx)
        pending = await first_start.find_pending_in(tx)
    if pending and email:
        with contextlib.suppress(NotFound):  # another node was first
            await complete(deps, pending, email=email, name="", password=password, client=SignInClient(), ip="")


async def _replace_placeholders(tx: Tx, owner: Person, password_hash: str, ip: str) -> AuthenticationResult:
    before, now = or_not_found(await people.find(tx, owner.id)), owner.updated_at
    if not await first_start.is_incomplete(tx, before):
        raise NotFound
    await memberships.follow_owner(tx, before, owner, kept_email="")
    changes = {"email": owner.email, "name": owner.name}
    changed = or_not_found(await people.change(tx, owner.id, now, **changes, password_hash=password_hash))
    await sessions.end_all(tx, owner.id)
    await tokens.delete_all(tx, owner.id)
    compared = audit.compare({name: getattr(before, name) for name in changes}, changes)
    await person_audit.record(tx, changed, ip, "person.updated", now, changes=compared)
    return AuthenticationResult(changed, password=password_hash, has_second_factor=True)


def _codes(deps: Deps, pending: Person) -> list[str]:
    """Return the code of each secret key: during a rotation, nodes have different first ones."""
    digests = [hmac.digest(key, b"set-up\0" + pending.id.bytes, "sha256") for key in deps.email_digest_keys]
    texts = [base64.b32encode(digest).decode()[:_CODE_LENGTH] for digest in digests]
    return ["-".join(text[at : at + _GROUP] for at in range(0, _CODE_LENGTH, _GROUP)) for text in texts]


def _normalize(text: str) -> str:
    return "".join(text.replace("-", "").split()).upper()
