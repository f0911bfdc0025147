"""Create, change and delete many links. Each succeeds or fails alone."""

import asyncio
from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Literal, NamedTuple
from uuid import UUID

from waypost import accounts, audit
from waypost.database import Tx
from waypost.kit.errors import Errors, Invalid, NotFound, Problems, Unavailable, WaypostError
from waypost.kit.fair_queue import Busy, TimeBudget
from waypost.kit.fields import parse
from waypost.kit.ids import new_id, numbered_id
from waypost.resources.links import checks, rules, service, store
from waypost.resources.links.apply import apply
from waypost.resources.links.bulk.schemas import LinkSet, parse_set
from waypost.resources.links.deps import Deps
from waypost.resources.links.model import Link
from waypost.resources.links.schemas import LinkChange, NewLink

MAX_WAIT = 30.0
"""Seconds from the start of a request until a link that has not had its turn is left out."""
CONCURRENT = 4
"""Links of one account that are created at a time: as many destinations are checked for an account."""

MAX_IDS = 20
"""Links of one entry of the audit log that are listed."""

NOT_AN_OBJECT = "This must be an object with the fields of a link."

CreateResult = Link | Errors | None
"""The link, why it was not created, or None if it did not get its turn."""
Changed = Literal["updated", "unchanged", "not_found"] | Errors


async def create(
    deps: Deps, caller: accounts.Caller, rows: Sequence[Any], problems: Problems, request_id: UUID | None = None
) -> list[CreateResult]:
    """Create a link of each row. The first of two rows with the same slug gets it, unless it fails for another reason.

    `problems` gets the reasons of those that were created unchecked.

    `request_id`: a row that was created before in a request with this id is not created again. Raises Unavailable if
    no link was created because the service cannot work.
    """
    creation = _Creation(deps, caller, rows, problems, request_id or new_id())
    async with asyncio.TaskGroup() as group:
        for _ in range(CONCURRENT):
            group.create_task(creation.run())
    if creation.failures and not any(creation.results):
        raise creation.failures[0]
    return creation.results


class _Creation:
    """Rows that several tasks take in their order."""

    def __init__(
        self, deps: Deps, caller: accounts.Caller, rows: Sequence[Any], problems: Problems, request_id: UUID
    ) -> None:
        self._deps = deps
        self._caller = caller
        self._problems = problems
        self._request_id = request_id
        self._rows = deque(enumerate(rows))
        self._time = asyncio.get_running_loop().time
        self._end = self._time() + MAX_WAIT
        self._slugs: defaultdict[str | int, asyncio.Lock] = defaultdict(asyncio.Lock)
        self.results: list[CreateResult] = [None] * len(rows)
        self.failures: list[WaypostError] = []
        """Why no other row would succeed either: the account is gone, or the database."""

    async def run(self) -> None:
        while self._rows:
            index, row = self._rows.popleft()
            try:
                self.results[index] = await self._create(index, row)
            except Invalid as error:
                self.results[index] = error.errors
            except (NotFound, Unavailable) as error:
                self._rows.clear()
                self.failures += [] if isinstance(error, Busy) else [error]

    async def _create(self, index: int, row: Any) -> CreateResult:
        if not isinstance(row, Mapping):
            raise Invalid({"body": [NOT_AN_OBJECT]})
        new, problems = parse(NewLink, row)
        async with self._slugs[new.slug or index]:
            wait = TimeBudget(max(0, self._end - self._time()))
            async with self._deps.bulk_queue.slot(self._caller.account.id, wait):
                is_late = self._time() >= self._end
                if is_late:
                    return None
                link_id = numbered_id(self._request_id, index)
                link = await service.create_once(self._deps, self._caller, new, problems, link_id, wait=wait)
                self._problems.reasons |= {f"links.{index}.{name}": why for name, why in problems.reasons.items()}
                return link


async def change(
    deps: Deps, caller: accounts.Caller, ids: Sequence[UUID | None], sent: Mapping[str, Any], problems: Problems
) -> list[Changed]:
    """Change each link in the same way, in one transaction. None in `ids` is the id of no link.

    Raises Invalid with `problems` and those of `sent` that do not depend on a link, on `set.<field>`.
    """
    setting = await check_set(deps, caller.account.id, sent, problems)
    async with deps.db.write() as tx:
        results = await change_in(deps, tx, caller.account.id, ids, setting, changed_by=caller.actor.label)
        changed = dict.fromkeys(id_ for id_, result in zip(ids, results, strict=True) if id_ and result == "updated")
        await _record(tx, caller.actor, "links.updated", deps.clock(), changed, sent)
    return results


class CheckedSet(NamedTuple):
    set: LinkSet
    change: LinkChange
    """The part that is the same for all links."""
    domain: UUID | None


async def check_set(deps: Deps, account: UUID, sent: Mapping[str, Any], problems: Problems) -> CheckedSet:
    """Raises Invalid with `problems` and those of `sent`."""
    set_, of_set = parse_set(sent)
    common = set_.to_change()
    domain = (await checks.run_cheap_checks(deps, account, common, of_set)).domain
    _raise_if_any(problems, of_set)
    return CheckedSet(set_, common, domain)


def plan_set(before: Link, checked: CheckedSet, deps: Deps, by: str) -> rules.LinkPlan:
    set_, facts = checked.set, rules.Facts(domain=checked.domain)
    requested = rules.changed(before, checked.change, facts, base_url=deps.base_url)
    requested = rules.with_utm(requested, set_.utm_params or {})
    requested = replace(requested, tags=rules.change_tags(requested.tags, set_.add_tags or [], set_.remove_tags or []))
    return rules.plan(before, requested, by=by, at=deps.clock())


async def change_in(
    deps: Deps, tx: Tx, account: UUID, ids: Sequence[UUID | None], checked: CheckedSet, *, changed_by: str
) -> list[Changed]:
    """Change the links in the caller's transaction."""
    before = await store.lock_all(tx, account, [id_ for id_ in ids if id_])
    plans: dict[UUID, rules.LinkPlan] = {}
    results: list[Changed] = []
    for id_ in ids:
        if id_ is None or id_ not in before:
            results.append("not_found")
        elif id_ in plans:
            results.append("unchanged")
        else:
            plan = plan_set(before[id_], checked, deps, changed_by)
            for field, text in plan.problems.items():
                results.append({field: [text]})
                break
            else:
                plans[id_] = plan
                results.append("unchanged" if plan.after == plan.before else "updated")
    problems = Problems()
    await service.lock_pixels(tx, account, checked.change, problems)
    try:
        await apply(deps, tx, account, list(plans.values()), problems)
    except Invalid as error:
        problems.errors.update(error.errors)
    _raise_if_any(problems)
    return results


async def delete(deps: Deps, caller: accounts.Caller, ids: Sequence[UUID | None]) -> list[bool]:
    """Delete each link, in one transaction. Return whether it was there. None in `ids` is the id of no link."""
    async with deps.db.write() as tx:
        links = await store.lock_all(tx, caller.account.id, [id_ for id_ in ids if id_])
        await service.hide(deps, tx, list(links.values()))
        await service.purge(tx, list(links.values()))
        await _record(tx, caller.actor, "links.deleted", deps.clock(), links, {})
    for link in links.values():
        await deps.image_store.delete(link.og_image_file_name)
    return [id_ is not None and links.pop(id_, None) is not None for id_ in ids]


async def _record(
    tx: Tx,
    actor: audit.Actor,
    action: audit.AuditAction,
    now: datetime,
    ids: Iterable[UUID],
    changed: Mapping[str, Any],
) -> None:
    """Write one entry about several links, if there are any. `changed`: the new values of their fields."""
    if all_ids := [str(id_) for id_ in ids]:
        values = {name: audit.plain(value) for name, value in changed.items()}
        details = {"count": len(all_ids), "ids": all_ids[:MAX_IDS], **({"set": values} if values else {})}
        await audit.record(tx, actor, action, now, details=details)


def _raise_if_any(*problems: Problems) -> None:
    """The last ones are of `set`."""
    *others, of_set = problems
    errors = {name: texts for each in others for name, texts in each.errors.items()}
    Problems(errors | {f"set.{name}": texts for name, texts in of_set.errors.items()}).raise_if_any()
