"""Sign-in by password or link, password reset, and reauthentication (R14).

Neither response nor timing reveals whether an email has an account: a password reset runs in a job.
"""

from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID

from waypost.auth import emails, passkeys, passwords, rules, sessions, sign_in_delay, signup, store, tokens
from waypost.auth.caller_cache import invalidating_callers
from waypost.auth.deps import Deps
from waypost.auth.model import Account, ApiKey, AuthenticationResult, SignInClient
from waypost.database import Tx
from waypost.kit.errors import Invalid, NotFound, or_not_found
from waypost.worker import jobs
from waypost.worker.jobs import Job

JOB = "account.forgot"
RECENT = timedelta(minutes=10)
"""How long after authentication no reauthentication is required."""
WRONG_CREDENTIALS = "Email or password is incorrect."
WRONG_PASSWORD = "This password is incorrect."  # noqa: S105
CONFIRM_FIRST = "Confirm that it's you first."
NO_PASSWORD = "Enter your password."  # noqa: S105


async def sign_in(deps: Deps, email: str, password: str, client: SignInClient) -> AuthenticationResult:
    """Raises Invalid on `body` alone, so that nobody learns which of the two is wrong, and RateLimited."""
    account, stored = await find_with_password(deps, email)
    if not await _verify_rate_limited(deps, email, password, stored, client) or account is None or stored is None:
        raise Invalid({"body": [WRONG_CREDENTIALS]})
    if passwords.is_outdated(stored):
        hashed = await passwords.hash_password(password, _known(account))
        async with deps.db.write() as tx:
            await store.replace_password_hash(tx, account.id, hashed, before=stored)
        stored = hashed
    return AuthenticationResult(account, password=stored)


async def find_with_password(deps: Deps, email: str) -> tuple[Account | None, str | None]:
    """(account, password hash)"""
    async with deps.db.read() as tx:
        return await store.find_with_password(tx, _normalized(email))


async def request_password_reset(deps: Deps, email: str) -> None:
    """The same work whether or not the email has an account."""
    async with deps.db.write() as tx:
        await jobs.enqueue(tx, JOB, {"email": _normalized(email)}, now=deps.clock())


async def send_password_reset(deps: Deps, job: Job) -> None:
    """The handler of `account.forgot`."""
    now = deps.clock()
    async with deps.db.write() as tx:
        account = await store.find_by_email(tx, job.payload["email"])
        if account is None or await tokens.find_issuers(tx, "reset", account.email, after=now - signup.RESEND_AFTER):
            return
        token = await tokens.issue(tx, "reset", now=now, account_id=account.id, email=account.email)
        message = emails.with_link(deps.base_url, "reset", token)
        await emails.send(tx, message, to=account.email, now=now, account=account)


async def find_reset(deps: Deps, text: str) -> Account:
    """The account of a password reset link. Does not spend the link. Raises NotFound."""
    return await _owner(deps, await tokens.find(deps.db, "reset", text, now=deps.clock()))


async def list_other_credentials(deps: Deps, account: Account) -> tuple[Sequence[passkeys.Passkey], Sequence[ApiKey]]:
    """Passkeys and usable API keys: they outlive a password change unless they are removed with it."""
    async with deps.db.read() as tx:
        found = await store.list_keys(tx, account.id)
    keys = [key for key in found if rules.is_usable(key, deps.clock())]
    return await passkeys.list_all(deps, account), keys


async def reset_password(
    deps: Deps, text: str, password: str, *, removes_credentials: bool = False
) -> AuthenticationResult:
    """Ends every session. `removes_credentials`: and removes every passkey and API key.

    Raises NotFound when the link is not valid any more, and Invalid.
    """
    account = await find_reset(deps, text)
    hashed = await _hash_new(account, password)
    with invalidating_callers(deps.db):
        async with deps.db.write() as tx:
            or_not_found(await tokens.spend(tx, "reset", text, now=deps.clock()))
            await _set_password(deps, tx, account, hashed)
            # who signed up with an email that is not confirmed may not own it: nothing of theirs stays
            if removes_credentials or account.confirmed_at is None:
                await passkeys.remove_all(tx, account.id)
                await store.remove_keys(tx, account.id)
            return AuthenticationResult(await signup.confirm_email(deps, tx, account), password=hashed)


async def change_password(
    deps: Deps, session: sessions.Session, current: str, password: str, *, revokes_keys: bool = False
) -> AuthenticationResult:
    """Ends every session, this one included: the caller begins a new one. Raises Invalid."""
    account = session.account
    if not is_recent(deps, session) or await has_password(deps, account):
        await _check_own_password(deps, session, current)
    hashed = await _hash_new(account, password)
    with invalidating_callers(deps.db):
        async with deps.db.write() as tx:
            await store.lock_account(tx, account.id)
            if not await sessions.is_active(tx, session):  # a concurrent change was faster, and ended it
                raise Invalid({"current_password": [WRONG_PASSWORD]})
            await _set_password(deps, tx, account, hashed)
            if revokes_keys:
                await store.revoke_all_keys(tx, account.id, deps.clock())
    return AuthenticationResult(account, password=hashed)


async def reauthenticate(deps: Deps, session: sessions.Session, password: str) -> sessions.Session:
    """By a recent authentication, or by the password. Raises Invalid, and NotFound when the session has ended."""
    if is_recent(deps, session):
        return session
    await _check_own_password(deps, session, password)
    async with deps.db.write() as tx:
        return await sessions.reauthenticate(tx, session, now=deps.clock())


async def reauthenticate_by_passkey(deps: Deps, session: sessions.Session, response: str) -> sessions.Session:
    """Raises Invalid."""
    found = await passkeys.authenticate(deps, response)
    try:
        async with deps.db.write() as tx:
            return await sessions.reauthenticate(tx, session, now=deps.clock(), passkey=found.passkey)
    except NotFound:  # another account's passkey
        raise Invalid({"body": [passkeys.REJECTED]}) from None


async def verify_password(deps: Deps, account: Account, password: str, client: SignInClient) -> AuthenticationResult:
    """Raises Invalid, and RateLimited."""
    async with deps.db.read() as tx:
        stored = await store.find_password_hash(tx, account.id)
    if not await _verify_rate_limited(deps, account.email, password, stored, client):
        raise Invalid({"password": [WRONG_PASSWORD]})
    return AuthenticationResult(account, password=stored)


def is_recent(deps: Deps, session: sessions.Session) -> bool:
    return deps.clock() - session.authenticated_at < RECENT


async def has_password(deps: Deps, account: Account) -> bool:
    async with deps.db.read() as tx:
        return await store.find_password_hash(tx, account.id) is not None


async def create_sign_in_link(deps: Deps, account_id: UUID) -> str:
    """Signs in its bearer once, within 15 minutes. For operators."""
    async with deps.db.write() as tx:
        token = await tokens.issue(tx, "enter", now=deps.clock(), account_id=account_id)
    return emails.link(deps.base_url, "enter", token)


async def find_sign_in_link(deps: Deps, text: str) -> Account:
    """The account of a sign-in link. Does not spend the link. Raises NotFound."""
    return await _owner(deps, await tokens.find(deps.db, "enter", text, now=deps.clock()))


async def sign_in_by_link(deps: Deps, text: str) -> AuthenticationResult:
    """Raises NotFound when the link is not valid any more."""
    async with deps.db.write() as tx:
        token = await tokens.spend(tx, "enter", text, now=deps.clock())
        password = await store.find_password_hash(tx, token.account_id) if token and token.account_id else None
    return AuthenticationResult(await _owner(deps, token), password=password)


async def _check_own_password(deps: Deps, session: sessions.Session, password: str) -> None:
    """Raises Invalid."""
    async with deps.db.read() as tx:
        stored = await store.find_password_hash(tx, session.account.id)
    if stored and not password:  # a page loaded while the authentication was recent has no password field
        raise Invalid({"current_password": [NO_PASSWORD]})
    if not await passwords.verify(password, stored, SignInClient(session.id.bytes, is_known=True)):
        raise Invalid({"current_password": [WRONG_PASSWORD if stored else CONFIRM_FIRST]})


async def _verify_rate_limited(deps: Deps, email: str, password: str, stored: str | None, client: SignInClient) -> bool:
    """Raises RateLimited, before anything expensive happens."""
    if client.is_known:
        return await passwords.verify(password, stored, client)
    await sign_in_delay.refuse_early(deps, email)
    async with passwords.slot(client):
        await sign_in_delay.count_attempt(deps, email)
        is_right = await passwords.verify_in_slot(password, stored)
    if is_right:
        await sign_in_delay.reset(deps, email)
    return is_right


def _known(account: Account) -> SignInClient:
    """Somebody who has authenticated by email, password or session."""
    return SignInClient(account.id.bytes, is_known=True)


async def _owner(deps: Deps, token: tokens.OneTimeToken | None) -> Account:
    if token is None or token.account_id is None:
        raise NotFound
    async with deps.db.read() as tx:
        return or_not_found(await store.find_account(tx, token.account_id))


async def _hash_new(account: Account, password: str) -> str:
    if problem := passwords.find_problem(password, account.email, account.name):
        raise Invalid({"password": [problem]})
    return await passwords.hash_password(password, _known(account))


async def _set_password(deps: Deps, tx: Tx, account: Account, hashed: str) -> None:
    now = deps.clock()
    or_not_found(await store.change(tx, account.id, now, password_hash=hashed))
    await sessions.end_all(tx, account.id)
    await tokens.delete_all(tx, account.id)
    await emails.notify(tx, emails.password_changed(deps.base_url), account, now=now)


def _normalized(email: str) -> str:
    """As it would be stored. Empty for what no account can have, such as a NUL, which PostgreSQL stores in no text."""
    email = email.strip().lower()
    return email if email.isprintable() and len(email) <= rules.EMAIL_LIMIT else ""
