"""`waypost account` and `waypost key`."""

import sys
from typing import Annotated, Literal

from cyclopts import App, Parameter

from waypost.commands.runner import (
    EXIT_USAGE,
    AccountArgument,
    AccountOption,
    FlagOption,
    JsonOption,
    Settings,
    say,
    say_if_url_is_assumed,
    with_settings,
)
from waypost.kit.errors import Invalid, NotFound, or_not_found

PlanOption = Literal["trial", "subscription", "past_due", "lifetime", "none"]
_SCOPES = "links:read, links:write, domains:read, domains:write, pixels:read, pixels:write, webhooks:manage"

account = App(name="account", help="Accounts and their plans.")
key = App(name="key", help="API keys.")


@account.command(name="create")
@with_settings
async def create_account(
    settings: Settings,
    email: AccountArgument,
    /,
    *,
    name: Annotated[str, Parameter(show_default=False, help="Name of the person. Default: from the email.")] = "",
    password_stdin: Annotated[
        FlagOption, Parameter(help="Read a password of 10 to 1,024 characters from stdin.")
    ] = False,
    plan: Annotated[PlanOption | None, Parameter(help="Plan. Default: WAYPOST_DEFAULT_PLAN.")] = None,
    json: JsonOption = False,
) -> int | None:
    """Create an account."""
    from waypost import accounts
    from waypost.commands import output
    from waypost.commands.database import open_deps

    password = _read_new_password(email.strip(), name) if password_stdin else None
    if password_stdin and password is None:
        return EXIT_USAGE
    async with open_deps(settings) as deps:
        created = await accounts.create_account(
            deps.db,
            email=email,
            name=name or email.partition("@")[0],
            plan=plan or deps.new_plan,
            now=deps.clock(),
            trial_days=deps.trial_days,
            password_hash=None if password is None else await accounts.hash_password(password),
        )
    output.write(output.account_json(created), as_json=json)
    return None


@account.command(name="plan")
@with_settings
async def set_plan(
    settings: Settings,
    email: AccountArgument,
    plan: Annotated[PlanOption, Parameter(help="New plan.")],
    /,
    *,
    trial_ends_at: Annotated[str | None, Parameter(help="End of the trial. Only with the plan trial.")] = None,
    json: JsonOption = False,
) -> None:
    """Change an account's plan."""
    from waypost import accounts
    from waypost.commands import output
    from waypost.commands.database import get_account, open_deps, parse_time

    if trial_ends_at is not None and plan != "trial":
        raise Invalid({"--trial-ends-at": [f"The plan {plan} has no trial: remove the option."]})
    ends_at = parse_time("--trial-ends-at", trial_ends_at)
    async with open_deps(settings) as deps:
        owner, now, days = await get_account(deps.db, email), deps.clock(), deps.trial_days
        changed = await accounts.set_plan(deps.db, owner.id, plan, now=now, trial_ends_at=ends_at, trial_days=days)
    output.write(output.account_json(changed), as_json=json)


@account.command(name="suspend")
@with_settings
async def suspend_account(
    settings: Settings,
    email: AccountArgument,
    /,
    *,
    reason: Annotated[str, Parameter(help="Shown to the members of the account and to users of its keys.")],
    json: JsonOption = False,
) -> None:
    """Suspend an account: its links and keys stop working. Nothing is deleted."""
    from waypost.audit import Actor
    from waypost.commands import output
    from waypost.commands.database import get_account, open_context
    from waypost.resources.operator import suspension

    async with open_context(settings) as context:
        owner = await get_account(context.db, email)
        actor = Actor.command(owner.id, "waypost account suspend")
        suspended = await suspension.suspend(context, actor, reason)
    output.write(output.account_json(suspended), as_json=json)


@account.command(name="resume")
@with_settings
async def resume_account(settings: Settings, email: AccountArgument, /, *, json: JsonOption = False) -> None:
    """Resume a suspended account: its links and keys work again."""
    from waypost.audit import Actor
    from waypost.commands import output
    from waypost.commands.database import get_account, open_context
    from waypost.resources.operator import suspension

    async with open_context(settings) as context:
        owner = await get_account(context.db, email)
        resumed = await suspension.resume(context, Actor.command(owner.id, "waypost account resume"))
    output.write(output.account_json(resumed), as_json=json)


@account.command(name="list")
@with_settings
async def list_accounts(settings: Settings, *, json: JsonOption = False) -> None:
    """List all accounts."""
    from waypost import accounts
    from waypost.commands import output
    from waypost.commands.database import open_database

    async with open_database(settings) as db:
        output.write([output.account_json(account) for account in await accounts.list_accounts(db)], as_json=json)


@account.command(name="sign-in-link")
@with_settings
async def sign_in_link(settings: Settings, email: AccountArgument, /, *, json: JsonOption = False) -> None:
    """Print a link that signs in the first person who opens it, within 15 minutes."""
    from waypost.accounts.sign_in import service as sign_in
    from waypost.commands import output
    from waypost.commands.database import get_person, open_deps

    async with open_deps(settings) as deps:
        person = await get_person(deps.db, email)
        link = await sign_in.create_sign_in_link(deps, person.id)
    output.write({"email": person.email, "url": link}, as_json=json)
    say_if_url_is_assumed(settings)


@account.command(name="remove-second-factor")
@with_settings
async def remove_second_factor(settings: Settings, email: AccountArgument, /, *, json: JsonOption = False) -> None:
    """Remove second factor, passkeys and single sign-on of a person who has lost them, and sign them out everywhere."""
    from waypost import logs
    from waypost.accounts.second_factor import service
    from waypost.commands import output
    from waypost.commands.database import get_person, open_deps

    logs.configure()  # a notice that is not sent is logged
    async with open_deps(settings) as deps:
        person = await get_person(deps.db, email)
        await service.remove_by_command(deps, person)
    output.write({"email": person.email, "second_factor": False}, as_json=json)


@account.command(name="invite")
@with_settings
async def invite(settings: Settings, email: AccountArgument, /, *, json: JsonOption = False) -> None:
    """Invite a person to create an account. Print a link that is valid for 7 days, and email it if email is set up."""
    from waypost.accounts.rules import normalize_email
    from waypost.accounts.setup import signup
    from waypost.commands import output
    from waypost.commands.database import open_deps

    async with open_deps(settings) as deps:
        invitation = await signup.invite(deps, email)
    output.write({"email": normalize_email(email), "url": invitation.url}, as_json=json)
    say_if_url_is_assumed(settings)
    if invitation.is_sent:
        say("The link was also sent by email.")
    elif deps.sends_mail:
        say("The link was not sent: this address has reached its limit of emails. Send the link yourself.")
    else:
        say("The link was not sent: WAYPOST_SMTP_URL is not set. Send the link yourself.")


@key.command(name="create")
@with_settings
async def create_key(
    settings: Settings,
    *,
    account: AccountOption,
    name: Annotated[str, Parameter(help="Name of the key, such as the program that uses it.")],
    scope: Annotated[
        tuple[str, ...],
        Parameter(name="--scope", negative="", show_default=False, help=f"Repeatable: {_SCOPES}. Default: all."),
    ] = (),
    expires_at: Annotated[
        str | None, Parameter(help="Expiry, such as 2027-01-31 or 2027-01-31T12:00:00Z. Default: never.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Create an API key and print it; it cannot be shown again."""
    from waypost import accounts
    from waypost.accounts.rules import check_key
    from waypost.commands import output
    from waypost.commands.database import get_account, open_database, parse_time
    from waypost.kit import clock

    if repeated := sorted({name for name in scope if scope.count(name) > 1}):
        raise Invalid({"--scope": [f"{', '.join(repeated)}: Name each scope once."]})
    ends_at = parse_time("--expires-at", expires_at)
    check_key(name, scope, ends_at, clock.now())
    async with open_database(settings) as db:
        owner = await get_account(db, account)
        created, text = await accounts.create_key(
            db, account_id=owner.id, name=name, scopes=scope, expires_at=ends_at, now=clock.now()
        )
    output.write(output.new_key_json(created, text), as_json=json)


@key.command(name="revoke")
@with_settings
async def revoke_key(
    settings: Settings, key_id: Annotated[str, Parameter(help="ID of the key.")], /, *, json: JsonOption = False
) -> None:
    """Revoke a key: its next request is refused."""
    from waypost import accounts
    from waypost.accounts.keys.schemas import key_to_json
    from waypost.commands import output
    from waypost.commands.database import open_database
    from waypost.kit import clock, ids

    parsed = ids.parse_id(key_id)
    try:
        async with open_database(settings) as db:
            revoked = await accounts.revoke_key(db, or_not_found(parsed), now=clock.now())
    except NotFound:
        text = f"There is no key {key_id}. List the IDs with: waypost key list --account EMAIL"
        raise NotFound(text) from None
    output.write(key_to_json(revoked), as_json=json)
    say(f"The key “{revoked.name}” is revoked.")


@key.command(name="list")
@with_settings
async def list_keys(settings: Settings, *, account: AccountOption, json: JsonOption = False) -> None:
    """List an account's keys, newest first."""
    from waypost import accounts
    from waypost.accounts.keys.schemas import key_to_json
    from waypost.commands import output
    from waypost.commands.database import get_account, open_database

    async with open_database(settings) as db:
        owner = await get_account(db, account)
        output.write([key_to_json(key) for key in await accounts.list_keys(db, owner.id)], as_json=json)


def _read_new_password(*not_allowed: str) -> str | None:
    """Return the first line of stdin, or print an error and return None if the password rules refuse it.

    On a terminal it prompts without echo. `not_allowed`: the account's email and name.
    """
    import getpass

    from waypost.accounts.sign_in import passwords

    def first_line() -> str:
        limit = 4 * passwords.MAX_LENGTH + 2  # bytes: up to four per character in UTF-8, and two for the line ending
        return sys.stdin.buffer.readline(limit).removesuffix(b"\n").removesuffix(b"\r").decode()

    try:
        password = getpass.getpass() if sys.stdin.isatty() else first_line()
    except UnicodeDecodeError:
        say(f"--password-stdin: This must be UTF-8 text of at most {passwords.MAX_LENGTH:,} characters.")
        return None
    problem = passwords.find_problem(password, *not_allowed)
    if problem:
        say(f"--password-stdin: {problem}")
        return None
    return password
