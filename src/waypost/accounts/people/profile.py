"""Changes and confirmations of the name and email of a person, which an account of their own follows."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta

from sqlalchemy.exc import IntegrityError

from waypost import audit
from waypost.accounts import emails, rules, store
from waypost.accounts.auth_deps import Deps
from waypost.accounts.keys.caller_cache import changing_callers
from waypost.accounts.members import store as memberships
from waypost.accounts.model import Person, Plan
from waypost.accounts.people import audit_entries as person_audit
from waypost.accounts.people import past_emails, tokens
from waypost.accounts.people import store as people
from waypost.accounts.sessions.store import PersonSession
from waypost.database import Tx
from waypost.kit.errors import Invalid, NotFound, or_not_found

SAME_EMAIL = "This is already your email address."
EMAIL_EXISTS = "An account with this email already exists."
EMAIL_TAKEN = f"{EMAIL_EXISTS} Sign in instead."
MAX_EMAIL_CHANGES = 5
TOO_MANY_EMAIL_CHANGES = "Too many email changes today. Open the link in one of the emails, or try again tomorrow."
RESEND_AFTER = timedelta(minutes=2)  # prevents floods of emails; the one that was just sent is still valid
NO_PLAN = Plan("none", None, None, None)


async def change_name(deps: Deps, session: PersonSession, name: str) -> None:
    """Change the name. Raises Invalid."""
    person, name, now = session.person, name.strip(), deps.clock()
    if not name:
        raise Invalid({"name": ["Enter a name."]})
    rules.check_email_and_name(person.email, name)
    async with changing_callers(deps.db) as tx:
        await memberships.follow_owner(
            tx, person, replace(person, name=name, updated_at=now), kept_email=deps.oidc_account
        )
        await people.change(tx, person.id, now, name=name)
        if changes := audit.compare({"name": person.name}, {"name": name}):
            await person_audit.record(tx, person, session.request_ip, "person.updated", now, changes=changes)


async def change_preferences(deps: Deps, session: PersonSession, chosen: Mapping[str, str]) -> None:
    """Raises Invalid."""
    now = deps.clock()
    choices = session.person.preferences.choices(now)
    wrong = [name for name, options in choices.items() if chosen[name] not in dict(options)]
    if wrong:
        raise Invalid({name: ["Choose one of the list."] for name in wrong})
    async with deps.db.write() as tx:
        await people.change(tx, session.person.id, now, **chosen)


async def change_email(deps: Deps, session: PersonSession, email: str) -> bool:
    """Change the email, or send a confirmation to it and return False. Raises Invalid."""
    person = session.person
    email = rules.normalize_email(email)
    rules.check_email_and_name(email, person.name)
    if email == person.email:
        raise Invalid({"email": [SAME_EMAIL]})
    if deps.sends_mail:
        async with deps.db.write() as tx:
            await _send_change_confirmation(deps, tx, person, email)
        return False
    try:
        async with changing_callers(deps.db) as tx:
            await _set_email(deps, tx, person, email, session.request_ip)
    except IntegrityError:
        raise Invalid({"email": [EMAIL_TAKEN]}) from None
    return True


async def send_confirmation(deps: Deps, tx: Tx, person: Person) -> None:
    now = deps.clock()
    token = await tokens.issue(tx, "confirm", now=now, person_id=person.id, email=person.email)
    message = emails.with_link(deps.base_url, "confirm", token)
    await emails.send(tx, message, to=person.email, now=now, person=person)


async def resend_confirmation(deps: Deps, person: Person) -> None:
    """Send the confirmation email again, at most every 2 minutes."""
    if person.confirmed_at is None:
        async with deps.db.write() as tx:
            await people.lock(tx, person.id)
            after = deps.clock() - RESEND_AFTER
            if not await tokens.find_people_with_token(tx, "confirm", person.email, after=after):
                await send_confirmation(deps, tx, person)


async def get_confirmation(deps: Deps, text: str) -> tuple[Person, str]:
    """Return (person, email to confirm) without consuming the link. Raises NotFound."""
    now = deps.clock()
    token = await tokens.find(deps.db, "confirm", text, now=now)
    token = or_not_found(token or await tokens.find(deps.db, "change_email", text, now=now))
    async with deps.db.read() as tx:
        person = await people.find(tx, token.person_id) if token.person_id else None
    return or_not_found(person), token.email or ""


async def confirm(deps: Deps, text: str, *, ip: str) -> Person:
    """Confirm an email. The person must be signed in: a link only shows who reads its email. `ip`: of the request.

    Raises NotFound if the link is no longer valid, and Invalid if another person or account has the email.
    """
    now = deps.clock()
    try:
        async with changing_callers(deps.db) as tx:
            if token := await tokens.consume(tx, "confirm", text, now=now):
                person = await people.find_by_email(tx, token.email or "")
                if person is None or person.id != token.person_id:
                    raise NotFound  # the person's email was changed
                return await confirm_email(deps, tx, person)
            token = or_not_found(await tokens.consume(tx, "change_email", text, now=now))
            person = await people.find(tx, token.person_id) if token.person_id else None
            return await _set_email(deps, tx, or_not_found(person), token.email or "", ip)
    except IntegrityError:
        raise Invalid({"email": [EMAIL_TAKEN]}) from None


async def confirm_email(deps: Deps, tx: Tx, person: Person) -> Person:
    """Mark the email as confirmed, and start the plan of the person's new account."""
    if person.confirmed_at is not None:
        return person
    now = deps.clock()
    # otherwise an operator or a payment has already set one
    for account_id in await memberships.find_owned_with_plan(tx, person.id, NO_PLAN):
        await store.change_plan(tx, account_id, await build_first_plan(deps, tx, person.email), now)
    return or_not_found(await people.change(tx, person.id, now, confirmed_at=now))


async def build_first_plan(deps: Deps, tx: Tx, email: str) -> Plan:
    """Return the plan of a new account. An email has one trial, also if an earlier account had the email."""
    now = deps.clock()
    plan = rules.build_plan(deps.new_plan, now=now, trial_ends_at=None, trial_days=deps.trial_days)
    ends_at = await past_emails.find_trial_end(tx, deps.email_digest_keys, email)
    if plan.trial_ends_at is None or ends_at is None:
        return plan
    return replace(plan, trial_ends_at=min(plan.trial_ends_at, ends_at))


async def notify_owner(deps: Deps, tx: Tx, email: str) -> None:
    """Notify the person that their email was used for another account, once a day to prevent floods of emails."""
    now = deps.clock()
    owner, after = await people.find_by_email(tx, email), now - tokens.LIFETIMES["email_in_use"]
    if owner is None or await tokens.find_people_with_token(tx, "email_in_use", email, after=after):
        return
    await tokens.issue(tx, "email_in_use", now=now, person_id=owner.id, email=email)
    await emails.send(tx, emails.account_exists(deps.base_url), to=email, now=now, person=owner)


async def _set_email(deps: Deps, tx: Tx, person: Person, email: str, ip: str) -> Person:
    now = deps.clock()
    account = await store.find_by_email(tx, person.email)
    await memberships.follow_owner(
        tx, person, replace(person, email=email, updated_at=now), kept_email=deps.oidc_account
    )
    changed = or_not_found(await people.change(tx, person.id, now, email=email))
    await person_audit.record(tx, changed, ip, "person.updated", now, changes={"email": [person.email, email]})
    trial_ends_at = account.plan.trial_ends_at if account else None
    await past_emails.record(tx, deps.email_digest_keys, person, trial_ends_at, now)
    await tokens.delete_all(tx, person.id)  # links that were sent to the old address
    await emails.notify(tx, emails.email_changed(deps.base_url, email), person, now=now)
    return await confirm_email(deps, tx, changed) if deps.sends_mail else changed


async def _send_change_confirmation(deps: Deps, tx: Tx, person: Person, email: str) -> None:
    """Send a link to the new email, within limits. Does not reveal whether a person has the email."""
    now = deps.clock()
    await people.lock(tx, person.id)
    with_token = await tokens.find_people_with_token(tx, "change_email", email, after=now - RESEND_AFTER)
    if person.id in with_token:
        return
    if await tokens.count_unused(tx, "change_email", person.id, now=now) >= MAX_EMAIL_CHANGES:
        raise Invalid({"email": [TOO_MANY_EMAIL_CHANGES]})
    token = await tokens.issue(tx, "change_email", now=now, person_id=person.id, email=email)
    if await people.find_by_email(tx, email):
        await notify_owner(deps, tx, email)
    elif not with_token:
        message = emails.with_link(deps.base_url, "change_email", token)
        await emails.send(tx, message, to=email, now=now, person=person)
