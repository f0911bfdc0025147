"""`waypost key`."""

from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from waypost.commands.runner import JsonOption, with_settings

if TYPE_CHECKING:
    from waypost.settings import Settings

AccountOption = Annotated[str, Parameter(name="--account")]

key = App(name="key", help="API keys.")


@key.command(name="create")
@with_settings
async def create_key(
    settings: "Settings",
    *,
    account: AccountOption,
    name: str,
    scope: Annotated[tuple[str, ...], Parameter(name="--scope", negative="")] = (),
    expires_at: str | None = None,
    json: JsonOption = False,
) -> None:
    """Create an API key and print it; it cannot be shown again. It has all scopes unless --scope is given."""
    from waypost import auth
    from waypost.commands import output
    from waypost.commands.database import find_account, open_database, parse_time
    from waypost.kit import clock
    from waypost.kit.errors import Invalid

    if repeated := sorted({each for each in scope if scope.count(each) > 1}):
        raise Invalid({"--scope": [f"{', '.join(repeated)}: Name each scope once."]})
    ends_at = parse_time("--expires-at", expires_at)
    async with open_database(settings) as db:
        owner = await find_account(db, account)
        created, text = await auth.create_key(
            db, account_id=owner.id, name=name, scopes=scope, expires_at=ends_at, now=clock.now()
        )
    output.write(output.new_key_json(created, text), as_json=json)


@key.command(name="revoke")
@with_settings
async def revoke_key(settings: "Settings", key_id: str, /, *, json: JsonOption = False) -> None:
    """Revoke a key: its next request is refused."""
    from waypost import auth
    from waypost.commands import output
    from waypost.commands.database import open_database
    from waypost.kit import clock, ids
    from waypost.kit.errors import NotFound

    parsed = ids.parse_id(key_id)
    if parsed is None:
        raise NotFound(f"There is no key {key_id}. List the ids with: waypost key list")
    async with open_database(settings) as db:
        revoked = await auth.revoke_key(db, parsed, now=clock.now())
    output.write(output.key_json(revoked), as_json=json)


@key.command(name="list")
@with_settings
async def list_keys(settings: "Settings", *, account: AccountOption, json: JsonOption = False) -> None:
    """List an account's keys, newest first."""
    from waypost import auth
    from waypost.commands import output
    from waypost.commands.database import find_account, open_database

    async with open_database(settings) as db:
        owner = await find_account(db, account)
        output.write([output.key_json(each) for each in await auth.list_keys(db, owner.id)], as_json=json)
