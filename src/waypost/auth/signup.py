"""Sign-up and invitations.

Where email is sent, a new account has no plan, and so no links and no API, until its email is confirmed.
"""

from dataclasses import dataclass, replace

from sqlalchemy.exc import IntegrityError

from waypost.auth import emails, passwords, profile, rules, store, tokens
from waypost.auth.deps import Deps
from waypost.auth.model import Account, AuthenticationResult, SignInClient
from waypost.auth.tokens import OneTimeToken
from waypost.kit.errors import Conflict, Forbidden, Invalid, NotFound, Problems, or_not_found
from waypost.kit.ids import new_id

CLOSED = "Sign-up is closed. Ask the administrator for an account."
INVITED_ONLY = "Sign-up is by invitation only. Ask the administrator for an invitation."


@dataclass(frozen=True, slots=True)
class Invitation:
    url: str
    is_sent: bool
    """False if this service sends no email, or if the address has received too many."""


async def sign_up(
    deps: Deps,
    client: SignInClient,
    *,
    email: str,
    name: str,
    password: str,
    invitation: str | None = None,
) -> AuthenticationResult | None:
    """Create an account. The email of an invitation replaces `email`.

    Return None if the email has to be confirmed first, and also if it already has an account, so that only its owner
    learns about the account. Raises Forbidden, Invalid, or NotFound if the invitation is no longer valid.
    """
    if deps.signup == "closed":
        raise Forbidden(CLOSED)
    if invitation is None and deps.signup == "invite":
        raise Forbidden(INVITED_ONLY)
    if invitation is not None:
        email = (await get_invitation(deps, invitation)).email or ""
    needs_confirmation = deps.sends_mail and invitation is None
    account = _new_account(deps, rules.normalize_email(email), name.strip(), is_confirmed=not needs_confirmation)
    _check(account, password)
    hashed = await passwords.hash_password(password, client)
    try:
        async with deps.db.write() as tx:
            if invitation is not None and await tokens.consume(tx, "invite", invitation, now=deps.clock()) is None:
                raise NotFound
            if not needs_confirmation:
                account = replace(account, plan=await profile.build_first_plan(deps, tx, account))
            await store.add_account(tx, account, hashed)
            if invitation is None:
                await profile.send_confirmation(deps, tx, account)
    except IntegrityError:
        if not needs_confirmation:
            raise Invalid({"email": [profile.EMAIL_TAKEN]}) from None
        async with deps.db.write() as tx:
            await profile.notify_owner(deps, tx, account.email)
    return None if needs_confirmation else AuthenticationResult(account, password=hashed)


async def invite(deps: Deps, email: str) -> Invitation:
    """Send an invitation. Raises Forbidden if sign-up is closed, Invalid and Conflict."""
    if deps.signup == "closed":
        raise Forbidden(CLOSED)
    email = rules.normalize_email(email)
    rules.check_account(email, "")
    async with deps.db.write() as tx:
        if await store.find_by_email(tx, email):
            raise Conflict({"email": [profile.EMAIL_EXISTS]})
        token = await tokens.issue(tx, "invite", now=deps.clock(), email=email)
        message = emails.with_link(deps.base_url, "invite", token)
        is_queued = await emails.send(tx, message, to=email, now=deps.clock(), account=None)
    return Invitation(emails.link(deps.base_url, "invite", token), is_queued and deps.sends_mail)


async def get_invitation(deps: Deps, invitation: str) -> OneTimeToken:
    """Return a valid invitation. Raises NotFound."""
    return or_not_found(await tokens.find(deps.db, "invite", invitation, now=deps.clock()))


def _new_account(deps: Deps, email: str, name: str, *, is_confirmed: bool) -> Account:
    now = deps.clock()
    return Account(
        new_id(), email, name or email.partition("@")[0], profile.NO_PLAN, now, now, now if is_confirmed else None
    )


def _check(account: Account, password: str) -> None:
    """Raise Invalid with all problems of a new account."""
    problems = Problems()
    try:
        rules.check_account(account.email, account.name)
    except Invalid as invalid:
        problems = Problems(invalid.errors)
    if problem := passwords.find_problem(password, account.email, account.name):
        problems.add("password", problem)
    problems.raise_if_any()
