"""Imports tags, app links, options and appearances of domains, what is left of deleted links, and styles of QR codes.

Each in the transaction of a page.
"""

from uuid import UUID

from pydantic import ValidationError

from waypost.database import Tx
from waypost.kit.errors import Problems
from waypost.kit.ids import new_id, parse_id
from waypost.resources import links
from waypost.resources.domains.app_links.documents import to_texts
from waypost.resources.domains.app_links.store import APP_LINKS
from waypost.resources.domains.appearance.model import DomainAppearance
from waypost.resources.domains.appearance.store import APPEARANCES
from waypost.resources.domains.options.store import OPTIONS
from waypost.resources.imports import store
from waypost.resources.imports.archive.rows import (
    AppLinksRow,
    DeletedLinkRow,
    DomainAppearanceRow,
    DomainOptionsRow,
    Rows,
    TagRow,
    parse_rows,
)
from waypost.resources.imports.archive.target import TargetAccount
from waypost.resources.imports.page_plan import PageReport
from waypost.resources.links import account_data
from waypost.resources.links import store as link_store
from waypost.resources.links.tags import store as tag_store
from waypost.resources.links.tags.model import MAX_TAGS
from waypost.resources.qrcodes import account_data as qrcodes_of_account
from waypost.resources.qrcodes.schemas import NewStyle
from waypost.resources.qrcodes.style import LATER_FIELDS


async def add_tags(account: TargetAccount, rows: Rows, done: PageReport, tx: Tx) -> None:
    """With their colors, where the tag here has none of its own."""
    colors = {row.name: row.color for row in parse_rows(TagRow, rows, "tag", done.warn)}
    left_out = await tag_store.add_many(tx, account.account_id, colors, account.deps.clock(), limit=MAX_TAGS)
    for name in left_out:
        done.warn("Tags without links are left out: the account has as many tags as it may have", name)


async def add_app_links(account: TargetAccount, rows: Rows, done: PageReport, tx: Tx) -> None:
    """Where the domain here has none."""
    for row in parse_rows(AppLinksRow, rows, "document of app links", done.warn):
        host, problems = account.get(row.hostname, done), Problems()
        texts = to_texts(row.apple_app_site_association, row.assetlinks, problems)
        if host.domain_id is None:
            done.warn("App links are left out: the account does not have their domain", row.hostname)
        elif problems:
            place, [message, *_] = next(iter(problems.errors.items()))
            done.warn(f"App links are left out. {place}: {message}", row.hostname)
        elif any(texts) and (
            hostname := await APP_LINKS.add(tx, account.account_id, host.domain_id, texts, version=new_id())
        ):
            await account.deps.routes.changed(tx, [hostname])


async def add_domain_options(account: TargetAccount, rows: Rows, done: PageReport, tx: Tx) -> None:
    """Where they were never changed here."""
    for row in parse_rows(DomainOptionsRow, rows, "options of a domain", done.warn):
        host, options = account.get(row.hostname, done), row.options._replace(updated_at=account.deps.clock())
        if host.domain_id is None:
            done.warn("Options are left out: the account does not have their domain", row.hostname)
        elif hostname := await OPTIONS.add(tx, account.account_id, host.domain_id, options):
            await account.deps.routes.host_changed(tx, hostname)  # and what is cached of its links


async def add_domain_appearances(account: TargetAccount, rows: Rows, done: PageReport, tx: Tx) -> None:
    """Where it was never changed here."""
    for row in parse_rows(DomainAppearanceRow, rows, "appearance of a domain", done.warn):
        host = account.get(row.hostname, done)
        appearance = row.apply_to(DomainAppearance(updated_at=account.deps.clock()))
        if host.domain_id is None:
            done.warn("An appearance is left out: the account does not have its domain", row.hostname)
        elif hostname := await APPEARANCES.add(tx, account.account_id, host.domain_id, appearance):
            await account.deps.routes.host_changed(tx, hostname)  # and what is cached of its links


async def add_deleted_links(account: TargetAccount, sent: Rows, done: PageReport, tx: Tx) -> None:
    """Their slugs are reserved only by request: a file does not prove that the account had them."""
    rows = parse_rows(DeletedLinkRow, sent, "deleted link", done.warn)
    known = await account.find_own_ids(tx, (row.id for row in rows))
    owners = await links.find_accounts(tx, [row.id for row in rows])
    new = {row.id: new_id() if row.id in owners else row.id for row in rows if row.id not in known}
    added = [(new[row.id], row.slug, row.created_at, row.deleted_at) for row in rows if row.id in new]
    await account_data.add_deleted_links(tx, account.account_id, added)
    keys = {account.key_of(id_): (own_id, "") for id_, own_id in new.items()}
    await store.save_links(tx, account.account_id, keys)
    if account.options.get("reserve_deleted_slugs"):
        await link_store.reserve_unlinked(tx, account.account_id, (row.slug for row in rows))


async def add_styles(account: TargetAccount, rows: Rows, done: PageReport, tx: Tx) -> None:
    rows = [row for row in rows if parse_id(str(row.get("link_id")))]
    own = await account.find_own_ids(tx, (UUID(row["link_id"]) for row in rows))
    here = await link_store.find_domains(tx, account.account_id, own.values())
    styles = []
    for row in rows:
        link_id = own.get(UUID(row["link_id"]))
        try:
            names = [name for name in NewStyle.model_fields if name in row or name not in LATER_FIELDS]
            style = NewStyle.model_validate({name: row[name] for name in names}).code_style
        except (ValidationError, KeyError):
            done.warn("A style of a QR code cannot be read and is left out", row["link_id"])
            continue
        if link_id in here:
            styles.append((link_id, style, account.deps.clock()))
    await qrcodes_of_account.add_styles(tx, styles)
