"""`waypost account`."""

from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import App, Parameter

from waypost.commands.runner import WRONG_USAGE, JsonOption, say, with_settings

if TYPE_CHECKING:
    from waypost.settings import Settings

PlanOption = Literal["trial", "subscription", "past_due", "lifetime", "none"]

account = App(name="account", help="Accounts and their plans.")


@account.command(name="create")
@with_settings
async def create_account(
    settings: "Settings",
    email: str,
    /,
    *,
    name: str = "",
    password_stdin: Annotated[
        bool, Parameter(negative="", help="Read a password of 10 to 1,024 characters from the first line of stdin.")
    ] = False,
    plan: PlanOption | None = None,
    json: JsonOption = False,
) -> int | None:
    """Create an account. Its plan is WAYPOST_DEFAULT_PLAN unless --plan is given."""
    from waypost import auth
    from waypost.commands import output
    from waypost.commands.database import open_database
    from waypost.commands.password_input import read_new_password
    from waypost.kit import clock

    password = read_new_password(email.strip(), name) if password_stdin else None
    if password_stdin and password is None:
        return WRONG_USAGE
    async with open_database(settings) as db:
        created = await auth.create_account(
            db,
            email=email,
            name=name or email.partition("@")[0],
            plan=plan or settings.default_plan,
            now=clock.now(),
            trial_days=settings.trial_days,
            password_hash=None if password is None else await auth.hash_password(password),
        )
    output.write(output.account_json(created), as_json=json)
    return None


@account.command(name="plan")
@with_settings
async def set_plan(
    settings: "Settings",
    email: str,
    plan: PlanOption,
    /,
    *,
    trial_ends_at: str | None = None,
    json: JsonOption = False,
) -> None:
    """Change an account's plan."""
    from waypost import auth
    from waypost.commands import output
    from waypost.commands.database import find_account, open_database, parse_time
    from waypost.kit import clock
    from waypost.kit.errors import Invalid

    if trial_ends_at is not None and plan != "trial":
        raise Invalid({"--trial-ends-at": [f"The plan {plan} has no trial: remove the option."]})
    ends_at = parse_time("--trial-ends-at", trial_ends_at)
    async with open_database(settings) as db:
        owner = await find_account(db, email)
        days = settings.trial_days
        changed = await auth.set_plan(db, owner.id, plan, now=clock.now(), trial_ends_at=ends_at, trial_days=days)
    output.write(output.account_json(changed), as_json=json)


@account.command(name="list")
@with_settings
async def list_accounts(settings: "Settings", *, json: JsonOption = False) -> None:
    """List all accounts."""
    from waypost import auth
    from waypost.commands import output
    from waypost.commands.database import open_database

    async with open_database(settings) as db:
        output.write([output.account_json(each) for each in await auth.list_accounts(db)], as_json=json)


@account.command(name="sign-in-link")
@with_settings
async def sign_in_link(settings: "Settings", email: str, /, *, json: JsonOption = False) -> None:
    """Print a link that signs in whoever opens it first, within 15 minutes."""
    from waypost.auth import sign_in
    from waypost.auth.deps import new_deps
    from waypost.commands import output
    from waypost.commands.database import find_account, open_database
    from waypost.kit import clock

    async with open_database(settings) as db:
        owner = await find_account(db, email)
        link = await sign_in.create_sign_in_link(new_deps(settings, db, clock.now), owner.id)
    output.write({"email": owner.email, "url": link}, as_json=json)


@account.command(name="invite")
@with_settings
async def invite(settings: "Settings", email: str, /, *, json: JsonOption = False) -> None:
    """Invite a person to create an account. Print a link that is valid for 7 days, and email it if mail is set up."""
    from waypost.auth import signup
    from waypost.auth.deps import new_deps
    from waypost.commands import output
    from waypost.commands.database import open_database
    from waypost.kit import clock

    async with open_database(settings) as db:
        deps = new_deps(settings, db, clock.now)
        invitation = await signup.invite(deps, email)
    output.write({"email": email.strip().lower(), "url": invitation.url}, as_json=json)
    if invitation.is_sent:
        say("The link was also sent by email.")
    elif deps.sends_mail:
        say("The link was not sent: this address has reached its limit of mails. Pass the link on yourself.")
    else:
        say("The link was not sent: WAYPOST_SMTP_URL is not set. Pass the link on yourself.")
