"""Sign-in by password or link, password reset, and reauthentication.

Neither response nor timing reveals whether a person has an email: a password reset runs in a job.
"""

from collections.abc import Callable, Sequence
from datetime import timedelta
from uuid import UUID

from waypost.accounts import emails, rules
from waypost.accounts.auth_deps import Deps
from waypost.accounts.keys import store as key_store
from waypost.accounts.keys.caller_cache import changing_callers, invalidating_callers
from waypost.accounts.model import ApiKey, AuthenticationResult, Person, PersonWithHash, SignInClient
from waypost.accounts.oidc import identities
from waypost.accounts.people import audit_entries as person_audit
from waypost.accounts.people import profile, tokens
from waypost.accounts.people import store as people
from waypost.accounts.second_factor import store as second_factors
from waypost.accounts.second_factor.verification import with_code
from waypost.accounts.sessions import store as sessions
from waypost.accounts.sign_in import credentials, passkeys, passwords
from waypost.accounts.sign_in import delay as sign_in_delay
from waypost.audit import Actor
from waypost.database import Tx
from waypost.kit.errors import Invalid, NotFound, or_not_found
from waypost.kit.timezones import reported_zone
from waypost.worker import jobs
from waypost.worker.jobs import Job

JOB = jobs.JobKind("auth.send_password_reset", is_private=True)
RECENT = timedelta(minutes=10)
"""Time after an authentication during which no reauthentication is required."""
WRONG_CREDENTIALS = "Email or password is incorrect."
WRONG_PASSWORD = "This password is incorrect."  # noqa: S105
CONFIRM_FIRST = "Confirm that it's you first."
NO_PASSWORD = "Enter your password."  # noqa: S105
_UNKNOWN = SignInClient()
NO_CREDENTIALS = "Enter your email and your password."


async def sign_in(
    deps: Deps, email: str, person_with_hash: PersonWithHash, password: str, client: SignInClient
) -> AuthenticationResult:
    """Verify the password of the person with this email. Raises RateLimited.

    Raises Invalid on `body`, which does not say whether the email or the password is wrong.
    """
    person, stored = person_with_hash
    if not await _verify_rate_limited(deps, email, password, stored, client) or person is None or stored is None:
        raise Invalid({"body": [WRONG_CREDENTIALS]})
    if passwords.is_outdated(stored):
        hashed = await passwords.hash_password(password, _known_client(person))
        async with deps.db.write() as tx:
            await people.replace_password_hash(tx, person.id, hashed, before=stored)
        stored = hashed
    return AuthenticationResult(person, password=stored)


async def keep_timezone(deps: Deps, person: Person, reported: str) -> None:
    """Keep the time zone that a browser reports, unless there is one."""
    if reported and person.timezone is None:
        async with deps.db.write() as tx:
            await people.change(tx, person.id, deps.clock(), timezone=reported_zone(reported))


def require_credentials(email: str, password: str) -> None:
    """Raise Invalid on `body` if one of them is empty."""
    if not email.strip() or not password:
        raise Invalid({"body": [NO_CREDENTIALS]})


async def find_with_password(deps: Deps, email: str) -> PersonWithHash:
    async with deps.db.read() as tx:
        return await people.find_with_password(tx, _storable_email(email))


async def request_password_reset(deps: Deps, email: str) -> None:
    """Enqueue a job: the same work whether or not a person has the email. Raises Invalid if this is no email."""
    rules.check_email_and_name(rules.normalize_email(email), "")
    async with deps.db.write() as tx:
        await jobs.enqueue(tx, JOB, {"email": _storable_email(email)}, now=deps.clock())


async def send_password_reset(deps: Deps, job: Job) -> None:
    """Handle the job."""
    now = deps.clock()
    async with deps.db.write() as tx:
        person = await people.find_by_email(tx, job.payload["email"])
        if person is None or await tokens.find_people_with_token(
            tx, "reset", person.email, after=now - profile.RESEND_AFTER
        ):
            return
        token = await tokens.issue(tx, "reset", now=now, person_id=person.id, email=person.email)
        message = emails.with_link(deps.base_url, "reset", token)
        await emails.send(tx, message, to=person.email, now=now, person=person)


async def get_person_of_link(deps: Deps, purpose: tokens.Purpose, text: str) -> Person:
    """Return the person of a link, of which `text` is the token, without consuming the link. Raises NotFound."""
    return await _get_person(deps, await tokens.find(deps.db, purpose, text, now=deps.clock()))


async def list_other_credentials(deps: Deps, person: Person) -> tuple[Sequence[passkeys.Passkey], Sequence[ApiKey]]:
    """List passkeys and usable API keys, which stay valid after a password change unless they are removed with it."""
    async with deps.db.read() as tx:
        keys = await key_store.list_keys_of_person(tx, person.id)
    usable = [key for key in keys if key.is_usable(deps.clock())]
    return await passkeys.list_all(deps, person), usable


async def reset_password(
    deps: Deps, text: str, password: str, *, remove_credentials: bool = False, code: str = "", ip: str
) -> AuthenticationResult:
    """Set a password and end every session. `remove_credentials`: also delete every passkey, identity and API key.

    The link is one factor: with a second one, a `code` is required, too. `ip`: of the request.

    Raises Invalid, RateLimited, or NotFound if the link is no longer valid.
    """
    person = await get_person_of_link(deps, "reset", text)
    hashed = await _hash_new(person, password)

    async def reset(tx: Tx) -> AuthenticationResult:
        or_not_found(await tokens.consume(tx, "reset", text, now=deps.clock()))
        await _set_password(deps, tx, person, hashed)
        await sessions.end_all(tx, person.id)
        # an unconfirmed person may not be the owner of the email
        is_removing = remove_credentials or person.confirmed_at is None
        details = {"removed": "passkeys, API keys and single sign-on"} if is_removing else None
        await person_audit.record(tx, person, ip, "password.reset", deps.clock(), details=details)
        if is_removing:
            await passkeys.delete_all(tx, person.id)
            await identities.disconnect(tx, person.id)
            await key_store.delete_keys_of_person(tx, person.id)
        confirmed = await profile.confirm_email(deps, tx, person)
        return AuthenticationResult(confirmed, password=hashed, has_second_factor=has_code)

    has_code = await has_second_factor(deps, person)
    with invalidating_callers(deps.db):
        if has_code:
            return await with_code(deps, person, code, _UNKNOWN, reset, ip=ip)
        async with deps.db.write() as tx:
            return await reset(tx)


async def change_password(
    deps: Deps, session: sessions.PersonSession, current: str, password: str, *, revoke_keys: bool = False
) -> AuthenticationResult:
    """Set a password and end every other session: the caller replaces this one. Raises Invalid.

    The first credential needs no reauthentication: nothing could give it.
    """
    person = session.person
    known = await credentials.find(deps, person)
    if known.has_second_factor and not is_recent(deps, session):
        raise Invalid({"body": [CONFIRM_FIRST]})
    if known.has_password or not (known.is_empty or is_recent(deps, session)):
        await _check_own_password(deps, session, current)
    hashed = await _hash_new(person, password)
    async with changing_callers(deps.db) as tx:
        await people.lock(tx, person.id)
        if not await sessions.is_active(tx, session):  # ended by a concurrent change
            raise Invalid({"current_password": [WRONG_PASSWORD]})
        if await credentials.find_in(tx, person.id) != known:  # a passkey was added concurrently
            raise Invalid({"body": [CONFIRM_FIRST]})
        await _set_password(deps, tx, person, hashed)
        await sessions.end_others(tx, session)
        if revoke_keys:
            await key_store.revoke_keys_of_person(tx, person.id, deps.clock())
        details = {"revoked": "API keys"} if revoke_keys else None
        await person_audit.record(tx, person, session.request_ip, "password.changed", deps.clock(), details=details)
    return AuthenticationResult(person, password=hashed, has_second_factor=True)


async def reauthenticate(deps: Deps, session: sessions.S, password: str) -> sessions.S:
    """Require a recent authentication or the password, which is not enough for a person with a second factor.

    Raises Invalid, or NotFound if the session has ended.
    """
    if is_recent(deps, session):
        return session
    if await has_second_factor(deps, session.person):  # the page `/account/verify` asks for both
        raise Invalid({"body": [CONFIRM_FIRST]})
    await _check_own_password(deps, session, password)
    async with deps.db.write() as tx:
        return await sessions.reauthenticate(tx, session, now=deps.clock())


async def reauthenticate_with_code(deps: Deps, session: sessions.S, password: str, code: str) -> sessions.S:
    """Record a reauthentication. Raises Invalid, RateLimited, or NotFound if the session has ended."""

    async def reauthenticate(tx: Tx) -> sessions.S:
        return await sessions.reauthenticate(tx, session, now=deps.clock())

    await _check_own_password(deps, session, password)
    client = SignInClient(session.id.bytes, is_known=True)
    return await with_code(deps, session.person, code, client, reauthenticate, ip=session.request_ip)


async def reauthenticate_by_passkey(deps: Deps, session: sessions.S, response: str) -> sessions.S:
    """Record a reauthentication by a passkey of the session's person. Raises Invalid."""
    authenticated = await passkeys.authenticate(deps, response)
    try:
        async with deps.db.write() as tx:
            return await sessions.reauthenticate(tx, session, now=deps.clock(), passkey=authenticated.passkey)
    except NotFound:  # another person's passkey
        raise Invalid({"body": [passkeys.REJECTED]}) from None


async def verify_password(deps: Deps, person: Person, password: str, client: SignInClient) -> AuthenticationResult:
    """Verify the person's password. Raises Invalid and RateLimited."""
    if not password:
        raise Invalid({"password": [NO_PASSWORD]})
    async with deps.db.read() as tx:
        stored = await people.find_password_hash(tx, person.id)
    if not await _verify_rate_limited(deps, person.email, password, stored, client):
        raise Invalid({"password": [WRONG_PASSWORD]})
    return AuthenticationResult(person, password=stored)


def is_recent(deps: Deps, session: sessions.PersonSession) -> bool:
    return deps.clock() - session.authenticated_at < RECENT


async def has_second_factor(deps: Deps, person: Person) -> bool:
    async with deps.db.read() as tx:
        return await second_factors.is_on(tx, person.id)


def _command(account_id: UUID) -> Actor:
    return Actor.command(account_id, "waypost account sign-in-link")


async def create_sign_in_link(deps: Deps, person_id: UUID, new_actor: Callable[[UUID], Actor] = _command) -> str:
    """Create a link that signs in once, within 15 minutes. For operators. Raises NotFound."""
    async with deps.db.write() as tx:
        now, person = deps.clock(), or_not_found(await people.find(tx, person_id))
        token = await tokens.issue(tx, "sign_in", now=now, person_id=person_id)
        await person_audit.record_by(tx, person, new_actor, "sign_in_link.created", now)
    return emails.link(deps.base_url, "sign_in", token)


async def sign_in_by_link(deps: Deps, text: str) -> AuthenticationResult:
    """Consume a sign-in link, which requires no code: who creates one could also remove the second factor.

    Raises NotFound if it is no longer valid.
    """
    async with deps.db.write() as tx:
        token = await tokens.consume(tx, "sign_in", text, now=deps.clock())
        password = await people.find_password_hash(tx, token.person_id) if token and token.person_id else None
    return AuthenticationResult(await _get_person(deps, token), password=password, has_second_factor=True)


async def _check_own_password(deps: Deps, session: sessions.PersonSession, password: str) -> None:
    """Verify the password of the session's person. Raises Invalid."""
    async with deps.db.read() as tx:
        stored = await people.find_password_hash(tx, session.person.id)
    if stored and not password:  # a page that was loaded while the authentication was recent has no password field
        raise Invalid({"current_password": [NO_PASSWORD]})
    if not await passwords.verify(password, stored, SignInClient(session.id.bytes, is_known=True)):
        raise Invalid({"current_password": [WRONG_PASSWORD]} if stored else {"body": [CONFIRM_FIRST]})


async def _verify_rate_limited(deps: Deps, email: str, password: str, stored: str | None, client: SignInClient) -> bool:
    """Verify a password; unknown clients wait after failures. Raises RateLimited before anything expensive."""
    if client.is_known:
        return await passwords.verify(password, stored, client)
    subject = sign_in_delay.of_email(email)
    await sign_in_delay.refuse_early(deps, subject)
    async with passwords.slot(client):
        await sign_in_delay.count_attempt(deps, subject)
        is_match = await passwords.verify_in_slot(password, stored)
    if is_match:
        async with deps.db.write() as tx:
            await sign_in_delay.reset(deps, tx, subject)
    return is_match


def _known_client(person: Person) -> SignInClient:
    """Return a client that has authenticated by email, password or session."""
    return SignInClient(person.id.bytes, is_known=True)


async def _get_person(deps: Deps, token: tokens.OneTimeToken | None) -> Person:
    if token is None or token.person_id is None:
        raise NotFound
    async with deps.db.read() as tx:
        return or_not_found(await people.find(tx, token.person_id))


async def _hash_new(person: Person, password: str) -> str:
    if problem := passwords.find_problem(password, person.email, person.name):
        raise Invalid({"password": [problem]})
    return await passwords.hash_password(password, _known_client(person))


async def _set_password(deps: Deps, tx: Tx, person: Person, hashed: str) -> None:
    now = deps.clock()
    or_not_found(await people.change(tx, person.id, now, password_hash=hashed))
    await tokens.delete_all(tx, person.id)
    await emails.notify(tx, emails.password_changed(deps.base_url), person, now=now)


def _storable_email(text: str) -> str:
    """Normalize the email; empty if nobody can have it, such as with a NUL, which PostgreSQL does not store."""
    email = rules.normalize_email(text)
    return email if email.isprintable() and len(email) <= rules.MAX_EMAIL_LENGTH else ""
