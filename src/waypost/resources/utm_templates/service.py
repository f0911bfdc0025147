"""Create, change, delete and list campaign templates. Links do not know which template filled their parameters."""

from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

from waypost import audit
from waypost.accounts import Caller, lock_account
from waypost.audit import Item
from waypost.context import Context
from waypost.database import Tx
from waypost.kit.errors import Problems
from waypost.kit.ids import new_id
from waypost.kit.pagination import Page, PageRequest
from waypost.kit.utm import sent_values
from waypost.resources.utm_templates import store
from waypost.resources.utm_templates.model import UtmTemplate
from waypost.resources.utm_templates.schemas import NewUtmTemplate, UtmTemplateChange, UtmTemplateFields

MAX_TEMPLATES = 200
"""Per account."""
TOO_MANY = f"An account may have at most {MAX_TEMPLATES} campaign templates. Delete one that is no longer needed."
NAME_TAKEN = "Another campaign template has this name."
NO_TEMPLATE = "This campaign template no longer exists. Choose another one."
NO_PARAMETER = "This must have at least one parameter with a value."


async def create(context: Context, caller: Caller, new: NewUtmTemplate, problems: Problems) -> UtmTemplate:
    """`problems`: those already found in the input. Raises Invalid with these and all others together."""
    new.check_required(problems)
    _check_params(new, problems)
    account, now = caller.account.id, context.clock()
    template = UtmTemplate(new_id(), account, new.name or "", sent_values(new.utm_params), now, now)
    async with caller.commit(context.db) as tx:
        await lock_account(tx, account)
        await _check_name(tx, template, problems)
        if await store.count(tx, account) >= MAX_TEMPLATES:
            problems.add("name", TOO_MANY)
        problems.raise_if_any()
        await store.add(tx, template)
        await audit.record(tx, caller.actor, "utm_template.created", now, _item_of(template))
    return template


async def change(
    context: Context, caller: Caller, template_id: UUID, requested: UtmTemplateChange, problems: Problems
) -> UtmTemplate:
    """Fields that are not sent do not change. Raises NotFound before it validates the input."""
    await get(context, caller, template_id)
    requested.check_required(problems)
    _check_params(requested, problems)
    async with context.db.write() as tx:
        await lock_account(tx, caller.account.id)
        before = await store.get(tx, caller.account.id, template_id)
        caller.require_current(before)
        after = replace(before, name=requested.name or before.name)
        if requested.utm_params is not None:
            after = replace(after, utm_params=sent_values(requested.utm_params))
        await _check_name(tx, after, problems)
        problems.raise_if_any()
        if after == before:
            return before
        after = replace(after, updated_at=context.clock())
        await store.save(tx, after)
        changes = audit.compare(before, after, ignored=["updated_at"])
        await audit.record(tx, caller.actor, "utm_template.updated", after.updated_at, _item_of(after), changes=changes)
    return after


async def delete(context: Context, caller: Caller, template_id: UUID) -> None:
    async with context.db.write() as tx:
        await lock_account(tx, caller.account.id)
        template = await store.get(tx, caller.account.id, template_id)
        caller.require_current(template)
        await store.delete(tx, template_id)
        await audit.record(tx, caller.actor, "utm_template.deleted", context.clock(), _item_of(template))


async def get(context: Context, caller: Caller, template_id: UUID) -> UtmTemplate:
    async with context.db.read() as tx:
        return await store.get(tx, caller.account.id, template_id)


async def list_templates(context: Context, caller: Caller, request: PageRequest) -> Page[UtmTemplate]:
    async with context.db.read() as tx:
        templates = await store.list_page(tx, caller.account.id, request)
        return Page(templates, await store.count(tx, caller.account.id), request)


async def find_all(tx: Tx, account_id: UUID) -> Sequence[UtmTemplate]:
    return await store.list_page(tx, account_id, PageRequest(1, MAX_TEMPLATES))


async def _check_name(tx: Tx, template: UtmTemplate, problems: Problems) -> None:
    if await store.is_taken(tx, template.account_id, template.name, by_other_than=template.id):
        problems.add("name", NAME_TAKEN)


def _check_params(fields: UtmTemplateFields, problems: Problems) -> None:
    if fields.utm_params is not None and not sent_values(fields.utm_params):
        problems.add("utm_params", NO_PARAMETER)


def _item_of(template: UtmTemplate) -> Item:
    return Item(template.id, template.name)
