"""`waypost export all`: an archive that appears only when it is complete, and never overwrites a file."""

from pathlib import Path

from waypost import audit
from waypost.accounts import Account
from waypost.accounts.data.archive.contents import write_archive
from waypost.audit import Actor
from waypost.commands.click_export import ExportFailed, new_export_file
from waypost.context import Context
from waypost.packages import RESOURCES


async def write(context: Context, account: Account, output: Path) -> None:
    async with context.db.write() as tx:
        await audit.record(tx, Actor.command(account.id, "waypost export all"), "account.exported", context.clock())
    try:
        with new_export_file(output) as file:
            async for chunk in write_archive(context, RESOURCES, account):
                file.write(chunk)
    except OSError as error:
        raise ExportFailed(f"{output} cannot be written: {error.strerror or error}") from error
