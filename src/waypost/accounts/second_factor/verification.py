"""Verifies codes, and the step of a sign-in between the password and the code.

Who knows the password can try codes: after three failures with a person's codes, unknown browsers wait as after wrong
passwords, and the person gets an email. Each browser that the person has signed in with has a delay of its own.
"""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import TypeVar

import structlog

from waypost.accounts import emails
from waypost.accounts.auth_deps import Deps
from waypost.accounts.model import AuthenticationResult, Person, SignInClient
from waypost.accounts.people import audit_entries as person_audit
from waypost.accounts.people import store as people
from waypost.accounts.people import tokens
from waypost.accounts.second_factor import messages, recovery_codes, store, totp
from waypost.accounts.sign_in import delay as sign_in_delay
from waypost.database import DecryptionFailed, Tx
from waypost.kit.errors import Invalid, NotFound, or_not_found

T = TypeVar("T")

NO_CODE = "Enter a code."
WRONG_CODE = "This code is incorrect or was already used. Enter the next one."
NOTICE_AFTER = 5
"""Wrong codes in a row after which the person gets an email, at most once a day."""
_NOTICE_INTERVAL = timedelta(days=1)

log = structlog.get_logger(__name__)


async def with_code(
    deps: Deps, person: Person, code: str, client: SignInClient, change: Callable[[Tx], Awaitable[T]], *, ip: str
) -> T:
    """Run `change` in the transaction that accepts the code. `ip`: of the request.

    Raises Invalid on `code`, and RateLimited.
    """
    if not code.strip():
        raise Invalid({"code": [NO_CODE]})
    subject = sign_in_delay.of_codes(person.id, client)
    await sign_in_delay.refuse_early(deps, subject)
    failures = await sign_in_delay.count_attempt(deps, subject)
    async with deps.db.write() as tx:
        is_accepted = await _accept(deps, tx, person, recovery_codes.normalize(code), ip)
        if is_accepted:
            await sign_in_delay.reset(deps, tx, subject)
            return await change(tx)
    if failures == NOTICE_AFTER:
        await _notify(deps, person)
    raise Invalid({"code": [WRONG_CODE]})


# ── sign-in: after the password and before the code there is no session ─────────────────────────────────────────────


async def start(deps: Deps, person: Person) -> str:
    """Return a token for the browser that has sent the right password."""
    async with deps.db.write() as tx:
        return await tokens.issue(tx, "second_factor", now=deps.clock(), person_id=person.id)


async def get_waiting(deps: Deps, token: str) -> tuple[Person, str | None]:
    """Return (person, password hash) of a token. Raises NotFound."""
    found = await tokens.find(deps.db, "second_factor", token, now=deps.clock())
    if found is None or found.person_id is None:
        raise NotFound
    async with deps.db.read() as tx:
        person = or_not_found(await people.find(tx, found.person_id))
        return person, await people.find_password_hash(tx, person.id)


async def finish(
    deps: Deps, token: str, person: Person, code: str, client: SignInClient, *, ip: str
) -> AuthenticationResult:
    """Accept a code and consume the token. `person`: from `get_waiting`. `ip`: of the request.

    Raises Invalid, RateLimited, or NotFound if the token is no longer valid.
    """

    async def consume(tx: Tx) -> AuthenticationResult:
        consumed = or_not_found(await tokens.consume(tx, "second_factor", token, now=deps.clock()))
        if consumed.person_id != person.id:
            raise NotFound
        password = await people.find_password_hash(tx, person.id)
        return AuthenticationResult(person, password=password, has_second_factor=True)

    return await with_code(deps, person, code, client, consume, ip=ip)


# ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def _accept(deps: Deps, tx: Tx, person: Person, code: str, ip: str) -> bool:
    if len(code) == totp.DIGITS:
        return await _accept_step(deps, tx, person, code)
    if not await store.use_recovery_code(tx, person.id, code):
        return False
    factor = await store.find(tx, person.id)
    left = factor.codes_left if factor else 0
    await person_audit.record(tx, person, ip, "recovery_code.used", deps.clock(), details={"left": left})
    await emails.notify(tx, messages.code_used(deps.base_url, left), person, now=deps.clock())
    return True


async def _accept_step(deps: Deps, tx: Tx, person: Person, code: str) -> bool:
    encrypted = await store.find_secret(tx, person.id)
    if encrypted is None:
        return False
    try:
        secret = deps.key_ring.decrypt(store.second_factors.c.secret, person.id, encrypted)
    except DecryptionFailed:
        log.error("second factor cannot be decrypted", person_id=str(person.id))
        return False
    for step in totp.matching_steps(secret, code, deps.clock()):
        if await store.use_step(tx, person.id, step):
            return True
    return False


async def _notify(deps: Deps, person: Person) -> None:
    """Send an email: somebody knows the password."""
    now = deps.clock()
    async with deps.db.write() as tx:
        after = now - _NOTICE_INTERVAL
        if not await tokens.find_people_with_token(tx, "wrong_codes", person.email, after=after):
            await tokens.issue(tx, "wrong_codes", now=now, person_id=person.id, email=person.email)
            await emails.notify(tx, messages.wrong_codes(deps.base_url), person, now=now)
