"""How an account comes to be, and how its address is proven: signing up, invitations, confirmation, another address.

Where mail is sent, the plan of a new account, and with it links and API, begins when the address is confirmed.
"""

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TypeVar

from sqlalchemy.exc import IntegrityError

from waypost.auth import left, letters, passwords, rules, store, tokens
from waypost.auth.doors import Doors
from waypost.auth.model import Account, Plan, Proven, Visitor
from waypost.auth.stamp import announcing
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
    doors: Doors,
    visitor: Visitor,
    *,
    email: str,
    name: str,
    password: str,
    invitation: str | None = None,
) -> Proven | None:
    """Raises Forbidden, Invalid, and NotFound for an invitation that does not hold any more.

    An invitation's address counts instead of `email`. None: there is mail to read first. It is the same for an address
    that has an account already, so that only its owner learns of that.
    """
    _refuse_unless_open(doors, invitation)
    if invitation is not None:
        email = (await invited(doors, invitation)).email or ""
    account = _new(doors, email.strip().lower(), name.strip(), is_invited=invitation is not None)
    _check(account, password)
    is_mailed = doors.sends_mail and invitation is None
    hashed = await passwords.hash_password(password, visitor)
    try:
        async with doors.db.write() as tx:
            if invitation is not None and await tokens.spend(tx, "invite", invitation, now=doors.clock()) is None:
                raise NotFound
            if account.confirmed_at is not None:
                account = replace(account, plan=await _first_plan(doors, tx, account))
            await store.add_account(tx, account, hashed)
            if invitation is None:
                await _ask_to_confirm(doors, tx, account)
    except IntegrityError:
        if not is_mailed:
            raise Invalid({"email": [TAKEN]}) from None
        async with doors.db.write() as tx:
            await _tell_owner(doors, tx, account.email)
    return None if is_mailed else Proven(account, password=hashed)


async def invite(doors: Doors, email: str) -> Invitation:
    """Raises Forbidden while nobody can sign up, and Invalid."""
    if doors.signup == "closed":
        raise Forbidden(CLOSED)
    address = email.strip().lower()
    rules.check_account(address, "")
    async with doors.db.write() as tx:
        if await store.account_of(tx, address):
            raise Conflict({"email": [TAKEN]})
        token = await tokens.issue(tx, "invite", now=doors.clock(), email=address)
        subject, text = letters.letter(doors.base_url, "invite", token)
        is_queued = await mail.send_later(
            tx, "requested", to=address, subject=subject, text=text, now=doors.clock(), account_id=None
        )
    return Invitation(letters.link(doors.base_url, "invite", token), is_queued and doors.sends_mail)


async def invited(doors: Doors, invitation: str) -> Token:
    """Raises NotFound when it does not hold any more."""
    return _there(await tokens.find(doors.db, "invite", invitation, now=doors.clock()))


async def confirm_later(doors: Doors, account: Account) -> None:
    """Sends the mail once more, unless that was just now."""
    if account.confirmed_at is None:
        async with doors.db.write() as tx:
            await store.hold_account(tx, account.id)
            if not await tokens.issued_for(tx, "confirm", account.email, after=doors.clock() - AGAIN_AFTER):
                await _ask_to_confirm(doors, tx, account)


async def confirm(doors: Doors, text: str) -> Account:
    """For who has shown that the account is theirs: the link alone says no more than whose the address is.

    Raises NotFound when the link does not hold any more, and Invalid when another has the address by now.
    """
    now = doors.clock()
    with announcing(doors.db):
        try:
            async with doors.db.write() as tx:
                token = await tokens.spend(tx, "confirm", text, now=now)
                if token:
                    return await _confirmed(doors, tx, token)
                return await _moved(doors, tx, _there(await tokens.spend(tx, "move", text, now=now)))
        except IntegrityError:
            raise Invalid({"email": [TAKEN]}) from None


async def can_confirm(doors: Doors, text: str) -> tuple[Account, str]:
    """Whose link it is and for which address, which spends nothing. Raises NotFound."""
    now = doors.clock()
    found = await tokens.find(doors.db, "confirm", text, now=now) or await tokens.find(doors.db, "move", text, now=now)
    token = _there(found)
    async with doors.db.read() as tx:
        account = await store.account_with(tx, token.account_id) if token.account_id else None
    return _there(account), token.email or ""


async def prove(doors: Doors, tx: Tx, account: Account) -> Account:
    """The address is theirs: they have read mail sent to it. An account that waited for this gets its plan."""
    if account.confirmed_at is not None:
        return account
    now = doors.clock()
    if account.plan == NOT_YET:  # else an operator, or a payment, was faster
        await store.change_plan(tx, account.id, await _first_plan(doors, tx, account), now)
    return _there(await store.change(tx, account.id, now, confirmed_at=now))


async def move(doors: Doors, account: Account, email: str) -> bool:
    """To another address: at once, or where mail is sent when that is confirmed. True: it is done. Raises Invalid."""
    address = email.strip().lower()
    rules.check_account(address, account.name)
    if address == account.email:
        return True
    if doors.sends_mail:
        async with doors.db.write() as tx:
            await _ask_to_move(doors, tx, account, address)
        return False
    try:
        with announcing(doors.db):
            async with doors.db.write() as tx:
                await _move(doors, tx, account, address)
    except IntegrityError:
        raise Invalid({"email": [TAKEN]}) from None
    return True


async def rename(doors: Doors, account: Account, name: str) -> None:
    """Raises Invalid."""
    problems = Problems()
    if not name.strip():
        problems.add("name", "This may not be blank.")
    problems.raise_if_any()
    rules.check_account(account.email, name.strip())
    with announcing(doors.db):
        async with doors.db.write() as tx:
            await store.change(tx, account.id, doors.clock(), name=name.strip())


def _refuse_unless_open(doors: Doors, invitation: str | None) -> None:
    if doors.signup == "closed":
        raise Forbidden(CLOSED)
    if doors.signup == "invite" and invitation is None:
        raise Forbidden(INVITED_ONLY)


def _new(doors: Doors, email: str, name: str, *, is_invited: bool) -> Account:
    now = doors.clock()
    is_ready = is_invited or not doors.sends_mail
    return Account(new_id(), email, name or email.partition("@")[0], NOT_YET, now, now, now if is_ready else None)


async def _first_plan(doors: Doors, tx: Tx, account: Account) -> Plan:
    """An address has one trial: what an account that has left it did not use is what is left of it."""
    now = doors.clock()
    plan = rules.chosen_plan(doors.new_plan, now=now, trial_ends_at=None, trial_days=doors.trial_days)
    ends_at = await left.trial_end(tx, doors.address_keys, account.email)
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


async def _ask_to_confirm(doors: Doors, tx: Tx, account: Account) -> None:
    now = doors.clock()
    token = await tokens.issue(tx, "confirm", now=now, account_id=account.id, email=account.email)
    subject, text = letters.letter(doors.base_url, "confirm", token)
    await mail.send_later(tx, "requested", to=account.email, subject=subject, text=text, now=now, account_id=account.id)


async def _ask_to_move(doors: Doors, tx: Tx, account: Account, address: str) -> None:
    """One mail at a time, and few in all: it goes to whom we do not know. Whose the address is nobody is told."""
    now = doors.clock()
    await store.hold_account(tx, account.id)
    asked_by = await tokens.issued_for(tx, "move", address, after=now - AGAIN_AFTER)
    if account.id in asked_by:
        return
    if await tokens.unspent(tx, "move", account.id, now=now) >= MOST_MOVES:
        raise Invalid({"email": [TOO_MANY_MOVES]})
    token = await tokens.issue(tx, "move", now=now, account_id=account.id, email=address)
    if await store.account_of(tx, address):
        await _tell_owner(doors, tx, address)
    elif not asked_by:
        subject, text = letters.letter(doors.base_url, "move", token)
        await mail.send_later(tx, "requested", to=address, subject=subject, text=text, now=now, account_id=account.id)


async def _tell_owner(doors: Doors, tx: Tx, address: str) -> None:
    """That somebody wanted an address which has an account; once a day, or strangers could fill the mailbox."""
    now = doors.clock()
    owner = await store.account_of(tx, address)
    if owner is None or await tokens.issued_for(tx, "taken", address, after=now - tokens.LASTS["taken"]):
        return
    await tokens.issue(tx, "taken", now=now, account_id=owner.id, email=address)
    subject, text = letters.taken(doors.base_url)
    await mail.send_later(tx, "requested", to=address, subject=subject, text=text, now=now, account_id=owner.id)


async def _confirmed(doors: Doors, tx: Tx, token: Token) -> Account:
    account = await store.account_of(tx, token.email or "")
    if account is None or account.id != token.account_id:
        raise NotFound  # it has another address by now
    return await prove(doors, tx, account)


async def _moved(doors: Doors, tx: Tx, token: Token) -> Account:
    account = await store.account_with(tx, token.account_id) if token.account_id else None
    return await _move(doors, tx, _there(account), token.email or "")


async def _move(doors: Doors, tx: Tx, account: Account, address: str) -> Account:
    now = doors.clock()
    moved = _there(await store.change(tx, account.id, now, email=address))
    await left.remember(tx, doors.address_keys, account, now)
    await tokens.end_all(tx, account.id)  # what is under way to the old address
    subject, text = letters.moved(doors.base_url, address)
    await mail.send_later(
        tx, letters.notice_kind(account), to=account.email, subject=subject, text=text, now=now, account_id=account.id
    )
    return await prove(doors, tx, moved) if doors.sends_mail else moved


def _there(found: T | None) -> T:
    if found is None:
        raise NotFound
    return found
