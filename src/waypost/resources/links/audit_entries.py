"""What the audit log says of changes of links."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import UUID

from waypost import audit
from waypost.audit import Actor, AuditAction, Item
from waypost.database import Tx
from waypost.resources.links.bulk.change_store import BulkChange, Kind
from waypost.resources.links.model import Link

_ACTIONS: Mapping[Kind, AuditAction] = {
    "set": "links.updated",
    "replace": "links.updated",
    "delete": "links.deleted",
    "restore": "links.restored",
}
MAX_IDS = 20
"""Links of one entry that are listed."""
_IGNORED = (
    *("id", "account_id", "domain_id", "clicks", "og_image_bytes", "utm_params"),  # these are in the destination
    *("created_at", "created_by", "updated_at", "changed_by"),
)


def item_of(link: Link, shared_domain: str) -> Item:
    return Item(link.id, link.short_url(shared_domain))


def compare(before: Link, after: Link, shared_domain: str) -> audit.Changes:
    return audit.compare(*(_shown(link, shared_domain) for link in (before, after)), ignored=_IGNORED)


async def record_created(tx: Tx, actor: Actor, link: Link, shared_domain: str) -> None:
    changes = {"destination_url": [None, audit.plain(link.destination_url)]}
    await audit.record(tx, actor, "link.created", link.created_at, item_of(link, shared_domain), changes=changes)


async def record_many(
    tx: Tx, actor: Actor, action: AuditAction, now: datetime, ids: Iterable[UUID], changed: Mapping[str, Any]
) -> None:
    """Write one entry about several links, if there are any. `changed`: the new values of their fields."""
    if all_ids := [str(id_) for id_ in ids]:
        values = {name: audit.plain(value) for name, value in changed.items()}
        details = {"count": len(all_ids), "ids": all_ids[:MAX_IDS], **({"set": values} if values else {})}
        await audit.record(tx, actor, action, now, details=details)


async def record_step(tx: Tx, change: BulkChange, changed: Sequence[Link], shared_domain: str) -> None:
    """Write the entry of a change of many links with the links `changed` in this step, or add these to it."""
    if "entry" not in change.payload or not (changed or change.kind == "replace"):
        return
    is_one, ids = change.total == 1, [str(link.id) for link in changed]
    details: dict[str, Any] = {"count": change.changed + len(changed)}
    if ids and change.changed == 0 and not is_one:
        details["ids"] = ids[:MAX_IDS]
    if "filter" in change.payload:
        details["filter"] = {name: text for name, text in change.payload["filter"].items() if text}
    if change.kind == "set":
        details["set"] = {name: audit.plain(value) for name, value in change.payload["set"].items()}
    if change.kind == "replace":
        details |= {name: audit.plain(change.payload[name]) for name in ("find", "replacement")}
    await audit.record_progress(
        tx,
        UUID(change.payload["entry"]),
        change.actor,
        "link.deleted" if is_one and change.kind == "delete" else _ACTIONS[change.kind],
        change.created_at,
        item_of(changed[0], shared_domain) if is_one and changed else Item(),
        details={} if is_one and change.kind in {"delete", "restore"} else details,
    )


def _shown(link: Link, shared_domain: str) -> Link:
    return replace(link, hostname=link.hostname or shared_domain)
