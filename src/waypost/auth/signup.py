"""Sign-up, invitations, email confirmation and changes of email.

Where email is sent, a new account has no plan, and so no links and no API, until its email is confirmed.
"""

from dataclasses import dataclass, replace
from datetime import timedelta

from sqlalchemy.exc import IntegrityError

from waypost.auth import emails, passwords, past_addresses, rules, store, tokens
from waypost.auth.caller_cache import invalidating_callers
from waypost.auth.deps import Deps
from waypost.auth.model import Account, AuthenticationResult, Plan, SignInClient
from waypost.auth.tokens import OneTimeToken
from waypost.database import Tx
from waypost.kit.errors import Conflict, Forbidden, Invalid, NotFound, Problems, or_not_found
from waypost.kit.ids import new_id

CLOSED = "Sign-up is closed. Ask the administrator for an account."
INVITED_ONLY = "Sign-up is by invitation only. Ask the administrator for an invitation."
EMAIL_TAKEN = "An account with this email already exists. Sign in instead."
MAX_EMAIL_CHANGES = 5
TOO_MANY_EMAIL_CHANGES = "Too many email changes today. Open the link in one of the emails, or try again tomorrow."
RESEND_AFTER = timedelta(minutes=2)  # an email that was just sent is still valid: nobody can flood a mailbox
NO_PLAN = Plan("none", None, None, None)


@dataclass(frozen=True, slots=True)
class Invitation:
    url: str
    is_sent: bool
    """False where no email is sent, and for an address that has received too many."""


async def sign_up(
    deps: Deps,
    client: SignInClient,
    *,
    email: str,
    name: str,
    password: str,
    invitation: str | None = None,
) -> AuthenticationResult | None:
    """Raises Forbidden, Invalid, and NotFound for an invitation that is not valid any more.

    The email of an invitation replaces `email`. None: the email has to be confirmed first. An email that has an account
    gets the same result, so that only its owner learns about the account.
    """
    if deps.signup == "closed":
        raise Forbidden(CLOSED)
    if invitation is None and deps.signup == "invite":
        raise Forbidden(INVITED_ONLY)
    if invitation is not None:
        email = (await find_invitation(deps, invitation)).email or ""
    needs_confirmation = deps.sends_mail and invitation is None
    account = _new_account(deps, email.strip().lower(), name.strip(), is_confirmed=not needs_confirmation)
    _check(account, password)
    hashed = await passwords.hash_password(password, client)
    try:
        async with deps.db.write() as tx:
            if invitation is not None and await tokens.spend(tx, "invite", invitation, now=deps.clock()) is None:
                raise NotFound
            if not needs_confirmation:
                account = replace(account, plan=await _first_plan(deps, tx, account))
            await store.add_account(tx, account, hashed)
            if invitation is None:
                await _send_confirmation(deps, tx, account)
    except IntegrityError:
        if not needs_confirmation:
            raise Invalid({"email": [EMAIL_TAKEN]}) from None
        async with deps.db.write() as tx:
            await _notify_owner(deps, tx, account.email)
    return None if needs_confirmation else AuthenticationResult(account, password=hashed)


async def invite(deps: Deps, email: str) -> Invitation:
    """Raises Forbidden while sign-up is closed, and Invalid."""
    if deps.signup == "closed":
        raise Forbidden(CLOSED)
    email = email.strip().lower()
    rules.check_account(email, "")
    async with deps.db.write() as tx:
        if await store.find_by_email(tx, email):
            raise Conflict({"email": [EMAIL_TAKEN]})
        token = await tokens.issue(tx, "invite", now=deps.clock(), email=email)
        message = emails.with_link(deps.base_url, "invite", token)
        is_queued = await emails.send(tx, message, to=email, now=deps.clock(), account=None)
    return Invitation(emails.link(deps.base_url, "invite", token), is_queued and deps.sends_mail)


async def find_invitation(deps: Deps, invitation: str) -> OneTimeToken:
    """Raises NotFound when it is not valid any more."""
    return or_not_found(await tokens.find(deps.db, "invite", invitation, now=deps.clock()))


async def resend_confirmation(deps: Deps, account: Account) -> None:
    """Unless an email was just sent."""
    if account.confirmed_at is None:
        async with deps.db.write() as tx:
            await store.lock_account(tx, account.id)
            if not await tokens.find_issuers(tx, "confirm", account.email, after=deps.clock() - RESEND_AFTER):
                await _send_confirmation(deps, tx, account)


async def find_confirmation(deps: Deps, text: str) -> tuple[Account, str]:
    """(account, email to confirm). Does not spend the link. Raises NotFound."""
    now = deps.clock()
    found = await tokens.find(deps.db, "confirm", text, now=now) or await tokens.find(deps.db, "move", text, now=now)
    token = or_not_found(found)
    async with deps.db.read() as tx:
        account = await store.find_account(tx, token.account_id) if token.account_id else None
    return or_not_found(account), token.email or ""


async def confirm(deps: Deps, text: str) -> Account:
    """For a caller who has proven to own the account: the link alone only proves who reads its email.

    Raises NotFound when the link is not valid any more, and Invalid when another account has the email by now.
    """
    now = deps.clock()
    with invalidating_callers(deps.db):
        try:
            async with deps.db.write() as tx:
                if token := await tokens.spend(tx, "confirm", text, now=now):
                    account = await store.find_by_email(tx, token.email or "")
                    if account is None or account.id != token.account_id:
                        raise NotFound  # the account has changed its email since
                    return await confirm_email(deps, tx, account)
                token = or_not_found(await tokens.spend(tx, "move", text, now=now))
                account = await store.find_account(tx, token.account_id) if token.account_id else None
                return await _set_email(deps, tx, or_not_found(account), token.email or "")
        except IntegrityError:
            raise Invalid({"email": [EMAIL_TAKEN]}) from None


async def confirm_email(deps: Deps, tx: Tx, account: Account) -> Account:
    """An account that waited for this gets its plan."""
    if account.confirmed_at is not None:
        return account
    now = deps.clock()
    if account.plan == NO_PLAN:  # otherwise an operator or a payment was faster
        await store.change_plan(tx, account.id, await _first_plan(deps, tx, account), now)
    return or_not_found(await store.change(tx, account.id, now, confirmed_at=now))


async def change_email(deps: Deps, account: Account, email: str) -> bool:
    """False: the new email has to be confirmed first. Raises Invalid."""
    email = email.strip().lower()
    rules.check_account(email, account.name)
    if email == account.email:
        return True
    if deps.sends_mail:
        async with deps.db.write() as tx:
            await _send_change_confirmation(deps, tx, account, email)
        return False
    try:
        with invalidating_callers(deps.db):
            async with deps.db.write() as tx:
                await _set_email(deps, tx, account, email)
    except IntegrityError:
        raise Invalid({"email": [EMAIL_TAKEN]}) from None
    return True


async def change_name(deps: Deps, account: Account, name: str) -> None:
    """Raises Invalid."""
    name = name.strip()
    if not name:
        raise Invalid({"name": ["Enter a name."]})
    rules.check_account(account.email, name)
    with invalidating_callers(deps.db):
        async with deps.db.write() as tx:
            await store.change(tx, account.id, deps.clock(), name=name)


def _new_account(deps: Deps, email: str, name: str, *, is_confirmed: bool) -> Account:
    now = deps.clock()
    return Account(new_id(), email, name or email.partition("@")[0], NO_PLAN, now, now, now if is_confirmed else None)


async def _first_plan(deps: Deps, tx: Tx, account: Account) -> Plan:
    """An email has one trial: an account that gets the email of an earlier account gets what is left of its trial."""
    now = deps.clock()
    plan = rules.chosen_plan(deps.new_plan, now=now, trial_ends_at=None, trial_days=deps.trial_days)
    ends_at = await past_addresses.trial_end(tx, deps.address_keys, account.email)
    if plan.trial_ends_at is None or ends_at is None:
        return plan
    return replace(plan, trial_ends_at=min(plan.trial_ends_at, ends_at))


def _check(account: Account, password: str) -> None:
    """Raises Invalid with all problems."""
    problems = Problems()
    try:
        rules.check_account(account.email, account.name)
    except Invalid as invalid:
        problems = Problems(invalid.errors)
    if problem := passwords.find_problem(password, account.email, account.name):
        problems.add("password", problem)
    problems.raise_if_any()


async def _send_confirmation(deps: Deps, tx: Tx, account: Account) -> None:
    now = deps.clock()
    token = await tokens.issue(tx, "confirm", now=now, account_id=account.id, email=account.email)
    message = emails.with_link(deps.base_url, "confirm", token)
    await emails.send(tx, message, to=account.email, now=now, account=account)


async def _send_change_confirmation(deps: Deps, tx: Tx, account: Account, email: str) -> None:
    """Limited, because the email goes to an unknown person. Does not reveal whether the email has an account."""
    now = deps.clock()
    await store.lock_account(tx, account.id)
    issuers = await tokens.find_issuers(tx, "move", email, after=now - RESEND_AFTER)
    if account.id in issuers:
        return
    if await tokens.count_unspent(tx, "move", account.id, now=now) >= MAX_EMAIL_CHANGES:
        raise Invalid({"email": [TOO_MANY_EMAIL_CHANGES]})
    token = await tokens.issue(tx, "move", now=now, account_id=account.id, email=email)
    if await store.find_by_email(tx, email):
        await _notify_owner(deps, tx, email)
    elif not issuers:
        await emails.send(tx, emails.with_link(deps.base_url, "move", token), to=email, now=now, account=account)


async def _notify_owner(deps: Deps, tx: Tx, email: str) -> None:
    """Somebody tried to use the email of this account. Once a day, so that strangers cannot flood the mailbox."""
    now = deps.clock()
    owner = await store.find_by_email(tx, email)
    if owner is None or await tokens.find_issuers(tx, "taken", email, after=now - tokens.LIFETIMES["taken"]):
        return
    await tokens.issue(tx, "taken", now=now, account_id=owner.id, email=email)
    await emails.send(tx, emails.account_exists(deps.base_url), to=email, now=now, account=owner)


async def _set_email(deps: Deps, tx: Tx, account: Account, email: str) -> Account:
    now = deps.clock()
    changed = or_not_found(await store.change(tx, account.id, now, email=email))
    await past_addresses.remember(tx, deps.address_keys, account, now)
    await tokens.delete_all(tx, account.id)  # links that were sent to the old address
    await emails.notify(tx, emails.email_changed(deps.base_url, email), account, now=now)
    return await confirm_email(deps, tx, changed) if deps.sends_mail else changed
