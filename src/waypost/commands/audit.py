"""`waypost audit`."""

from typing import Annotated

from cyclopts import App, Parameter

from waypost.commands.runner import AccountOption, JsonOption, LimitOption, Settings, with_settings

audit = App(name="audit", help="The audit log of an account.")


@audit.command(name="list")
@with_settings
async def list_entries(
    settings: Settings,
    *,
    account: AccountOption,
    since: Annotated[str | None, Parameter(show_default=False, help="Only entries from this time on.")] = None,
    limit: LimitOption = 100,
    json: JsonOption = False,
) -> None:
    """List who changed what in an account, newest first."""
    from waypost.audit import store
    from waypost.commands import output
    from waypost.commands.database import get_account, open_database, parse_time
    from waypost.resources.audit.schemas import to_json

    filter_ = store.AuditFilter(since=parse_time("--since", since))
    async with open_database(settings) as db:
        owner = await get_account(db, account)
        async with db.read() as tx:
            entries, _ = await store.list_before(tx, owner.id, filter_, None, limit=limit)
    rows = [to_json(entry) if json else output.audit_row(entry) for entry in entries]
    output.write(rows, as_json=json)
