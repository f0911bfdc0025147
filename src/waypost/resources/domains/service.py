"""The verbs of domains. Each opens its own transaction; nothing slow is inside: checks are a worker's business."""

import asyncio
import secrets
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from urllib.parse import urlsplit
from uuid import UUID

from waypost.auth import Caller, lock_account
from waypost.database import Tx
from waypost.kit.clock import timestamp
from waypost.kit.errors import Conflict, Invalid, NoDomain, NotFound, Problems
from waypost.kit.ids import new_id
from waypost.kit.pagination import Page, PageRequest
from waypost.kit.urls import DEFAULT_PORTS, BadUrl, Url, canonical
from waypost.outbound import NotPublic, Unsafe
from waypost.resources.domains import certificates, link_domains, names, past_claims, store, verified_names
from waypost.resources.domains.deps import Deps
from waypost.resources.domains.model import Domain
from waypost.resources.domains.schemas import MAX_URL, DomainChange, NewDomain

MOST = 1_000
"""Domains of an account."""
MOST_NOT_LIVE = 50
"""Of these, domains that are not proven: names that others cannot register meanwhile."""
REQUIRED = "This field is required."
OWN = (
    "This is a host of the service itself, or a name below one. Use a host name under a domain of your own, such as "
    "go.example.com; links without a custom domain are on the service's shared one already."
)
TAKEN = "This name is already registered on this service. If it is yours, ask whoever runs the service to release it."
YOURS = "This name is already registered to your account."
TOO_MANY = f"An account may have at most {MOST:,} domains. Delete one that is not needed any more."
TOO_MANY_NOT_LIVE = f"An account may have at most {MOST_NOT_LIVE} domains that are not verified. Verify or delete one."
TOO_LONG_UNPROVEN = (
    f"Your account has held this hostname unverified for {past_claims.KEPT.days} days, so others can register it now. "
    "Register it again after {day}, or ask the operator of this service to release it if it is yours."
)
TOO_MANY_UNPROVEN = (
    f"Your account gave up too many names without having proven them in the last {past_claims.REMEMBERED.days} days. "
    "Register another one later, or ask whoever runs the service."
)
NO_OTHER_NAME = "A domain's name cannot change. Register the other name instead."
LOOP = "This address is on this service itself, so visitors would be led in circles. Use an address elsewhere."
LOOP_OF_DOMAINS = "This address is on a custom domain, so visitors could be led in circles. Use an address elsewhere."
NOT_PUBLIC = "This is not a public address. Use one that anybody can reach."
UNSAFE = "This address was flagged as unsafe, so visitors cannot be led there. Use another one."

_PAGES = ("root_url", "not_found_url")


async def create(deps: Deps, caller: Caller, new: NewDomain, problems: Problems) -> Domain:
    """`problems`: the faults already found. Raises Invalid, or NoDomain for a name that nobody can own alone."""
    if new.hostname is None and "hostname" not in problems:
        problems.add("hostname", REQUIRED)
    if problems or new.hostname is None:
        raise Invalid(problems.errors)
    domain = _claim(deps, caller.account.id, await _claimable(deps, new.hostname))
    async with deps.db.write() as tx:
        # the name before the account: whoever creates a link holds the domain's row when it comes to count the link
        if not await store.add(tx, domain):
            is_own = await link_domains.find_id(tx, domain.account_id, domain.hostname)
            raise Invalid({"hostname": [YOURS if is_own else TAKEN]})
        await lock_account(tx, domain.account_id)
        if await store.count(tx, domain.account_id) > MOST:
            raise Invalid({"hostname": [TOO_MANY]})
        if await store.count_not_live(tx, domain.account_id) > MOST_NOT_LIVE:
            raise Invalid({"hostname": [TOO_MANY_NOT_LIVE]})
        return await _continued(tx, domain)


async def change(deps: Deps, caller: Caller, domain_id: UUID, wanted: DomainChange, problems: Problems) -> Domain:
    """Fields that `wanted` does not send stay as they are. Raises NotFound before it looks at the input."""
    domain = await find(deps, caller, domain_id)
    if "hostname" in wanted.model_fields_set and not _is_name_of(domain, wanted.hostname):
        problems.add("hostname", NO_OTHER_NAME)
    pages = await _pages(deps, caller, wanted, problems)
    problems.raise_if_any()
    async with deps.db.write() as tx:
        before = _there(await store.find_for_change(tx, caller.account.id, domain_id))
        after = replace(
            before,
            root_url=pages.get("root_url", before.root_url),
            not_found_url=pages.get("not_found_url", before.not_found_url),
        )
        if after == before:
            return before
        after = replace(after, updated_at=deps.clock())
        await store.save_pages(tx, after)
        publish = await deps.invalidate_host_pages(tx, after.hostname)
    publish()
    return after


async def delete(deps: Deps, caller: Caller, domain_id: UUID) -> None:
    async with deps.db.write() as tx:
        domain = _there(await store.find_for_change(tx, caller.account.id, domain_id))
        publish = await remove(deps, tx, domain)
    publish()


async def release(deps: Deps, hostname: str, *, is_forced: bool) -> Domain | None:
    """Takes a name from whoever claims it, who cannot have it again for a while; a live one only if forced.

    A name that nobody has can be registered by everybody again: then this is None. Raises NotFound, Invalid.
    """
    try:
        name = names.canonical(hostname)
    except names.BadName as fault:
        raise Invalid({hostname: [str(fault)]}) from None
    async with deps.db.write() as tx:
        domain = await store.find_named_for_change(tx, name)
        if domain is None:
            if await past_claims.forget(tx, name):
                return None
            raise NotFound(f"Nobody has registered {name}: waypost domain list shows all domains.")
        if domain.is_live and not is_forced:
            raise Conflict({name: ["It is verified, and its links work. Add --force to release it all the same."]})
        publish = await remove(deps, tx, domain)
        now = deps.clock()
        await past_claims.end(tx, domain.account_id, name, since=now - past_claims.KEPT, at=now)
    publish()
    return domain


async def remove(deps: Deps, tx: Tx, domain: Domain) -> Callable[[], None]:
    """For whoever holds the domain's row: it goes with its certificate, and its links are on the shared domain.

    What this returns is to be called after the commit.
    """
    await store.remove(tx, domain.id)
    now = deps.clock()
    if domain.unverified_since is None:
        await past_claims.forget(tx, domain.hostname, domain.account_id)
    else:
        await past_claims.end(tx, domain.account_id, domain.hostname, since=domain.unverified_since, at=now)
    await certificates.erase(tx, domain.hostname, now)
    await deps.detach_links(tx, domain.account_id, domain.id)
    return await deps.invalidate_host(tx, domain.hostname)


async def verify_later(deps: Deps, caller: Caller, domain_id: UUID) -> Domain:
    """A worker checks it within a second or so. Asking again meanwhile changes nothing."""
    async with deps.db.write() as tx:
        domain = _there(await store.find_for_change(tx, caller.account.id, domain_id))
        if domain.status == "verifying":
            return domain
        now = deps.clock()
        await store.ask_for_check(tx, domain_id, now)
    return replace(domain, status="verifying", updated_at=now)


async def find(deps: Deps, caller: Caller, domain_id: UUID) -> Domain:
    async with deps.db.read() as tx:
        return _there(await store.find(tx, caller.account.id, domain_id))


async def browse(deps: Deps, caller: Caller, request: PageRequest) -> Page[Domain]:
    async with deps.db.read() as tx:
        found, total = await store.page(tx, caller.account.id, request)
    return Page(found, total, request)


async def name_left_pointing_here(deps: Deps, caller: Caller, text: str) -> str | None:
    """The host name of a deleted domain, if its DNS still leads here.

    Only a name that the account ever verified and that nobody has now is looked up.
    """
    try:
        name = names.canonical(text)
    except names.BadName:
        return None
    async with deps.db.read() as tx:
        is_theirs = await verified_names.is_of(tx, caller.account.id, name)
        if not is_theirs or await store.is_registered(tx, name):
            return None
    return name if await deps.points_here(name) else None


def _there(found: Domain | None) -> Domain:
    if found is None:
        raise NotFound
    return found


async def _claimable(deps: Deps, text: str) -> str:
    """The name's one spelling."""
    try:
        name = names.canonical(text)
    except names.BadName as fault:
        raise Invalid({"hostname": [str(fault)]}) from None
    if not await asyncio.to_thread(names.is_registrable, name):  # the list is read at the first call
        raise NoDomain(names.NO_DOMAIN)
    if any(name == own or name.endswith(f".{own}") for own in deps.own_hosts):
        raise Invalid({"hostname": [OWN]})  # below them, too: a wildcard record of ours would prove it to anybody
    return name


async def _continued(tx: Tx, domain: Domain) -> Domain:
    """A new claim, with the time that the same account held the name before, and with what proves it. Raises Invalid
    when the account has had its time.

    After the name is ours: whoever gives it up at the same moment has been waited for.
    """
    before, until = await past_claims.held(tx, domain.account_id, domain.hostname, now=domain.created_at)
    if before >= past_claims.KEPT:
        raise Invalid({"hostname": [TOO_LONG_UNPROVEN.format(day=_day(until))]})
    if await past_claims.count(tx, domain.account_id, now=domain.created_at) > MOST:
        raise Invalid({"hostname": [TOO_MANY_UNPROVEN]})
    needs_txt = await verified_names.is_of_another(tx, domain.account_id, domain.hostname)
    continued = replace(domain, unverified_since=domain.created_at - before, needs_txt=needs_txt)
    if continued != domain:
        await store.save_claim(tx, continued)
    return continued


def _day(at: datetime) -> str:
    return timestamp(at)[:10]


def _claim(deps: Deps, account_id: UUID, hostname: str) -> Domain:
    now = deps.clock()
    return Domain(
        id=new_id(),
        account_id=account_id,
        hostname=hostname,
        token=f"waypost-{secrets.token_hex(16)}",  # a record that an earlier claim left proves nothing
        needs_txt=False,
        status="pending",
        is_live=False,
        verified_at=None,
        last_checked_at=None,
        error=None,
        failures=0,
        unverified_since=now,
        root_url=None,
        not_found_url=None,
        links_count=0,
        tls_status="none",
        tls_expires_at=None,
        tls_error=None,
        created_at=now,
        updated_at=now,
    )


def _is_name_of(domain: Domain, text: str | None) -> bool:
    try:
        return text is not None and names.canonical(text) == domain.hostname
    except names.BadName:
        return False


async def _pages(deps: Deps, caller: Caller, wanted: DomainChange, problems: Problems) -> dict[str, str | None]:
    """The addresses that were sent, each in its one spelling; faults go to `problems`.

    They are looked up in lists of unsafe sites, which may ask another service, only where nothing else is wrong.
    """
    pages: dict[str, Url | None] = {}
    for name in wanted.model_fields_set.intersection(_PAGES):
        text = getattr(wanted, name)
        try:
            pages[name] = None if text is None else await _elsewhere(deps, caller, text)
        except BadUrl as fault:
            problems.add(name, str(fault))
    if not problems:
        for name, url in pages.items():
            await _vet(deps, name, url, problems)
    return {name: url.text if url else None for name, url in pages.items()}


async def _vet(deps: Deps, name: str, url: Url | None, problems: Problems) -> None:
    try:
        if url:
            await deps.check_url(url)
    except NotPublic:
        problems.add(name, NOT_PUBLIC)
    except Unsafe:
        problems.add(name, UNSAFE)


async def _elsewhere(deps: Deps, caller: Caller, text: str) -> Url:
    """Raises BadUrl also for an address that would lead back here."""
    url = canonical(text)
    if len(url.text) > MAX_URL:
        raise BadUrl(f"This may have at most {MAX_URL} characters.")
    own_ports = {*DEFAULT_PORTS.values(), urlsplit(deps.base_url).port}
    if url.host in deps.own_hosts and url.port in own_ports:
        raise BadUrl(LOOP)
    async with deps.db.read() as tx:
        if await link_domains.is_custom_domain(tx, caller.account.id, url.host):
            raise BadUrl(LOOP_OF_DOMAINS)
    return url
