"""`waypost export all`: an archive that appears only when it is complete, and never overwrites a file."""

from pathlib import Path

from waypost import audit
from waypost.accounts import Account
from waypost.accounts.auth_deps import new_deps
from waypost.accounts.data.archive.contents import write_archive
from waypost.accounts.deps import ExportDeps
from waypost.audit import Actor
from waypost.commands.click_export import ExportFailed, new_export_file
from waypost.database import Database
from waypost.kit.clock import now
from waypost.resources.clicks.click_store import ClickStore
from waypost.resources.links.work import new_image_store
from waypost.settings import Settings


async def write(settings: Settings, db: Database, store: ClickStore, account: Account, output: Path) -> None:
    auth_deps, image_store = new_deps(settings, db, now), new_image_store(settings, db, now)
    deps = ExportDeps(auth_deps, store, image_store, settings.shared_domain, settings.cname_host)
    async with db.write() as tx:
        await audit.record(tx, Actor.command(account.id, "waypost export all"), "account.exported", now())
    try:
        with new_export_file(output) as file:
            async for chunk in write_archive(deps, account):
                file.write(chunk)
    except OSError as error:
        raise ExportFailed(f"{output} cannot be written: {error.strerror or error}") from error
