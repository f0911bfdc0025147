"""`waypost member`."""

from functools import partial
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import App, Parameter

from waypost.commands.runner import AccountOption, JsonOption, PersonArgument, Settings, check_email, say, with_settings
from waypost.kit.errors import NotFound

if TYPE_CHECKING:
    from uuid import UUID

    from waypost.accounts.auth_deps import Deps

RoleOption = Literal["viewer", "editor", "admin", "owner"]

member = App(name="member", help="Members of accounts and their roles.")


@member.command(name="list")
@with_settings
async def list_members(settings: Settings, *, account: AccountOption, json: JsonOption = False) -> None:
    """List the members of an account, owners first."""
    from waypost.accounts.members import store as memberships
    from waypost.commands import output
    from waypost.commands.database import get_account, open_database

    async with open_database(settings) as db:
        found = await get_account(db, account)
        async with db.read() as tx:
            members = await memberships.list_of_account(tx, found.id)
    output.write([output.member_json(each) for each in members], as_json=json)


@member.command(name="add")
@with_settings
async def add_member(
    settings: Settings,
    email: PersonArgument,
    /,
    *,
    account: AccountOption,
    role: Annotated[RoleOption, Parameter(help="What the person may do.")] = "viewer",
    json: JsonOption = False,
) -> None:
    """Add a person to an account. It works at once: nobody has to accept an invitation."""
    from waypost.accounts.members import service as members
    from waypost.audit import Actor
    from waypost.commands import output
    from waypost.commands.database import get_account, open_deps

    async with open_deps(settings) as deps:
        found = await get_account(deps.db, account)
        added = await members.add(deps, Actor.command(found.id, "waypost member add"), email, role)
    output.write(output.member_json(added), as_json=json)
    say(f"Without a password or passkey, they sign in with: waypost account sign-in-link {added.person.email}")


@member.command(name="role")
@with_settings
async def change_role(
    settings: Settings,
    email: PersonArgument,
    role: Annotated[RoleOption, Parameter(help="New role.")],
    /,
    *,
    account: AccountOption,
    json: JsonOption = False,
) -> None:
    """Change the role of a member. It applies to the next request."""
    from waypost.accounts.members import service as members
    from waypost.audit import Actor
    from waypost.commands import output
    from waypost.commands.database import get_account, open_deps

    async with open_deps(settings) as deps:
        found = await get_account(deps.db, account)
        person_id = await _get_member(deps, found.id, email)
        changed = await members.change_role(deps, Actor.command(found.id, "waypost member role"), person_id, role)
    output.write(output.member_json(changed), as_json=json)


@member.command(name="remove")
@with_settings
async def remove_member(
    settings: Settings,
    email: PersonArgument,
    /,
    *,
    account: AccountOption,
    keys_to: Annotated[
        str | None,
        Parameter(
            help="Email of the member who takes over the API keys that the person made. Default: revoke them.",
            validator=partial(check_email, "--keys-to"),
        ),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Remove a member from an account. Their sessions and keys lose it at once."""
    from waypost.accounts.members import service as members
    from waypost.audit import Actor
    from waypost.commands import output
    from waypost.commands.database import get_account, open_deps

    async with open_deps(settings) as deps:
        found = await get_account(deps.db, account)
        person_id = await _get_member(deps, found.id, email)
        receiver = None if keys_to is None else await _get_member(deps, found.id, keys_to)
        removed = await members.remove(
            deps, Actor.command(found.id, "waypost member remove"), person_id, keys_to=receiver
        )
    output.write({"id": str(removed.id), "email": removed.email, "account": found.email}, as_json=json)


async def _get_member(deps: "Deps", account_id: "UUID", email: str) -> "UUID":
    """Return the id of the member with this email. Raises NotFound with what to do."""
    from waypost.accounts.members import store as memberships
    from waypost.accounts.people import store as people
    from waypost.accounts.rules import normalize_email

    async with deps.db.read() as tx:
        person = await people.find_by_email(tx, normalize_email(email))
        if person and await memberships.find(tx, account_id, person.id):
            return person.id
    text = f"{email} is not a member of this account. List its members with: waypost member list --account EMAIL"
    raise NotFound(text)
