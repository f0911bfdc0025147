"""Upload, find and delete the logo of the account, or of one of its domains: `domain_id` is None for the account."""

from collections.abc import Mapping
from functools import partial
from typing import Any
from uuid import UUID

from waypost import accounts, audit
from waypost.database import Tx
from waypost.kit.errors import Problems, or_not_found
from waypost.kit.fields import parse
from waypost.resources.domains import store as domains
from waypost.resources.domains.logos import Logo, store
from waypost.resources.links.images.media import BadImage
from waypost.resources.qrcodes.deps import Deps
from waypost.resources.qrcodes.logos.schemas import AUTOMATIC, LogoCrop, LogoFields


async def get(deps: Deps, caller: accounts.Caller, domain_id: UUID | None) -> Logo:
    """Raises NotFound, also for a domain without a logo."""
    async with deps.db.read() as tx:
        if domain_id:
            await domains.get(tx, caller.account.id, domain_id)
        return or_not_found(await store.find(tx, domain_id or caller.account.id))


async def upload(
    deps: Deps,
    caller: accounts.Caller,
    domain_id: UUID | None,
    fields: LogoFields,
    problems: Problems,
    crop: LogoCrop = AUTOMATIC,
) -> Logo:
    """Set or replace the logo. Raises NotFound before Invalid."""
    if domain_id:
        async with deps.db.read() as tx:
            await domains.get(tx, caller.account.id, domain_id)
    fields.check_required(problems)
    problems.raise_if_any()
    assert fields.file  # noqa: S101  # it is required
    from waypost.resources.qrcodes.logos.preparing import prepare  # noqa: PLC0415  # 4 MB, only for images

    try:
        work = partial(prepare, crop=crop)
        prepared = await deps.image_reencoder.run(work, fields.file.content, account=caller.account.id)
    except BadImage as error:
        problems.add("file", str(error))
    problems.raise_if_any()
    now = deps.clock()
    logo = prepared.of(domain_id or caller.account.id, now)
    async with deps.db.write() as tx:
        item = await _lock(tx, caller, domain_id)
        before = await store.find(tx, logo.owner_id)
        caller.require_current(before)
        if before and await store.read(tx, before.name) == prepared.content:
            return before
        await store.save(tx, caller.account.id, logo, prepared.content)
        details = {"width": logo.width, "height": logo.height}
        await audit.record(tx, caller.actor, "logo.uploaded", now, item, details=details)
        if domain_id:
            await deps.routes.host_changed(tx, item.name)  # the pages for its visitors show it
    return logo


async def upload_form(deps: Deps, caller: accounts.Caller, domain_id: UUID | None, form: Mapping[str, Any]) -> None:
    """Upload the file in a form. Raises as `upload` does."""
    fields, problems = parse(LogoFields, form)
    crop, found = parse(LogoCrop, form)
    problems.errors |= found.errors
    await upload(deps, caller, domain_id, fields, problems, crop)


async def delete(deps: Deps, caller: accounts.Caller, domain_id: UUID | None = None) -> None:
    """Codes with this logo are drawn with that of the account, or without one. Raises NotFound."""
    async with deps.db.write() as tx:
        item = await _lock(tx, caller, domain_id)
        before = or_not_found(await store.find(tx, domain_id or caller.account.id))
        caller.require_current(before)
        await store.delete_of_owner(tx, domain_id or caller.account.id)
        await audit.record(tx, caller.actor, "logo.deleted", deps.clock(), item)
        if domain_id:
            await deps.routes.host_changed(tx, item.name)


async def _lock(tx: Tx, caller: accounts.Caller, domain_id: UUID | None) -> audit.Item:
    """Lock the domain, so that no logo outlasts it. Raises NotFound."""
    if domain_id is None:
        await accounts.lock_account(tx, caller.account.id)
        return audit.Item(name=caller.account.name or caller.account.email)
    domain = await domains.get_for_update(tx, caller.account.id, domain_id)
    return audit.Item(domain.id, domain.hostname)
