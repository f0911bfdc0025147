"""The links whose codes are put into one file: of ids, a tag or a domain; and their codes, which are read meanwhile."""

from collections.abc import AsyncIterator, Sequence
from uuid import UUID

from sqlalchemy import select

from waypost.database import Tx
from waypost.kit.errors import Problems
from waypost.kit.ids import parse_id
from waypost.resources.domains.logos.store import read_of_link
from waypost.resources.links.lists import listing, query
from waypost.resources.links.store import find_domains, find_own
from waypost.resources.qrcodes.deps import Deps
from waypost.resources.qrcodes.file_schemas import MAX_CODES, CodeSelection
from waypost.resources.qrcodes.model import SelectedCode, qr_styles
from waypost.resources.qrcodes.style import CodeStyle

ONE_OF = "Send one of ids, tag and hostname, and only one."
NOT_FOUND = "This account has no link with this ID."
NOTHING_MATCHES = "No link matches this."
TOO_MANY = f"More than {MAX_CODES:,} links match. Select fewer, for example by their IDs."
_BATCH = 50


async def find_ids(deps: Deps, account: UUID, selection: CodeSelection, problems: Problems) -> list[UUID]:
    """Return the ids of the links in the order of their codes. Raises Invalid."""
    sent = {name: value for name in CodeSelection.model_fields if (value := getattr(selection, name)) is not None}
    if len(sent) != 1 and not problems:
        for name in sent or ["ids"]:
            problems.add(name, ONE_OF)
    filters = {name: value for name, value in sent.items() if name != "ids"}
    filter_ = query.read_filter(filters, deps.shared_domain, problems)
    problems.raise_if_any()
    if selection.ids is not None:
        return await find_own_ids(deps, account, selection.ids, problems)
    return await find_matching(deps, account, filter_, next(iter(sent)), problems)


async def find_own_ids(deps: Deps, account: UUID, sent: Sequence[str], problems: Problems) -> list[UUID]:
    """Raises Invalid for ids that are not those of a link of the account."""
    ids = [parse_id(id_) for id_ in sent]
    async with deps.db.read_for(account) as tx:
        own = await find_domains(tx, account, {id_ for id_ in ids if id_})
    for number, id_ in enumerate(ids):
        if id_ not in own:
            problems.add(f"ids.{number}", NOT_FOUND)
    problems.raise_if_any()
    return [id_ for id_ in ids if id_]


async def find_matching(
    deps: Deps, account: UUID, filter_: query.LinkFilter, name: str, problems: Problems
) -> list[UUID]:
    """`name`: of the field with problems. Raises Invalid."""
    ids = await find_first(deps, account, filter_)
    if not ids:
        problems.add(name, NOTHING_MATCHES)
    if len(ids) > MAX_CODES:
        problems.add(name, TOO_MANY)
    problems.raise_if_any()
    return ids


async def find_first(deps: Deps, account: UUID, filter_: query.LinkFilter) -> list[UUID]:
    """Return the newest links first, up to one more than a file can have."""
    async with deps.db.read_for(account) as tx:
        found = await listing.find_ids_after(tx, account, filter_, deps.clock(), None, limit=MAX_CODES + 1)
    return [id_ for id_, _ in found]


async def read_codes(deps: Deps, account: UUID, ids: Sequence[UUID]) -> AsyncIterator[SelectedCode]:
    """Yield the codes. Those of links that are deleted meanwhile are left out."""
    for start in range(0, len(ids), _BATCH):
        batch = ids[start : start + _BATCH]
        async with deps.db.read_long() as tx:
            links, styles = await find_own(tx, account, set(batch)), await _find_styles(tx, batch)
            shown = {links[id_].domain_id for id_ in links if id_ in styles and styles[id_].logo}
            logos = {domain: await read_of_link(tx, account, domain) for domain in shown}
        for id_ in batch:
            if link := links.get(id_):
                style = styles.get(id_, CodeStyle())
                yield SelectedCode(link, style, logos[link.domain_id] if style.logo else None)


async def _find_styles(tx: Tx, ids: Sequence[UUID]) -> dict[UUID, CodeStyle]:
    columns = [qr_styles.c[name] for name in CodeStyle.__dataclass_fields__]
    rows = await tx.execute(select(qr_styles.c.link_id, *columns).where(qr_styles.c.link_id.in_(ids)))
    return {link_id: CodeStyle(*style) for link_id, *style in rows}
