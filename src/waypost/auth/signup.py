"""How an account comes to be, and how its address is proven: signing up, invitations, confirmation, another address.

Where mail is sent, the plan of a new account, and with it links and API, begins when the address is confirmed.
"""

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TypeVar

from sqlalchemy.exc import IntegrityError

from waypost.auth import emails, passwords, past_addresses, rules, store, tokens
from waypost.auth.cache_version import invalidating_callers
from waypost.auth.deps import Deps
from waypost.auth.model import Account, Authenticated, PasswordClient, Plan
from waypost.auth.tokens import Token
from waypost.database import Tx
from waypost.kit.errors import Conflict, Forbidden, Invalid, NotFound, Problems
from waypost.kit.ids import new_id
from waypost.worker import mail

T = TypeVar("T")

CLOSED = "Nobody can sign up here."
INVITED_ONLY = "Only people who were invited can sign up here."
TAKEN = "There is an account with this address already. Sign in instead."
MOST_MOVES = 5
TOO_MANY_MOVES = "You have asked for several addresses today. Follow the link in one of the mails, or wait a day."
AGAIN_AFTER = timedelta(minutes=2)  # a mail that was sent just now is still good: nobody's mailbox is flooded
NOT_YET = Plan("none", None, None, None)


@dataclass(frozen=True, slots=True)
class Invitation:
    url: str
    is_sent: bool
    """False where no mail is sent, and for an address that has received enough."""


async def sign_up(
    deps: Deps,
    visitor: PasswordClient,
    *,
    email: str,
    name: str,
    password: str,
    invitation: str | None = None,
) -> Authenticated | None:
    """Raises Forbidden, Invalid, and NotFound for an invitation that does not hold any more.

    An invitation's address counts instead of `email`. None: there is mail to read first. It is the same for an address
    that has an account already, so that only its owner learns of that.
    """
    _refuse_unless_open(deps, invitation)
    if invitation is not None:
        email = (await invited(deps, invitation)).email or ""
    account = _new(deps, email.strip().lower(), name.strip(), is_invited=invitation is not None)
    _check(account, password)
    is_mailed = deps.sends_mail and invitation is None
    hashed = await passwords.hash_password(password, visitor)
    try:
        async with deps.db.write() as tx:
            if invitation is not None and await tokens.spend(tx, "invite", invitation, now=deps.clock()) is None:
                raise NotFound
            if account.confirmed_at is not None:
                account = replace(account, plan=await _first_plan(deps, tx, account))
            await store.add_account(tx, account, hashed)
            if invitation is None:
                await _ask_to_confirm(deps, tx, account)
    except IntegrityError:
        if not is_mailed:
            raise Invalid({"email": [TAKEN]}) from None
        async with deps.db.write() as tx:
            await _tell_owner(deps, tx, account.email)
    return None if is_mailed else Authenticated(account, password=hashed)


async def invite(deps: Deps, email: str) -> Invitation:
    """Raises Forbidden while nobody can sign up, and Invalid."""
    if deps.signup == "closed":
        raise Forbidden(CLOSED)
    address = email.strip().lower()
    rules.check_account(address, "")
    async with deps.db.write() as tx:
        if await store.account_of(tx, address):
            raise Conflict({"email": [TAKEN]})
        token = await tokens.issue(tx, "invite", now=deps.clock(), email=address)
        subject, text = emails.letter(deps.base_url, "invite", token)
        is_queued = await mail.send_later(
            tx, "requested", to=address, subject=subject, text=text, now=deps.clock(), account_id=None
        )
    return Invitation(emails.link(deps.base_url, "invite", token), is_queued and deps.sends_mail)


async def invited(deps: Deps, invitation: str) -> Token:
    """Raises NotFound when it does not hold any more."""
    return _there(await tokens.find(deps.db, "invite", invitation, now=deps.clock()))


async def confirm_later(deps: Deps, account: Account) -> None:
    """Sends the mail once more, unless that was just now."""
    if account.confirmed_at is None:
        async with deps.db.write() as tx:
            await store.lock_account(tx, account.id)
            if not await tokens.issued_for(tx, "confirm", account.email, after=deps.clock() - AGAIN_AFTER):
                await _ask_to_confirm(deps, tx, account)


async def confirm(deps: Deps, text: str) -> Account:
    """For who has shown that the account is theirs: the link alone says no more than whose the address is.

    Raises NotFound when the link does not hold any more, and Invalid when another has the address by now.
    """
    now = deps.clock()
    with invalidating_callers(deps.db):
        try:
            async with deps.db.write() as tx:
                token = await tokens.spend(tx, "confirm", text, now=now)
                if token:
                    return await _confirmed(deps, tx, token)
                return await _moved(deps, tx, _there(await tokens.spend(tx, "move", text, now=now)))
        except IntegrityError:
            raise Invalid({"email": [TAKEN]}) from None


async def can_confirm(deps: Deps, text: str) -> tuple[Account, str]:
    """Whose link it is and for which address, which spends nothing. Raises NotFound."""
    now = deps.clock()
    found = await tokens.find(deps.db, "confirm", text, now=now) or await tokens.find(deps.db, "move", text, now=now)
    token = _there(found)
    async with deps.db.read() as tx:
        account = await store.account_with(tx, token.account_id) if token.account_id else None
    return _there(account), token.email or ""


async def prove(deps: Deps, tx: Tx, account: Account) -> Account:
    """The address is theirs: they have read mail sent to it. An account that waited for this gets its plan."""
    if account.confirmed_at is not None:
        return account
    now = deps.clock()
    if account.plan == NOT_YET:  # else an operator, or a payment, was faster
        await store.change_plan(tx, account.id, await _first_plan(deps, tx, account), now)
    return _there(await store.change(tx, account.id, now, confirmed_at=now))


async def move(deps: Deps, account: Account, email: str) -> bool:
    """To another address: at once, or where mail is sent when that is confirmed. True: it is done. Raises Invalid."""
    address = email.strip().lower()
    rules.check_account(address, account.name)
    if address == account.email:
        return True
    if deps.sends_mail:
        async with deps.db.write() as tx:
            await _ask_to_move(deps, tx, account, address)
        return False
    try:
        with invalidating_callers(deps.db):
            async with deps.db.write() as tx:
                await _move(deps, tx, account, address)
    except IntegrityError:
        raise Invalid({"email": [TAKEN]}) from None
    return True


async def rename(deps: Deps, account: Account, name: str) -> None:
    """Raises Invalid."""
    problems = Problems()
    if not name.strip():
        problems.add("name", "This may not be blank.")
    problems.raise_if_any()
    rules.check_account(account.email, name.strip())
    with invalidating_callers(deps.db):
        async with deps.db.write() as tx:
            await store.change(tx, account.id, deps.clock(), name=name.strip())


def _refuse_unless_open(deps: Deps, invitation: str | None) -> None:
    if deps.signup == "closed":
        raise Forbidden(CLOSED)
    if deps.signup == "invite" and invitation is None:
        raise Forbidden(INVITED_ONLY)


def _new(deps: Deps, email: str, name: str, *, is_invited: bool) -> Account:
    now = deps.clock()
    is_ready = is_invited or not deps.sends_mail
    return Account(new_id(), email, name or email.partition("@")[0], NOT_YET, now, now, now if is_ready else None)


async def _first_plan(deps: Deps, tx: Tx, account: Account) -> Plan:
    """An address has one trial: what an account that has left it did not use is what is left of it."""
    now = deps.clock()
    plan = rules.chosen_plan(deps.new_plan, now=now, trial_ends_at=None, trial_days=deps.trial_days)
    ends_at = await past_addresses.trial_end(tx, deps.address_keys, account.email)
    if plan.trial_ends_at is None or ends_at is None:
        return plan
    return replace(plan, trial_ends_at=min(plan.trial_ends_at, ends_at))


def _check(account: Account, password: str) -> None:
    """Names all that is wrong at once."""
    problems = Problems()
    try:
        rules.check_account(account.email, account.name)
    except Invalid as invalid:
        problems = Problems(invalid.errors)
    fault = passwords.fault_of(password, account.email, account.name)
    if fault:
        problems.add("password", fault)
    problems.raise_if_any()


async def _ask_to_confirm(deps: Deps, tx: Tx, account: Account) -> None:
    now = deps.clock()
    token = await tokens.issue(tx, "confirm", now=now, account_id=account.id, email=account.email)
    subject, text = emails.letter(deps.base_url, "confirm", token)
    await mail.send_later(tx, "requested", to=account.email, subject=subject, text=text, now=now, account_id=account.id)


async def _ask_to_move(deps: Deps, tx: Tx, account: Account, address: str) -> None:
    """One mail at a time, and few in all: it goes to whom we do not know. Whose the address is nobody is told."""
    now = deps.clock()
    await store.lock_account(tx, account.id)
    asked_by = await tokens.issued_for(tx, "move", address, after=now - AGAIN_AFTER)
    if account.id in asked_by:
        return
    if await tokens.unspent(tx, "move", account.id, now=now) >= MOST_MOVES:
        raise Invalid({"email": [TOO_MANY_MOVES]})
    token = await tokens.issue(tx, "move", now=now, account_id=account.id, email=address)
    if await store.account_of(tx, address):
        await _tell_owner(deps, tx, address)
    elif not asked_by:
        subject, text = emails.letter(deps.base_url, "move", token)
        await mail.send_later(tx, "requested", to=address, subject=subject, text=text, now=now, account_id=account.id)


async def _tell_owner(deps: Deps, tx: Tx, address: str) -> None:
    """That somebody wanted an address which has an account; once a day, or strangers could fill the mailbox."""
    now = deps.clock()
    owner = await store.account_of(tx, address)
    if owner is None or await tokens.issued_for(tx, "taken", address, after=now - tokens.LASTS["taken"]):
        return
    await tokens.issue(tx, "taken", now=now, account_id=owner.id, email=address)
    subject, text = emails.taken(deps.base_url)
    await mail.send_later(tx, "requested", to=address, subject=subject, text=text, now=now, account_id=owner.id)


async def _confirmed(deps: Deps, tx: Tx, token: Token) -> Account:
    account = await store.account_of(tx, token.email or "")
    if account is None or account.id != token.account_id:
        raise NotFound  # it has another address by now
    return await prove(deps, tx, account)


async def _moved(deps: Deps, tx: Tx, token: Token) -> Account:
    account = await store.account_with(tx, token.account_id) if token.account_id else None
    return await _move(deps, tx, _there(account), token.email or "")


async def _move(deps: Deps, tx: Tx, account: Account, address: str) -> Account:
    now = deps.clock()
    moved = _there(await store.change(tx, account.id, now, email=address))
    await past_addresses.remember(tx, deps.address_keys, account, now)
    await tokens.end_all(tx, account.id)  # what is under way to the old address
    subject, text = emails.moved(deps.base_url, address)
    await mail.send_later(
        tx, emails.notice_kind(account), to=account.email, subject=subject, text=text, now=now, account_id=account.id
    )
    return await prove(deps, tx, moved) if deps.sends_mail else moved


def _there(found: T | None) -> T:
    if found is None:
        raise NotFound
    return found
