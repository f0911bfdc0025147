"""Imports the logos of an archive. They are encoded again, like every upload."""

import asyncio
from collections.abc import Sequence
from functools import partial

from waypost.database import Tx
from waypost.resources.domains.logos.model import Logo
from waypost.resources.imports.archive.rows import LogoRow, Rows, parse_rows
from waypost.resources.imports.archive.target import TargetAccount
from waypost.resources.imports.page_plan import PagePlan
from waypost.resources.links.images.media import BadImage
from waypost.resources.qrcodes.account_data import add_logo


async def plan(account: TargetAccount, rows: Rows, page: PagePlan) -> None:
    """Add those whose account or domain has none here."""
    from waypost.resources.qrcodes.logos.preparing import prepare  # noqa: PLC0415  # 4 MB, only for images

    logos, hosts = [], []
    for row in parse_rows(LogoRow, rows, "logo", page.done.warn):
        host = account.get(row.hostname, page.done)
        owner = host.domain_id if row.hostname else account.account_id
        if owner is None:
            page.done.warn("A logo is left out: the account does not have its domain", row.hostname or "")
            continue
        try:
            prepared = await asyncio.to_thread(prepare, row.image)
        except BadImage as error:
            page.done.warn(f"A logo is left out: {error}", row.hostname or "")
            continue
        logos.append((prepared.of(owner, account.deps.clock()), prepared.content))
        if row.hostname:
            hosts.append(host.hostname)
    page.apply = partial(_add, account, logos, hosts)


async def _add(account: TargetAccount, logos: Sequence[tuple[Logo, bytes]], hosts: Sequence[str], tx: Tx) -> None:
    for logo, content in logos:
        await add_logo(tx, account.account_id, logo, content)
    for host in hosts:
        await account.deps.routes.host_changed(tx, host)
