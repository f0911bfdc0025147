"""Sign-up and invitations.

Where email is sent, a new account has no plan, and so no links and no API, until its email is confirmed.
"""

from dataclasses import dataclass, replace

from sqlalchemy.exc import IntegrityError

from waypost.accounts import emails, rules, service
from waypost.accounts.auth_deps import Deps
from waypost.accounts.model import Account, AuthenticationResult, Person, SignInClient
from waypost.accounts.people import profile, tokens
from waypost.accounts.people import store as people
from waypost.accounts.people.tokens import OneTimeToken
from waypost.accounts.setup import first_start
from waypost.accounts.sign_in import passwords
from waypost.kit.errors import Conflict, Forbidden, Invalid, NotFound, Problems, or_not_found
from waypost.kit.ids import new_id

CLOSED = "Sign-up is closed. Ask the administrator for an account."
NO_OWNER = "This service is not set up yet. If you run it, set it up first."
INVITED_ONLY = "Sign-up is by invitation only. Ask the administrator for an invitation."


@dataclass(frozen=True, slots=True)
class SignUpInvitation:
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
    """Create a person with an account. The email of an invitation replaces `email`.

    Return None if the email has to be confirmed first, and also if a person already has it, so that only they
    learn about it. Raises Forbidden, Invalid, or NotFound if the invitation is no longer valid.
    """
    if deps.signup == "closed":
        raise Forbidden(CLOSED)
    if invitation is None and deps.signup == "invite":
        raise Forbidden(INVITED_ONLY)
    if invitation is not None:
        email = (await get_invitation(deps, invitation)).email or ""
    needs_confirmation = deps.sends_mail and invitation is None
    person = new_person(deps, email, name, is_confirmed=not needs_confirmation)
    check(person, password)
    hashed = await passwords.hash_password(password, client)
    try:
        async with deps.db.write() as tx:
            if invitation is None and await first_start.find_pending_in(tx):
                raise Forbidden(NO_OWNER)
            if invitation is not None and await tokens.consume(tx, "invite", invitation, now=deps.clock()) is None:
                raise NotFound
            plan = profile.NO_PLAN if needs_confirmation else await profile.build_first_plan(deps, tx, person.email)
            await people.add(tx, person, hashed)
            await service.add_account(tx, person, plan)
            if invitation is None:
                await profile.send_confirmation(deps, tx, person)
    except IntegrityError:
        if not needs_confirmation:
            raise Invalid({"email": [profile.EMAIL_TAKEN]}) from None
        async with deps.db.write() as tx:
            await profile.notify_owner(deps, tx, person.email)
    return None if needs_confirmation else AuthenticationResult(person, password=hashed)


def may_create_account(deps: Deps, person: Person) -> bool:
    """Return whether somebody who signed up by an invitation to another account may create one of their own."""
    return deps.signup == "open" and (person.confirmed_at is not None or not deps.sends_mail)


async def create_account(deps: Deps, person: Person) -> Account:
    """Create an account of the person's own, with their name and email. Raises Forbidden and Invalid."""
    if not may_create_account(deps, person):
        raise Forbidden(CLOSED)
    try:
        async with deps.db.write() as tx:
            plan = await profile.build_first_plan(deps, tx, person.email)
            return await service.add_account(tx, replace(person, updated_at=deps.clock()), plan)
    except IntegrityError:
        raise Invalid({"body": [profile.EMAIL_EXISTS]}) from None


async def invite(deps: Deps, email: str) -> SignUpInvitation:
    """Send an invitation. Raises Forbidden if sign-up is closed, Invalid and Conflict."""
    if deps.signup == "closed":
        raise Forbidden(CLOSED)
    email = rules.normalize_email(email)
    rules.check_email_and_name(email, "")
    async with deps.db.write() as tx:
        if await people.find_by_email(tx, email):
            raise Conflict({"email": [profile.EMAIL_EXISTS]})
        token = await tokens.issue(tx, "invite", now=deps.clock(), email=email)
        message = emails.with_link(deps.base_url, "invite", token)
        is_queued = await emails.send(tx, message, to=email, now=deps.clock(), person=None)
    return SignUpInvitation(emails.link(deps.base_url, "invite", token), is_queued and deps.sends_mail)


async def get_invitation(deps: Deps, invitation: str) -> OneTimeToken:
    """Return a valid invitation. Raises NotFound."""
    return or_not_found(await tokens.find(deps.db, "invite", invitation, now=deps.clock()))


def new_person(deps: Deps, email: str, name: str, *, is_confirmed: bool) -> Person:
    """Return a person with a normalized email, and by default a name made of it."""
    now = deps.clock()
    email, name = rules.normalize_email(email), name.strip()
    confirmed_at = now if is_confirmed else None
    return Person(new_id(), email, name or email.partition("@")[0], confirmed_at, False, now, now)


def check(person: Person, password: str) -> None:
    """Raise Invalid with all problems of a new person."""
    problems = Problems()
    try:
        rules.check_email_and_name(person.email, person.name)
    except Invalid as invalid:
        problems = Problems(invalid.errors)
    if problem := passwords.find_problem(password, person.email, person.name):
        problems.add("password", problem)
    problems.raise_if_any()
