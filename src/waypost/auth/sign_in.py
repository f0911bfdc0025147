"""Sign-in by password or link, password reset, and reauthentication.

Neither response nor timing reveals whether an email has an account: a password reset runs in a job.
"""

from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID

from waypost.auth import emails, passkeys, passwords, profile, rules, sessions, sign_in_delay, store, tokens
from waypost.auth.caller_cache import invalidating_callers
from waypost.auth.deps import Deps
from waypost.auth.model import Account, AccountWithHash, ApiKey, AuthenticationResult, SignInClient
from waypost.database import Tx
from waypost.kit.errors import Invalid, NotFound, or_not_found
from waypost.worker import jobs
from waypost.worker.jobs import Job

JOB = "auth.send_password_reset"
RECENT = timedelta(minutes=10)
"""Time after an authentication during which no reauthentication is required."""
WRONG_CREDENTIALS = "Email or password is incorrect."
WRONG_PASSWORD = "This password is incorrect."  # noqa: S105
CONFIRM_FIRST = "Confirm that it's you first."
NO_PASSWORD = "Enter your password."  # noqa: S105
NO_CREDENTIALS = "Enter your email and your password."


async def sign_in(
    deps: Deps, email: str, account_with_hash: AccountWithHash, password: str, client: SignInClient
) -> AuthenticationResult:
    """Verify the password of the account with this email. Raises RateLimited.

    Raises Invalid on `body`, which does not say whether the email or the password is wrong.
    """
    account, stored = account_with_hash
    if not await _verify_rate_limited(deps, email, password, stored, client) or account is None or stored is None:
        raise Invalid({"body": [WRONG_CREDENTIALS]})
    if passwords.is_outdated(stored):
        hashed = await passwords.hash_password(password, _known_client(account))
        async with deps.db.write() as tx:
            await store.replace_password_hash(tx, account.id, hashed, before=stored)
        stored = hashed
    return AuthenticationResult(account, password=stored)


def require_credentials(email: str, password: str) -> None:
    """Raise Invalid on `body` if one of them is empty."""
    if not email.strip() or not password:
        raise Invalid({"body": [NO_CREDENTIALS]})


async def find_with_password(deps: Deps, email: str) -> AccountWithHash:
    async with deps.db.read() as tx:
        return await store.find_with_password(tx, _storable_email(email))


async def request_password_reset(deps: Deps, email: str) -> None:
    """Enqueue a job: the same work whether or not the email has an account. Raises Invalid if this is no email."""
    rules.check_account(rules.normalize_email(email), "")
    async with deps.db.write() as tx:
        await jobs.enqueue(tx, JOB, {"email": _storable_email(email)}, now=deps.clock())


async def send_password_reset(deps: Deps, job: Job) -> None:
    """Handle the job."""
    now = deps.clock()
    async with deps.db.write() as tx:
        account = await store.find_by_email(tx, job.payload["email"])
        if account is None or await tokens.find_accounts_with_token(
            tx, "reset", account.email, after=now - profile.RESEND_AFTER
        ):
            return
        token = await tokens.issue(tx, "reset", now=now, account_id=account.id, email=account.email)
        message = emails.with_link(deps.base_url, "reset", token)
        await emails.send(tx, message, to=account.email, now=now, account=account)


async def get_reset_account(deps: Deps, text: str) -> Account:
    """Return the account of a password reset link without consuming the link. Raises NotFound."""
    return await _get_account(deps, await tokens.find(deps.db, "reset", text, now=deps.clock()))


async def list_other_credentials(deps: Deps, account: Account) -> tuple[Sequence[passkeys.Passkey], Sequence[ApiKey]]:
    """List passkeys and usable API keys, which stay valid after a password change unless they are removed with it."""
    async with deps.db.read() as tx:
        keys = await store.list_keys(tx, account.id)
    usable = [key for key in keys if rules.is_usable(key, deps.clock())]
    return await passkeys.list_all(deps, account), usable


async def reset_password(
    deps: Deps, text: str, password: str, *, remove_credentials: bool = False
) -> AuthenticationResult:
    """Set a password and end every session. `remove_credentials`: also delete every passkey and API key.

    Raises Invalid, or NotFound if the link is no longer valid.
    """
    account = await get_reset_account(deps, text)
    hashed = await _hash_new(account, password)
    with invalidating_callers(deps.db):
        async with deps.db.write() as tx:
            or_not_found(await tokens.consume(tx, "reset", text, now=deps.clock()))
            await _set_password(deps, tx, account, hashed)
            # an unconfirmed account may not belong to the owner of the email
            if remove_credentials or account.confirmed_at is None:
                await passkeys.delete_all(tx, account.id)
                await store.delete_keys(tx, account.id)
            return AuthenticationResult(await profile.confirm_email(deps, tx, account), password=hashed)


async def change_password(
    deps: Deps, session: sessions.Session, current: str, password: str, *, revoke_keys: bool = False
) -> AuthenticationResult:
    """Set a password and end every session: the caller starts a new one. Raises Invalid."""
    account = session.account
    if not is_recent(deps, session) or await has_password(deps, account):
        await _check_own_password(deps, session, current)
    hashed = await _hash_new(account, password)
    with invalidating_callers(deps.db):
        async with deps.db.write() as tx:
            await store.lock_account(tx, account.id)
            if not await sessions.is_active(tx, session):  # ended by a concurrent change
                raise Invalid({"current_password": [WRONG_PASSWORD]})
            await _set_password(deps, tx, account, hashed)
            if revoke_keys:
                await store.revoke_all_keys(tx, account.id, deps.clock())
    return AuthenticationResult(account, password=hashed)


async def reauthenticate(deps: Deps, session: sessions.Session, password: str) -> sessions.Session:
    """Require a recent authentication or the password. Raises Invalid, or NotFound if the session has ended."""
    if is_recent(deps, session):
        return session
    await _check_own_password(deps, session, password)
    async with deps.db.write() as tx:
        return await sessions.reauthenticate(tx, session, now=deps.clock())


async def reauthenticate_by_passkey(deps: Deps, session: sessions.Session, response: str) -> sessions.Session:
    """Record a reauthentication by a passkey of the session's account. Raises Invalid."""
    authenticated = await passkeys.authenticate(deps, response)
    try:
        async with deps.db.write() as tx:
            return await sessions.reauthenticate(tx, session, now=deps.clock(), passkey=authenticated.passkey)
    except NotFound:  # another account's passkey
        raise Invalid({"body": [passkeys.REJECTED]}) from None


async def verify_password(deps: Deps, account: Account, password: str, client: SignInClient) -> AuthenticationResult:
    """Verify the account's password. Raises Invalid and RateLimited."""
    if not password:
        raise Invalid({"password": [NO_PASSWORD]})
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
    """Create a link that signs in once, within 15 minutes. For operators."""
    async with deps.db.write() as tx:
        token = await tokens.issue(tx, "sign_in", now=deps.clock(), account_id=account_id)
    return emails.link(deps.base_url, "sign_in", token)


async def get_sign_in_link_account(deps: Deps, text: str) -> Account:
    """Return the account of a sign-in link without consuming the link. Raises NotFound."""
    return await _get_account(deps, await tokens.find(deps.db, "sign_in", text, now=deps.clock()))


async def sign_in_by_link(deps: Deps, text: str) -> AuthenticationResult:
    """Consume a sign-in link. Raises NotFound if it is no longer valid."""
    async with deps.db.write() as tx:
        token = await tokens.consume(tx, "sign_in", text, now=deps.clock())
        password = await store.find_password_hash(tx, token.account_id) if token and token.account_id else None
    return AuthenticationResult(await _get_account(deps, token), password=password)


async def _check_own_password(deps: Deps, session: sessions.Session, password: str) -> None:
    """Verify the password of the session's account. Raises Invalid."""
    async with deps.db.read() as tx:
        stored = await store.find_password_hash(tx, session.account.id)
    if stored and not password:  # a page that was loaded while the authentication was recent has no password field
        raise Invalid({"current_password": [NO_PASSWORD]})
    if not await passwords.verify(password, stored, SignInClient(session.id.bytes, is_known=True)):
        raise Invalid({"current_password": [WRONG_PASSWORD]} if stored else {"body": [CONFIRM_FIRST]})


async def _verify_rate_limited(deps: Deps, email: str, password: str, stored: str | None, client: SignInClient) -> bool:
    """Verify a password; unknown clients wait after failures. Raises RateLimited before anything expensive."""
    if client.is_known:
        return await passwords.verify(password, stored, client)
    await sign_in_delay.refuse_early(deps, email)
    async with passwords.slot(client):
        await sign_in_delay.count_attempt(deps, email)
        is_match = await passwords.verify_in_slot(password, stored)
    if is_match:
        await sign_in_delay.reset(deps, email)
    return is_match


def _known_client(account: Account) -> SignInClient:
    """Return a client that has authenticated by email, password or session."""
    return SignInClient(account.id.bytes, is_known=True)


async def _get_account(deps: Deps, token: tokens.OneTimeToken | None) -> Account:
    if token is None or token.account_id is None:
        raise NotFound
    async with deps.db.read() as tx:
        return or_not_found(await store.find_account(tx, token.account_id))


async def _hash_new(account: Account, password: str) -> str:
    if problem := passwords.find_problem(password, account.email, account.name):
        raise Invalid({"password": [problem]})
    return await passwords.hash_password(password, _known_client(account))


async def _set_password(deps: Deps, tx: Tx, account: Account, hashed: str) -> None:
    now = deps.clock()
    or_not_found(await store.change(tx, account.id, now, password_hash=hashed))
    await sessions.end_all(tx, account.id)
    await tokens.delete_all(tx, account.id)
    await emails.notify(tx, emails.password_changed(deps.base_url), account, now=now)


def _storable_email(text: str) -> str:
    """Normalize the email; empty if no account can have it, such as with a NUL, which PostgreSQL does not store."""
    email = rules.normalize_email(text)
    return email if email.isprintable() and len(email) <= rules.MAX_EMAIL_LENGTH else ""
