"""`waypost operator`."""

from cyclopts import App

from waypost.commands.runner import JsonOption, PersonArgument, Settings, with_settings
from waypost.kit.errors import NotFound

operator = App(name="operator", help="People who may see all accounts, and suspend them.")


@operator.command(name="add")
@with_settings
async def add_operator(settings: Settings, email: PersonArgument, /, *, json: JsonOption = False) -> None:
    """Make a person an operator, who sees the pages at /operator."""
    await _set_operator(settings, email, is_operator=True, json=json)


@operator.command(name="remove")
@with_settings
async def remove_operator(settings: Settings, email: PersonArgument, /, *, json: JsonOption = False) -> None:
    """Make an operator an ordinary person again."""
    await _set_operator(settings, email, is_operator=False, json=json)


@operator.command(name="list")
@with_settings
async def list_operators(settings: Settings, *, json: JsonOption = False) -> None:
    """List all operators."""
    from waypost.accounts import operators
    from waypost.commands import output
    from waypost.commands.database import open_database

    async with open_database(settings) as db, db.read() as tx:
        output.write([output.operator_json(person) for person in await operators.list_operators(tx)], as_json=json)


async def _set_operator(settings: Settings, email: str, *, is_operator: bool, json: bool) -> None:
    from waypost.accounts import operators
    from waypost.commands import output
    from waypost.commands.database import open_database
    from waypost.kit import clock

    async with open_database(settings) as db:
        try:
            changed = await operators.set_operator(db, email, clock.now(), is_operator=is_operator)
        except NotFound:
            raise NotFound(f"There is no person {email}. Create an account: waypost account create {email}") from None
    output.write(output.operator_json(changed), as_json=json)
