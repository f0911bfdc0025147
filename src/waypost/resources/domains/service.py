"""Creates, changes, deletes and lists domains. The worker checks their DNS."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

from waypost import audit
from waypost.accounts import Caller, add_label_change, lock_account
from waypost.audit import Actor, Item
from waypost.context import Context
from waypost.database import Tx
from waypost.kit.errors import Conflict, Invalid, NotFound, Problems, UnregistrableName
from waypost.kit.fields import MAX_URL
from waypost.kit.pagination import Page, PageRequest
from waypost.kit.urls import DEFAULT_PORTS, BadUrl, Url, canonical
from waypost.outbound import NotPublic, Unsafe
from waypost.resources.domains import certificates, deletion, history, lookups, names, store
from waypost.resources.domains.deps import CheckUrl, Deps, WebDeps
from waypost.resources.domains.model import CHECK_JOB, Domain
from waypost.resources.domains.schemas import DomainChange, NewDomain
from waypost.worker import jobs

MAX_DOMAINS = 1_000
"""Domains per account."""
MAX_UNVERIFIED_DOMAINS = 50
"""Unverified domains per account: other accounts cannot register their hostnames."""
OWN_HOST = (
    "This hostname belongs to Waypost itself. Use a hostname of your own, such as go.example.com; links without a "
    "custom domain are on the shared domain already."
)
TAKEN = "This hostname is already in use. If it is yours, ask the administrator of this service to release it."
ALREADY_YOURS = "This hostname is already in your account."
TOO_MANY = f"An account can have at most {MAX_DOMAINS:,} domains. Delete one that you no longer need."
TOO_MANY_UNVERIFIED_DOMAINS = (
    f"An account can have at most {MAX_UNVERIFIED_DOMAINS} domains that are not verified. Verify or delete one."
)
TOO_LONG_UNVERIFIED = (
    f"Your account has held this hostname unverified for {history.MAX_UNVERIFIED.days} days, so others can add it "
    "now. Add it again after {day}, or ask the administrator of this service to release it if it is yours."
)
TOO_MANY_DELETED = (
    f"Your account has deleted too many unverified domains in the last {history.REGISTRATION_RETENTION.days} days. "
    "Add another one later, or ask the administrator of this service."
)
HOSTNAME_FIXED = "A domain's hostname cannot be changed. Add the other hostname as a new domain."
LOOP = "This URL is on this service itself, which would cause a redirect loop. Use a URL on another site."
LOOP_ON_DOMAIN = "This URL is on a custom domain, which could cause a redirect loop. Use a URL on another site."
NOT_PUBLIC = "This URL is not on the public internet. Use a URL that is reachable from the internet."
UNSAFE = "This URL is listed as unsafe. Use another one."

TARGET_URLS = ("root_url", "not_found_url")


async def create(deps: Context, caller: Caller, new: NewDomain, problems: Problems) -> Domain:
    """Register a domain. `problems`: the errors found so far. Raises Invalid and UnregistrableName."""
    new.check_required(problems)
    if problems or new.hostname is None:
        raise Invalid(problems.errors)
    now = deps.clock()
    return await register(caller.commit(deps.db), caller.actor, new.hostname, own_hosts=deps.own_hosts, now=now)


async def register(
    transaction: AbstractAsyncContextManager[Tx],
    actor: Actor,
    hostname: str,
    *,
    own_hosts: Sequence[str],
    now: datetime,
) -> Domain:
    """Raises Invalid and UnregistrableName. `transaction`: opened once the name is checked."""
    domain = Domain.new(actor.account_id, await _check_hostname(hostname, own_hosts), now)
    async with transaction as tx:
        # the hostname before the account: creating a link locks the domain's row before it counts the link
        if not await store.add(tx, domain):
            is_own = await lookups.find_id(tx, domain.account_id, domain.hostname)
            raise Invalid({"hostname": [ALREADY_YOURS if is_own else TAKEN]})
        await lock_account(tx, domain.account_id)
        total, unserved = await store.count(tx, domain.account_id)
        if total > MAX_DOMAINS:
            raise Invalid({"hostname": [TOO_MANY]})
        if unserved > MAX_UNVERIFIED_DOMAINS:
            raise Invalid({"hostname": [TOO_MANY_UNVERIFIED_DOMAINS]})
        await audit.record(tx, actor, "domain.created", now, item_of(domain))
        return await _continue_registration(tx, domain)


async def set_target_urls(tx: Tx, domain_id: UUID, urls: Mapping[str, str | None]) -> None:
    """Set URLs, which `check_target_urls` has returned, of a domain that is not served yet."""
    await store.save(tx, domain_id, urls)


async def change(deps: WebDeps, caller: Caller, domain_id: UUID, change: DomainChange, problems: Problems) -> Domain:
    """Change the fields that were sent. Raises NotFound before it checks the input."""
    domain = await get(deps, caller, domain_id)
    if "hostname" in change.model_fields_set and not _is_hostname_of(domain, change.hostname):
        problems.add("hostname", HOSTNAME_FIXED)
    sent = {name: getattr(change, name) for name in change.model_fields_set.intersection(TARGET_URLS)}
    urls = await check_target_urls(deps, caller.account.id, sent, deps.check_url, problems)
    problems.raise_if_any()
    async with deps.db.write() as tx:
        before = await store.get_for_update(tx, caller.account.id, domain_id)
        caller.require_current(before)
        values: dict[str, Any] = {**urls}
        if replace(before, **values) == before:
            return before
        changes, now = audit.compare(before, replace(before, **values)), deps.clock()
        values["updated_at"] = now
        await store.save(tx, domain_id, values)
        await audit.record(tx, caller.actor, "domain.updated", now, item_of(before), changes=changes)
        await deps.routes.host_pages_changed(tx, before.hostname)
    return replace(before, **values)


async def set_default(deps: Deps, caller: Caller, domain_id: UUID, *, is_default: bool) -> None:
    """Let new links start on it in the dashboard, or on the shared domain again."""
    async with deps.db.write() as tx:
        await store.lock_all(tx, caller.account.id)  # one call at a time, without the account: see links/apply.py
        before = await store.get(tx, caller.account.id, domain_id)
        if before.is_default == is_default:
            return
        await store.clear_default(tx, caller.account.id)
        await store.save(tx, domain_id, {"is_default": is_default})
        changes = audit.compare(before, replace(before, is_default=is_default))
        await audit.record(tx, caller.actor, "domain.updated", deps.clock(), item_of(before), changes=changes)


async def delete(deps: Deps, caller: Caller, domain_id: UUID) -> None:
    async with deps.db.write() as tx:
        domain = await store.get_for_update(tx, caller.account.id, domain_id)
        caller.require_current(domain)
        await delete_locked(deps, tx, domain)
        await record_deleted(tx, caller.actor, domain, deps.clock())


async def record_deleted(tx: Tx, actor: Actor, domain: Domain, now: datetime) -> None:
    """Record it in the audit log, unless the account is being deleted."""
    await audit.record(tx, actor, "domain.deleted", now, item_of(domain), details={"links": domain.links_count})


async def release(deps: Deps, hostname: str, *, is_forced: bool) -> Domain:
    """Take a hostname from its account, which cannot register it again for a while; a served one only if forced.

    Raises NotFound, Conflict and Invalid.
    """
    name = _canonical(hostname, field=hostname)
    async with deps.db.write() as tx:
        domain = await store.find_by_hostname_for_update(tx, name)
        if domain is None:
            raise NotFound(f"{name} is not registered. waypost domain list shows all domains.")
        if domain.is_served and not is_forced:
            raise Conflict({name: ["It is verified, and its links work. Add --force to release it anyway."]})
        await delete_locked(deps, tx, domain)
        now = deps.clock()
        await history.record_end(tx, domain.account_id, name, since=now - history.MAX_UNVERIFIED, at=now)
        await record_deleted(tx, Actor.command(domain.account_id, "waypost domain release"), domain, now)
    return domain


async def delete_registrations(deps: Deps, hostname: str) -> bool:
    """Let all accounts register the hostname again. Return False if no unverified registrations were recorded."""
    async with deps.db.write() as tx:
        return await history.delete_registrations(tx, _canonical(hostname, field=hostname))


async def delete_locked(deps: Deps, tx: Tx, domain: Domain) -> None:
    """Delete a locked domain and its certificate; its links move to the shared domain."""
    await deletion.delete_rows(tx, domain.id)
    await jobs.delete_job(tx, domain.id)
    now = deps.clock()
    if domain.unverified_since is None:
        await history.delete_registrations(tx, domain.hostname, domain.account_id)
    else:
        await history.record_end(tx, domain.account_id, domain.hostname, since=domain.unverified_since, at=now)
    await certificates.delete_certificate(tx, domain.hostname, now)
    await deps.detach_links(tx, domain.account_id, domain.id)
    await add_label_change(tx, domain.account_id)
    await deps.routes.host_changed(tx, domain.hostname)


async def request_verification(deps: Context, caller: Caller, domain_id: UUID) -> Domain:
    """Request a check by the worker, which starts within about a second. A second request changes nothing."""
    async with caller.commit(deps.db) as tx:
        domain = await store.get_for_update(tx, caller.account.id, domain_id)
        if domain.status == "verifying":
            return domain
        now = deps.clock()
        await store.save(tx, domain_id, {"status": "verifying", "updated_at": now})
        await jobs.enqueue(tx, CHECK_JOB, {}, now=now, account_id=domain.account_id, id_=domain_id)
        await certificates.retry(tx, domain.hostname, now)
        await audit.record(tx, caller.actor, "domain.verification_requested", now, item_of(domain))
    return replace(domain, status="verifying", updated_at=now)


async def get(deps: Context, caller: Caller, domain_id: UUID) -> Domain:
    async with deps.db.read() as tx:
        return await store.get(tx, caller.account.id, domain_id)


async def list_domains(deps: Context, caller: Caller, request: PageRequest) -> Page[Domain]:
    async with deps.db.read() as tx:
        domains, total = await store.list_page(tx, caller.account.id, request)
    return Page(domains, total, request)


async def find_dangling_dns(deps: WebDeps, caller: Caller, text: str) -> str | None:
    """Return the hostname of a deleted domain if its DNS still points to this service.

    Looks up only hostnames that the account has verified and that no account has registered now.
    """
    try:
        name = names.canonical(text)
    except names.BadName:
        return None
    async with deps.db.read() as tx:
        was_own = await history.is_verified_by(tx, caller.account.id, name)
        if not was_own or await store.is_registered(tx, name):
            return None
    return name if await deps.points_here(name) else None


def item_of(domain: Domain) -> Item:
    return Item(domain.id, domain.hostname)


def _canonical(hostname: str, *, field: str) -> str:
    try:
        return names.canonical(hostname)
    except names.BadName as error:
        raise Invalid({field: [str(error)]}) from None


async def _check_hostname(text: str, own_hosts: Sequence[str]) -> str:
    """Return the canonical hostname. Raises Invalid and UnregistrableName."""
    name = _canonical(text, field="hostname")
    if not await asyncio.to_thread(names.is_registrable, name):  # the list is read at the first call
        raise UnregistrableName(names.UNREGISTRABLE)
    if any(name == own or name.endswith(f".{own}") for own in own_hosts):
        # subdomains too: with a wildcard record of ours, any account could verify them
        raise Invalid({"hostname": [OWN_HOST]})
    return name


async def _continue_registration(tx: Tx, domain: Domain) -> Domain:
    """Count the time that the account had the hostname unverified before. Raises Invalid.

    Call it after the insert of the domain, which waits for a concurrent deletion by the same account.
    """
    before, until = await history.find_time_unverified(tx, domain.account_id, domain.hostname, now=domain.created_at)
    if before >= history.MAX_UNVERIFIED:
        raise Invalid({"hostname": [TOO_LONG_UNVERIFIED.format(day=until.date().isoformat())]})
    if await history.count_registrations(tx, domain.account_id, now=domain.created_at) > MAX_DOMAINS:
        raise Invalid({"hostname": [TOO_MANY_DELETED]})
    needs_txt = await history.is_verified_by_another(tx, domain.account_id, domain.hostname)
    values: dict[str, Any] = {"unverified_since": domain.created_at - before, "needs_txt": needs_txt}
    if before or needs_txt:
        await store.save(tx, domain.id, values)
    return replace(domain, **values)


def _is_hostname_of(domain: Domain, text: str | None) -> bool:
    try:
        return text is not None and names.canonical(text) == domain.hostname
    except names.BadName:
        return False


async def check_target_urls(
    deps: Context, account_id: UUID, sent: Mapping[str, str | None], check_url: CheckUrl, problems: Problems
) -> dict[str, str | None]:
    """Return the canonical URLs; errors are added to `problems`. `sent`: by field, of `TARGET_URLS`.

    The check against lists of unsafe URLs, which can be another service, runs only if nothing else is wrong.
    """
    urls: dict[str, Url | None] = {}
    for name, text in sent.items():
        try:
            urls[name] = None if text is None else await _check_no_loop(deps, account_id, text)
        except BadUrl as error:
            problems.add(name, str(error))
    if not problems:
        for name, url in urls.items():
            try:
                if url:
                    await check_url(url)
            except NotPublic:
                problems.add(name, NOT_PUBLIC)
            except Unsafe:
                problems.add(name, UNSAFE)
    return {name: url.text if url else None for name, url in urls.items()}


async def _check_no_loop(deps: Context, account_id: UUID, text: str) -> Url:
    """Return the canonical URL. Raises BadUrl, also for a URL that redirects back to this service."""
    url = canonical(text)
    if len(url.text) > MAX_URL:
        raise BadUrl(f"This must have at most {MAX_URL:,} characters.")
    own_ports = {*DEFAULT_PORTS.values(), urlsplit(deps.base_url).port}
    if url.host in deps.own_hosts and url.port in own_ports:
        raise BadUrl(LOOP)
    async with deps.db.read() as tx:
        if await lookups.is_custom_domain(tx, account_id, url.host):
            raise BadUrl(LOOP_ON_DOMAIN)
    return url
