"""Keeps links in step with another system, which knows them by external IDs."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from waypost import accounts
from waypost.kit.errors import Invalid, NotFound, Problems, Unavailable
from waypost.kit.fields import parse
from waypost.kit.urls import BadUrl
from waypost.resources.links import rules, service, store
from waypost.resources.links.deps import Deps
from waypost.resources.links.model import Link
from waypost.resources.links.schemas import LinkChange, LinkOptionsChange, LinkSync, NewLink

_ATTEMPTS = 3
_LEADING = ("destination_url", "utm_params")
_DIFFERS = "This differs from the external ID in the path. Leave it out, or send the same."


async def upsert(
    deps: Deps, caller: accounts.Caller, external_id: str, fields: LinkSync, problems: Problems
) -> tuple[Link, bool]:
    """Create the link, or change the fields that were sent. Return whether it is new. Raises Invalid, Unavailable
    and PreconditionFailed.

    Of several calls at once, one creates the link and the others change it.
    """
    valid, wrong = parse(LinkOptionsChange, {"external_id": external_id})
    problems.errors.update(wrong.errors)
    options = fields.options or LinkOptionsChange()
    if options.external_id not in {None, external_id}:
        problems.add("options.external_id", _DIFFERS)
    sent: dict[str, Any] = {name: getattr(fields, name) for name in fields.model_fields_set}
    sent["options"] = options.model_copy(update={"external_id": valid.external_id})
    link_id = await _find(deps, caller, valid.external_id)
    for _ in range(_ATTEMPTS):
        attempt = Problems(problems.errors)
        try:
            if link_id is None:
                caller.require_current(None)  # a link that another call creates at this moment makes this a change
                return await service.create(deps, caller, NewLink(**sent), attempt), True
            change = await _to_change(deps, caller, link_id, sent, attempt)
            return await service.change(deps, caller, link_id, change, attempt), False
        except (Invalid, NotFound):
            found = await _find(deps, caller, valid.external_id)
            if found == link_id:
                raise
            link_id = found  # another call has created or deleted it meanwhile
        finally:
            problems.reasons.update(attempt.reasons)
    raise Unavailable


async def _find(deps: Deps, caller: accounts.Caller, external_id: str | None) -> UUID | None:
    async with deps.db.point_read() as tx:
        return (await store.find_external(tx, caller.account.id, [external_id])).get(external_id)


async def _to_change(
    deps: Deps, caller: accounts.Caller, link_id: UUID, sent: Mapping[str, Any], problems: Problems
) -> LinkChange:
    """Leave out what is the same: its destination is not visited again, and an expiry in the past may stay.

    Null clears, or is left out where a link must have a value.
    """
    link = await service.get(deps, caller, link_id)
    sent = {name: value for name, value in sent.items() if value is not None or name not in LinkChange.NOT_NULL}
    is_led_there = not problems and _leads_there(deps, link, LinkChange(**sent))
    return LinkChange(
        **{
            name: value
            for name, value in sent.items()
            if (not is_led_there if name in _LEADING else value != getattr(link, name, None))
        }
    )


def _leads_there(deps: Deps, link: Link, change: LinkChange) -> bool:
    """Whether the link has this destination, with these UTM parameters."""
    try:
        url = deps.destination_checker.canonical(change.destination_url or "")
    except BadUrl:
        return False
    after = rules.changed(link, change, rules.Facts(url), base_url=deps.base_url)
    return (after.destination_url, after.utm_params) == (link.destination_url, link.utm_params)
