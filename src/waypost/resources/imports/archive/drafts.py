"""Reads and checks the rows of links, and decides what becomes of each."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, NamedTuple
from uuid import UUID

from pydantic import ValidationError

from waypost.database import Tx
from waypost.kit.ids import new_id
from waypost.kit.urls import Url
from waypost.resources import domains
from waypost.resources.imports import destinations, store
from waypost.resources.imports.archive import routing as routing_rows
from waypost.resources.imports.archive.aliases import find_free
from waypost.resources.imports.archive.context import Context, Rows
from waypost.resources.imports.archive.routing import LOOPING, ArchivedRouting
from waypost.resources.imports.archive.rows import LinkRow, reason_of
from waypost.resources.imports.rules import Refused
from waypost.resources.imports.run import Page
from waypost.resources.links import Link, aliases, routing
from waypost.resources.links import store as link_store
from waypost.resources.links.aliases import Alias
from waypost.resources.links.rules import LOOP, find_slug_problem

_DIGEST_SIZE = 32  # hexadecimal digits


@dataclass(frozen=True, slots=True)
class Draft:
    link: Link
    """Its slug is empty if the row's cannot be a slug. Start and click limit are those of `routing`."""
    row: LinkRow
    routing: ArchivedRouting
    digest: str
    """Of the link, followed by that of the routing, which is empty without one."""

    def is_changed_link(self, before: str) -> bool:
        """`before`: the digest of the last import."""
        return self.digest[:_DIGEST_SIZE] != before[:_DIGEST_SIZE]

    def is_changed_routing(self, before: str) -> bool:
        return self.digest[_DIGEST_SIZE:] != before[_DIGEST_SIZE:]


class Change(NamedTuple):
    link_id: UUID
    draft: Draft
    before: str
    """The digest of the last import."""


class Decisions(NamedTuple):
    new: Sequence[Draft]
    changed: Sequence[Change]
    unchanged: int
    """Also those that were deleted here."""


async def read(context: Context, rows: Rows, done: Page) -> list[Draft]:
    """Refuse rows that cannot become links. Of rows with the same id, the last is taken."""
    accepted: list[tuple[LinkRow, Url, ArchivedRouting]] = []
    account = context.account_id
    for row in rows:
        try:
            parsed = LinkRow.model_validate(row)
            url = await destinations.parse(context.deps, parsed.destination_url)
        except (Refused, ValidationError) as error:
            done.refuse(str(row.get("id", "?")), reason_of(error))
            continue
        routed = await routing_rows.read(context.deps, account, parsed.id, parsed.routing, parsed.updated_at)
        accepted.append((parsed, url, routed))
    found = {host for _, url, routed in accepted for host in (url.host, *routed.hosts)}
    async with context.deps.db.read() as tx:
        looping = await domains.find_custom_domains(tx, account, found)
    drafts: dict[UUID, Draft] = {}
    for parsed, url, routed in accepted:
        if url.host in looping:
            done.refuse(str(parsed.id), LOOP)
        else:
            usable = routed if routed.hosts.isdisjoint(looping) else LOOPING
            drafts[parsed.id] = _draft(context, parsed, url, usable)
    return list(drafts.values())


async def decide(context: Context, tx: Tx, drafts: Sequence[Draft]) -> Decisions:
    known = await store.find_links(tx, context.account_id, [context.key_of(draft.row.id) for draft in drafts])
    here = await link_store.find_domains(tx, context.account_id, (link_id for link_id, _ in known.values()))
    new, changed = [], []
    for draft in drafts:
        link_id, before = known.get(context.key_of(draft.row.id), (None, ""))
        if link_id is None:
            new.append(draft)
        elif link_id in here and before != draft.digest:
            changed.append(Change(link_id, draft, before))
    return Decisions(new, changed, len(drafts) - len(new) - len(changed))


async def plan(context: Context, tx: Tx, drafts: Sequence[Draft], done: Page) -> None:
    """Count and warn as an import does. Writes nothing."""
    new, changed, done.counts.unchanged = await decide(context, tx, drafts)
    done.counts.created, done.counts.updated = len(new), len(changed)
    here = await routing.find_of_links(tx, [change.link_id for change in changed])
    with_here = [(draft, None) for draft in new] + [(draft, here.get(link_id)) for link_id, draft, _ in changed]
    done.counts.imported_clicks = sum(draft.row.imported_clicks for draft, _ in with_here)
    for draft, own in with_here:
        if reason := draft.routing.find_reason_to_disable(own):
            done.warn(reason, draft.row.slug)
    owners = await link_store.find_slug_owners(tx, (draft.link.slug for draft in new))
    moved = []
    for draft in new:
        free = context.account_id, None
        if not draft.link.slug or owners.get(draft.link.slug, free) != free:
            moved.append(keep_address(draft, draft.link.id, done))
        owners[draft.link.slug] = context.account_id, draft.link.id
    done.counts.aliases = len(await find_free(tx, list(filter(None, moved)), done))


def keep_address(draft: Draft, link_id: UUID, done: Page) -> Alias | None:
    """Warn that the link gets another slug. On a custom domain, return the alias that keeps its address."""
    link, path = draft.link, draft.row.slug
    if link.domain_id and link.hostname and not aliases.find_path_problem(path):
        done.warn("The slug is taken here: the link has another one, and its address as an alias", path)
        return Alias(new_id(), link.account_id, link_id, link.domain_id, link.hostname, path, link.created_at)
    done.warn("The slug is taken here: the link has another one", path)
    return None


def _draft(context: Context, row: LinkRow, url: Url, routed: ArchivedRouting) -> Draft:
    host, own = context.references.host(row.hostname), context.references.pixels
    sent = {name: getattr(row, name) for name in LinkRow.model_fields if name in Link.__dataclass_fields__}
    copied = {name: value for name, value in sent.items() if value is not None}
    resolved = {
        "account_id": context.account_id,
        "slug": "" if find_slug_problem(row.slug, context.deps.reserved) else row.slug,
        "domain_id": host.domain_id,
        "hostname": host.hostname if host.domain_id else None,
        "destination_url": url.text,
        "og_image": None if row.uploaded_image else row.og_image,
        "utm_params": row.utm,
        "pixel_ids": [own[id_] for id_ in row.pixel_ids if id_ in own],
        "starts_at": routed.starts_at,
        "click_limit": routed.click_limit,
    }
    link = Link(**copied | resolved)
    compared = row.model_dump(mode="json", exclude={"routing"}) | {"pixel_ids": [str(id_) for id_ in link.pixel_ids]}
    compared |= {"hostname": host.hostname}
    digest = _digest(compared) + (_digest(routed.to_compare()) if row.routing is not None else "")
    return Draft(link, row, routed, digest)


def _digest(value: Any) -> str:
    return blake2b(json.dumps(value, sort_keys=True).encode(), digest_size=_DIGEST_SIZE // 2).hexdigest()
