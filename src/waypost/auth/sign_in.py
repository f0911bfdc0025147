"""Proving who one is: by password, by a one-time link, by a new password when the old one is forgotten (R14).

Refuses to tell, by answer or time, whether there is an account: what a forgotten password sets off happens in a job.
"""

from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID

from waypost.auth import emails, passkeys, passwords, rules, sessions, sign_in_delay, signup, store, tokens
from waypost.auth.cache_version import invalidating_callers
from waypost.auth.deps import Deps
from waypost.auth.model import Account, ApiKey, Authenticated, PasswordClient
from waypost.auth.passwords import UNKNOWN_CLIENT
from waypost.auth.sessions import Session
from waypost.database import Database, Tx
from waypost.kit.clock import Clock
from waypost.kit.errors import Invalid, NotFound
from waypost.worker import jobs, mail
from waypost.worker.model import Job

JOB = "account.forgot"
FRESH = timedelta(minutes=10)
"""How long after they last proved it nobody is asked once more who they are."""
WRONG = "Address and password do not match."
WRONG_PASSWORD = "This is not your password."  # noqa: S105
CONFIRM_FIRST = "Confirm that it's you first."
NO_PASSWORD = "Enter your password."  # noqa: S105


async def sign_in(deps: Deps, email: str, password: str, visitor: PasswordClient = UNKNOWN_CLIENT) -> Authenticated:
    """Raises Invalid on `body` alone, so that nobody learns which of the two is wrong, and RateLimited."""
    account, stored = await password_of(deps, email)
    if not await _is_right(deps, email, password, stored, visitor) or account is None or stored is None:
        raise Invalid({"body": [WRONG]})
    if passwords.is_outdated(stored):
        hashed = await passwords.hash_password(password, _known(account))
        async with deps.db.write() as tx:
            await store.change_password(tx, account.id, hashed, before=stored)
        stored = hashed
    return Authenticated(account, password=stored)


async def password_of(deps: Deps, email: str) -> tuple[Account | None, str | None]:
    """The account with this email, if there is one, and its password's hash."""
    async with deps.db.read() as tx:
        return await store.with_password(tx, _address(email))


async def request_password_reset(deps: Deps, email: str) -> None:
    """A mail goes to whoever has the address, if anybody. The same work either way."""
    async with deps.db.write() as tx:
        await jobs.enqueue(tx, JOB, {"email": _address(email)}, now=deps.clock())


class PasswordResetEmail:
    """The handler of `account.forgot`."""

    def __init__(self, db: Database, *, base_url: str, clock: Clock) -> None:
        self._db = db
        self._base_url = base_url
        self._clock = clock

    async def __call__(self, job: Job) -> None:
        now = self._clock()
        async with self._db.write() as tx:
            account = await store.account_of(tx, job.payload["email"])
            if account is None or await tokens.issued_for(tx, "reset", account.email, after=now - signup.AGAIN_AFTER):
                return
            token = await tokens.issue(tx, "reset", now=now, account_id=account.id, email=account.email)
            subject, text = emails.letter(self._base_url, "reset", token)
            await mail.send_later(
                tx, "requested", to=account.email, subject=subject, text=text, now=now, account_id=account.id
            )


async def can_reset(deps: Deps, text: str) -> Account:
    """Whose password the link sets; spends nothing. Raises NotFound."""
    return await _owner(deps, await tokens.find(deps.db, "reset", text, now=deps.clock()))


async def others_in(deps: Deps, account: Account) -> tuple[Sequence[passkeys.Passkey], Sequence[ApiKey]]:
    """What else lets somebody in, and outlives a new password unless that is to take all."""
    async with deps.db.read() as tx:
        found = await store.keys_of(tx, account.id)
    keys = [key for key in found if rules.is_usable(key, deps.clock())]
    return await passkeys.of_account(deps, account), keys


async def reset(deps: Deps, text: str, password: str, *, takes_all: bool = False) -> Authenticated:
    """Ends every session, and if it `takes_all` every passkey and API key.

    Raises NotFound when the link does not hold any more, and Invalid.
    """
    account = await can_reset(deps, text)
    hashed = await _hashed(account, password)
    with invalidating_callers(deps.db):
        async with deps.db.write() as tx:
            if await tokens.spend(tx, "reset", text, now=deps.clock()) is None:
                raise NotFound
            await _set(deps, tx, account, hashed)
            if takes_all or account.confirmed_at is None:  # who signed up with this address need not be whose it is
                await passkeys.remove_all(tx, account.id)
                await store.remove_keys(tx, account.id)
            return Authenticated(await signup.prove(deps, tx, account), password=hashed)


async def change_password(
    deps: Deps, session: Session, current: str, password: str, *, revokes_keys: bool = False
) -> Authenticated:
    """Ends every session, this one included: the caller begins another. Raises Invalid."""
    account = session.account
    if not is_fresh(deps, session) or await has_password(deps, account):
        await _check_own_password(deps, session, current)
    hashed = await _hashed(account, password)
    with invalidating_callers(deps.db):
        async with deps.db.write() as tx:
            await store.lock_account(tx, account.id)
            if not await sessions.lasts(tx, session):  # another change was faster, and ended it
                raise Invalid({"current_password": [WRONG_PASSWORD]})
            await _set(deps, tx, account, hashed)
            if revokes_keys:
                await store.revoke_all(tx, account.id, deps.clock())
    return Authenticated(account, password=hashed)


async def prove(deps: Deps, session: Session, password: str) -> Session:
    """That it is really them: by having proved it just now, or by the password, which then holds for a while.

    Raises Invalid, and NotFound when the session has ended.
    """
    if is_fresh(deps, session):
        return session
    await _check_own_password(deps, session, password)
    async with deps.db.write() as tx:
        return await sessions.reauthenticate(tx, session, now=deps.clock())


async def prove_by_passkey(deps: Deps, session: Session, answer: str) -> Session:
    """That it is really them, by one of the account's passkeys. Raises Invalid."""
    proven = await passkeys.sign_in(deps, answer)
    try:
        async with deps.db.write() as tx:
            return await sessions.reauthenticate(tx, session, now=deps.clock(), passkey=proven.passkey)
    except NotFound:  # another account's
        raise Invalid({"body": [passkeys.NOT_TAKEN]}) from None


async def prove_owner(deps: Deps, account: Account, password: str, visitor: PasswordClient) -> Authenticated:
    """That an account is theirs, by its password. Raises Invalid, and RateLimited."""
    async with deps.db.read() as tx:
        stored = await store.password_of(tx, account.id)
    if not await _is_right(deps, account.email, password, stored, visitor):
        raise Invalid({"password": [WRONG_PASSWORD]})
    return Authenticated(account, password=stored)


def is_fresh(deps: Deps, session: Session) -> bool:
    return deps.clock() - session.authenticated_at < FRESH


async def has_password(deps: Deps, account: Account) -> bool:
    async with deps.db.read() as tx:
        return await store.password_of(tx, account.id) is not None


async def create_sign_in_link(deps: Deps, account_id: UUID) -> str:
    """Lets its bearer in, once, for a quarter of an hour. For operators."""
    async with deps.db.write() as tx:
        token = await tokens.issue(tx, "enter", now=deps.clock(), account_id=account_id)
    return emails.link(deps.base_url, "enter", token)


async def can_enter(deps: Deps, text: str) -> Account:
    """Whom the link lets in; spends nothing. Raises NotFound."""
    return await _owner(deps, await tokens.find(deps.db, "enter", text, now=deps.clock()))


async def enter(deps: Deps, text: str) -> Authenticated:
    """Raises NotFound when the link does not hold any more."""
    async with deps.db.write() as tx:
        token = await tokens.spend(tx, "enter", text, now=deps.clock())
        password = await store.password_of(tx, token.account_id) if token and token.account_id else None
    return Authenticated(await _owner(deps, token), password=password)


async def _check_own_password(deps: Deps, session: Session, password: str) -> None:
    """Raises Invalid."""
    async with deps.db.read() as tx:
        stored = await store.password_of(tx, session.account.id)
    if stored and not password:  # the page may be older than the confirmation, and had no field for it
        raise Invalid({"current_password": [NO_PASSWORD]})
    if not await passwords.is_right(password, stored, PasswordClient(session.id.bytes, is_known=True)):
        raise Invalid({"current_password": [WRONG_PASSWORD if stored else CONFIRM_FIRST]})


async def _is_right(deps: Deps, email: str, password: str, stored: str | None, visitor: PasswordClient) -> bool:
    """Raises RateLimited, before anything costly happens."""
    if visitor.is_known:
        return await passwords.is_right(password, stored, visitor)
    await sign_in_delay.refuse_early(deps, email)
    async with passwords.slot(visitor):
        await sign_in_delay.count_attempt(deps, email)
        is_right = await passwords.matches(password, stored)
    if is_right:
        await sign_in_delay.forget(deps, email)
    return is_right


def _known(account: Account) -> PasswordClient:
    """Somebody whom a mail or a session let in."""
    return PasswordClient(account.id.bytes, is_known=True)


async def _owner(deps: Deps, token: tokens.Token | None) -> Account:
    if token is None or token.account_id is None:
        raise NotFound
    async with deps.db.read() as tx:
        account = await store.account_with(tx, token.account_id)
    if account is None:
        raise NotFound
    return account


async def _hashed(account: Account, password: str) -> str:
    fault = passwords.fault_of(password, account.email, account.name)
    if fault:
        raise Invalid({"password": [fault]})
    return await passwords.hash_password(password, _known(account))


async def _set(deps: Deps, tx: Tx, account: Account, hashed: str) -> None:
    now = deps.clock()
    if await store.change(tx, account.id, now, password_hash=hashed) is None:
        raise NotFound
    await sessions.end_all(tx, account.id)
    await tokens.end_all(tx, account.id)
    subject, text = emails.password_changed(deps.base_url)
    await mail.send_later(
        tx, emails.notice_kind(account), to=account.email, subject=subject, text=text, now=now, account_id=account.id
    )


def _address(email: str) -> str:
    """As it would be stored. What nobody can have, such as a NUL that PostgreSQL takes in no text, is nobody's."""
    address = email.strip().lower()
    return address if address.isprintable() and len(address) <= 254 else ""
