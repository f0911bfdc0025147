"""Imports the links of another service. Importing a link again changes only what changed there."""

from collections.abc import Awaitable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import cast
from uuid import UUID

from waypost.database import Tx
from waypost.kit.clock import DAY, EPOCH, from_microseconds
from waypost.kit.ids import new_id
from waypost.kit.urls import Url
from waypost.resources import aliases, domains
from waypost.resources.aliases import Alias
from waypost.resources.clicks.days import find_kept_since
from waypost.resources.clicks.intake.steps import IntakeSettings
from waypost.resources.clicks.model import Click
from waypost.resources.domains.names import canonical_or_lower
from waypost.resources.imports import destinations, rules, store
from waypost.resources.imports.choices import is_of_vendor
from waypost.resources.imports.clicks import EqualClicks, build, settings_of_imports
from waypost.resources.imports.deps import Deps
from waypost.resources.imports.model import Import
from waypost.resources.imports.report import warn
from waypost.resources.imports.routing.fitting import PLAIN, Fitted
from waypost.resources.imports.routing.importing import FIELDS as ROUTING_FIELDS
from waypost.resources.imports.routing.importing import RoutingImport, Saved
from waypost.resources.imports.rules import Draft, Host, Refused
from waypost.resources.imports.run import Cursor, ImportRun, Page
from waypost.resources.imports.source import (
    Address,
    ClickPage,
    HasClicks,
    HasClicksOfLinks,
    LinkPage,
    NotThere,
    Source,
    SourceClick,
    SourceError,
    SourceLink,
)
from waypost.resources.links import Link, batch
from waypost.resources.links import store as link_store
from waypost.resources.links.rules import LOOP

_CLICKS_PER_STEP = 2_000
_MAX_REQUESTS = 50
"""For clicks, per step."""
_MAX_REPEATED_PAGES = 3
"""In a row, without any link that is new in this run: then the list has no end."""


_canonical = lru_cache(256)(canonical_or_lower)


@dataclass(slots=True)
class _LinkPage(Page):
    seen: set[int] = field(default_factory=set)
    totals: dict[str, int] = field(default_factory=dict)
    """Clicks of links at the source, which a dry run reports without reading them."""


class Importer(ImportRun):
    """Imports the links of another service, and their clicks if it lists them.

    Phases: `links`; `link_clicks`, the clicks of the links of one page, in which the cursor has also `page`, the cursor
    of that page, `next`, that of the next one, and `link`, the link whose clicks are read; `clicks`. `equal`: see
    `EqualClicks`.
    """

    _first_phase = "links"

    def __init__(self, deps: Deps, source: Source, import_: Import, holder: str, *, is_dry_run: bool = False) -> None:
        """`holder`: see `lease.holder`."""
        super().__init__(deps, import_, holder, is_dry_run=is_dry_run)
        self._source = source
        self._shared = Host(None, deps.shared_domain)
        self._hosts: dict[str | None, Host] = {}
        self._seen: set[int] = set()
        """Hashes of the ids of links in earlier pages."""
        self._repeated_pages = 0
        with_clicks = bool(import_.options.get("clicks")) and not is_dry_run
        self._clicks_of_links = (
            cast(HasClicksOfLinks, source) if with_clicks and hasattr(source, "clicks_of_link") else None
        )
        self._all_clicks = cast(HasClicks, source) if with_clicks and hasattr(source, "click_page") else None
        self._has_rows = bool(import_.options.get("clicks")) and (
            hasattr(source, "clicks_of_link") or hasattr(source, "click_page")
        )
        self._routing = RoutingImport(
            deps, self._account_id, import_.source, has_rows=self._has_rows, is_dry_run=is_dry_run
        )
        self._page_links: list[str] | None = None
        """In the phase `link_clicks`."""
        self._intake: IntakeSettings | None = None

    async def _check(self) -> None:
        await self._source.check()
        async with self._deps.db.read() as tx:
            await self._find_hosts(tx)
        if self._import.options.get("clicks") and not self._has_rows:
            warn(self.warnings, "The source has no clicks with their times: totals are kept apart from the statistics")

    async def _step(self) -> None:
        steps = {
            "links": self._import_links,
            "link_clicks": self._import_clicks_of_links,
            "clicks": self._import_clicks,
        }
        await steps[self._cursor["phase"]]()

    async def _import_links(self) -> None:
        page = await self._keeping_lease(self._source.link_page(self._cursor["at"]))
        self._check_end(page)
        done = _LinkPage()
        drafts = await self._read(page, done)
        cursor = self._after_links(page.next_cursor)
        if self._clicks_of_links:
            cursor = {"phase": "link_clicks", "page": self._cursor["at"], "next": page.next_cursor}
            self._page_links = _with_clicks(page)
        async with self._write(done, cursor, page.total) as tx:
            await self._store(tx, drafts, done)
        self._seen |= done.seen

    def _after_links(self, next_page: str | None) -> Cursor:
        if next_page is not None:
            return {"phase": "links", "at": next_page}
        return {"phase": "clicks" if self._all_clicks else "end", "at": None}

    async def _import_clicks_of_links(self) -> None:
        """Import clicks of several links, until there are enough for a transaction."""
        assert self._clicks_of_links  # noqa: S101  # only then there is this phase
        cursor = self._cursor
        if self._page_links is None:  # it was killed, and continues
            self._page_links = _with_clicks(await self._keeping_lease(self._source.link_page(cursor["page"])))
        ids, at = self._page_links, cursor.get("at")
        index = ids.index(cursor["link"]) if cursor.get("link") in ids else 0
        clicks: list[SourceClick] = []
        for _ in range(_MAX_REQUESTS):
            if index == len(ids) or len(clicks) >= _CLICKS_PER_STEP:
                break
            page = await self._keeping_lease(_or_none(self._clicks_of_links.clicks_of_link(ids[index], at)))
            clicks += page.clicks
            _check_moves(at, page)
            at = page.next_cursor
            index += at is None
        if index == len(ids):
            self._page_links = None
            following = self._after_links(cursor["next"])
        else:
            following = {**cursor, "link": ids[index], "at": at}
        await self._store_clicks(clicks, following)

    async def _import_clicks(self) -> None:
        assert self._all_clicks  # noqa: S101  # only then there is this phase
        page = await self._keeping_lease(self._all_clicks.click_page(self._cursor["at"]))
        _check_moves(self._cursor["at"], page)
        phase = "clicks" if page.next_cursor else "end"
        await self._store_clicks(page.clicks, {"phase": phase, "at": page.next_cursor})

    async def _store_clicks(self, clicks: Sequence[SourceClick], following: Cursor) -> None:
        done, equal = Page(), EqualClicks.from_json(self._cursor.get("equal"))
        built = await self._build_clicks(clicks, equal, done)
        token = f"import {self._import.id} {rules.short_digest(self._cursor)}"
        new = await self._keeping_lease(self._deps.click_writer.send(self._deps.db, built, token))
        async with self._write(done, {**following, "equal": equal.to_json()}) as tx:
            done.counts.clicks += await self._deps.click_writer.add(tx, new)

    async def _build_clicks(self, clicks: Sequence[SourceClick], equal: EqualClicks, done: Page) -> list[Click]:
        """Leave out clicks of links that are not here, and those that are not kept."""
        if self._intake is None:
            self._intake = settings_of_imports(self._deps.intake())
        source_ids = {click.link_source_id for click in clicks}
        keys = {id_: rules.key_of(self._account_id, self._import.source, id_) for id_ in source_ids}
        async with self._deps.db.read() as tx:
            known = await store.find_links(tx, self._account_id, list(keys.values()))
            existing = await batch.find_existing(tx, self._account_id, (link for link, _ in known.values()))
            first = from_microseconds(await find_kept_since(tx) * DAY)
        now, built = self._deps.clock(), {}
        for click in clicks:
            key = keys[click.link_source_id]
            link_id, _ = known.get(key, (None, ""))
            if link_id is None or link_id not in existing:
                done.warn("Clicks of links that are not here are left out")
            elif not EPOCH <= click.at <= now:
                done.warn("Clicks of times before 1970 or in the future are left out")
            elif click.at < first:
                done.warn("Clicks that are older than clicks are kept here are left out")
            else:
                new = build(click, key, link_id, self._account_id, equal, self._intake)
                built[new.id] = new
        return list(built.values())

    def _check_end(self, page: LinkPage) -> None:
        keys = {hash(link.source_id) for link in page.links}
        self._repeated_pages = self._repeated_pages + 1 if page.links and keys <= self._seen else 0
        if self._repeated_pages == _MAX_REPEATED_PAGES and page.next_cursor:
            raise SourceError("The source sends the same links again and again. Its list has no end.")

    async def _read(self, page: LinkPage, done: _LinkPage) -> list[Draft]:
        """Check the links of a page, and leave out what cannot be imported."""
        done.counts.found += len(page.refused)
        for row in page.refused:
            done.refuse(row.source_id, row.reason)
        for warning in page.warnings:
            done.warn(warning)
        self.hosts.update(link.address.hostname for link in page.links if link.address and link.address.hostname)
        accepted: list[tuple[SourceLink, Url]] = []
        for link in self._distinct(page, done):
            done.counts.found += 1
            try:
                url = await destinations.parse(self._deps, link.destination_url)
                done.totals[link.source_id] = link.clicks or 0
                accepted.append((link, url))
            except Refused as error:
                done.refuse(link.source_id, str(error))
        async with self._deps.db.read() as tx:
            own = await domains.find_custom_domains(tx, self._account_id, {url.host for _, url in accepted})
        fitted = await self._routing.fit([link for link, _ in accepted])
        drafts = []
        for link, url in accepted:
            try:
                drafts.append(self._draft(link, url, own, fitted.get(link.source_id, PLAIN), done))
            except Refused as error:
                done.refuse(link.source_id, str(error))
        await self._keeping_lease(self._routing.hash_passwords(drafts))
        return drafts

    def _distinct(self, page: LinkPage, done: _LinkPage) -> Iterator[SourceLink]:
        """Leave out what an earlier page had already: pages shift while links are added at the source."""
        for link in page.links:
            key = hash(link.source_id)
            if link.address and not link.address.path:
                domain = link.address.hostname or "the domain"
                done.warn(f"The root of {domain} is not imported: set the root URL of the domain here")
            elif key not in self._seen and key not in done.seen:
                done.seen.add(key)
                yield link

    def _draft(
        self, link: SourceLink, url: Url, own_domains: Collection[str], fitted: Fitted, done: _LinkPage
    ) -> Draft:
        if url.host in own_domains:
            raise Refused(LOOP)
        host = self._host(link.address, done) if link.address else self._shared
        now = self._deps.clock()
        reserved = self._deps.reserved
        if self._has_rows:
            link = replace(link, clicks=None)
        return rules.draft(
            self._account_id, link, url, host, link_id=new_id(), now=now, reserved=reserved, fitted=fitted
        )

    async def _find_hosts(self, tx: Tx) -> None:
        """Find the domains that hostnames of the source are mapped to."""
        mapping = {
            _canonical(theirs): _canonical(ours) for theirs, ours in self._import.options.get("domains", {}).items()
        }
        own = await domains.find_by_hostname(tx, self._account_id, set(mapping.values()))
        for theirs, ours in mapping.items():
            domain_id, is_served = own.get(ours, (None, True))
            self._hosts[theirs] = Host(domain_id, ours) if domain_id else self._shared
            if domain_id is None and ours != self._deps.shared_domain:
                text = f"{ours} is not a domain of this account: links of {theirs} go to {self._shared.hostname}."
                warn(self.warnings, f"{text} Register it and import again to move them")
            if not is_served:
                warn(self.warnings, f"{ours} is not verified yet: its links work once its DNS records are set")

    def _host(self, address: Address, done: _LinkPage) -> Host:
        theirs = None if address.hostname is None else _canonical(address.hostname)
        if host := self._hosts.get(theirs):
            return host
        links = f"Links of {theirs}" if theirs else "Links without a hostname"
        advice = "To keep their addresses, register the domain and map it"
        if theirs and is_of_vendor(theirs):
            advice = "Their old addresses stay at that service"
        done.warn(f"{links} go to {self._shared.hostname}. {advice}")
        return self._shared

    async def _store(self, tx: Tx, drafts: Sequence[Draft], done: _LinkPage) -> None:
        keys = {rules.key_of(self._account_id, self._import.source, draft.source.source_id): draft for draft in drafts}
        known = await store.find_links(tx, self._account_id, list(keys))
        existing = await batch.find_existing(tx, self._account_id, (link for link, _ in known.values()))
        new: dict[UUID, Draft] = {}
        changed: dict[UUID, tuple[Draft, UUID, list[str]]] = {}
        for key, draft in keys.items():
            link_id, digest = known.get(key, (None, ""))
            if link_id is None or link_id not in existing:
                new[key] = draft
            elif names := rules.changed_fields(digest, draft.digest):
                changed[key] = draft, link_id, names
            else:
                done.counts.unchanged += 1
        for draft in await self._routing.keep_edited(tx, changed):
            done.warn("Its routing was set here and is kept, without that of the source", draft.source.source_id)
        rows = {key: (link_id, draft.digest) for key, (draft, link_id, _) in changed.items()}
        added = await self._add(tx, list(new.values()), done)
        rows |= {key: (draft.link.id, draft.digest) for key, draft in new.items() if draft.link.id in added}
        saved = [Saved(draft.link, draft, rules.FIELDS) for draft in new.values() if draft.link.id in added]
        for draft, link_id, names in changed.values():
            saved.append(Saved(await self._change(tx, draft, link_id, names, done), draft, names))
        await store.save_links(tx, self._account_id, rows)
        await store.add_checks(tx, self._account_id, [link_id for link_id, _ in rows.values()])
        await self._save_extras(tx, saved, done)
        await link_store.record_route_changes(tx, done.changes, self._deps.clock())

    async def _add(self, tx: Tx, drafts: list[Draft], done: _LinkPage) -> set[UUID]:
        """Add new links. Return the ids of those that were not refused."""
        with_slug = [draft.link for draft in drafts if draft.link.slug]
        taken = await batch.reserve_slugs(tx, with_slug)
        displaced = [draft for draft in drafts if not draft.link.slug or draft.link.id in taken]
        refused = await self._find_conflicts(tx, displaced, taken, {link.id: link.domain_id for link in with_slug})
        for draft in refused:
            address = f"{draft.host.hostname}/{draft.path}"
            done.refuse(draft.source.source_id, f"{address} leads to another link here already.")
        kept = [draft for draft in displaced if draft not in refused]
        generated = await batch.generate_slugs(tx, [draft.link for draft in kept], self._deps.reserved)
        links = [draft.link for draft in drafts if draft.link.slug and draft.link.id not in taken] + generated
        by_id = {draft.link.id: draft for draft in drafts}
        for draft in kept:
            if draft.path and draft.host.domain_id is None:
                done.warn(
                    "The slug is taken or has unsupported characters: the link gets a generated one",
                    draft.source.source_id,
                )
        new_aliases = await self._free_aliases(tx, [(link, by_id[link.id]) for link in links], done)
        paths: dict[UUID, list[str]] = {}
        for alias in new_aliases:
            paths.setdefault(alias.link_id, []).append(alias.path)
        texts = {link_id: aliases.to_search_text(of_link) for link_id, of_link in paths.items()}
        await batch.add_all(tx, self._account_id, links, texts)
        await self._add_aliases(tx, new_aliases, done)
        done.counts.created += len(links)
        if self._is_dry_run and self._has_rows:
            done.counts.clicks += sum(done.totals[by_id[link.id].source.source_id] for link in links)
        done.changes += (link.slug for link in links)
        return {link.id for link in links}

    async def _find_conflicts(
        self,
        tx: Tx,
        displaced: Sequence[Draft],
        taken: Mapping[UUID, batch.SlugOwner],
        domain_of: dict[UUID, UUID | None],
    ) -> list[Draft]:
        """Return those whose address on a custom domain leads to another link already."""
        owners = {
            id_: link for id_, (account, link) in taken.items() if account == self._account_id and link is not None
        }
        domain_of |= await batch.find_existing(tx, self._account_id, owners.values())
        on_domains = [(draft, draft.host.domain_id) for draft in displaced if draft.host.domain_id]
        is_alias = await self._find_aliases(tx, ((domain_id, draft.path) for draft, domain_id in on_domains))
        conflicts = []
        for draft, domain_id in on_domains:
            owner = owners.get(draft.link.id)
            if (domain_id, draft.path) in is_alias or (owner and domain_of.get(owner) == domain_id):
                conflicts.append(draft)
            is_alias.add((domain_id, draft.path))
        return conflicts

    async def _find_aliases(self, tx: Tx, addresses: Iterable[tuple[UUID, str]]) -> set[tuple[UUID, str]]:
        """Return those (domain, path) that are aliases."""
        paths: dict[UUID, set[str]] = {}
        for domain_id, path in addresses:
            paths.setdefault(domain_id, set()).add(path)
        return {
            (domain_id, path)
            for domain_id, on_domain in paths.items()
            for path in await aliases.find_links(tx, domain_id, on_domain)
        }

    async def _free_aliases(
        self, tx: Tx, links: Sequence[tuple[Link, Draft]], done: _LinkPage, *, known: Collection[Alias] = ()
    ) -> list[Alias]:
        """Return the aliases that the links get besides their slugs: those that are free. `known`: what they have."""
        candidates = [
            (link, draft, domain_id, host.hostname, path)
            for link, draft in links
            for domain_id, host, path in self._addresses(draft, done)
            if (domain_id, path) != (link.domain_id, link.slug)
        ]
        taken = await self._find_aliases(tx, ((domain_id, path) for _, _, domain_id, _, path in candidates))
        own = {(alias.domain_id, alias.path) for alias in known}
        now = self._deps.clock()
        free = []
        for link, draft, domain_id, hostname, path in candidates:
            if (domain_id, path) in own:
                continue
            if (domain_id, path) in taken:
                done.warn("A further address leads to another link here already", draft.source.source_id)
                continue
            taken.add((domain_id, path))
            free.append(Alias(new_id(), self._account_id, link.id, domain_id, hostname, path, now))
        return free

    def _addresses(self, draft: Draft, done: _LinkPage) -> Iterator[tuple[UUID, Host, str]]:
        """Yield (domain, host, path) of the addresses on custom domains."""
        others = rules.other_addresses(draft.source, ignores_case=self._source.ignores_case)
        for address in [*([draft.source.address] if draft.source.address else ()), *others]:
            host = self._host(address, done)
            if host.domain_id is None:
                if address in draft.source.other_addresses:
                    done.warn("A further address is left out: its domain is not mapped", draft.source.source_id)
            elif problem := aliases.find_path_problem(address.path):
                done.warn(f"A further address is left out. {problem}", draft.source.source_id)
            else:
                yield host.domain_id, host, address.path

    async def _add_aliases(self, tx: Tx, new: Sequence[Alias], done: _LinkPage) -> None:
        await aliases.add_many(tx, new)
        done.counts.aliases += len(new)
        done.changes += {alias.hostname for alias in new}

    async def _change(self, tx: Tx, draft: Draft, link_id: UUID, names: Collection[str], done: _LinkPage) -> Link:
        before = await link_store.lock(tx, self._account_id, link_id)
        after = rules.apply_changes(before, draft.link, names, self._deps.clock())
        after = await self._routing.change(tx, before, after, draft, names)
        if before.domain_id != after.domain_id:
            await domains.change_links_count(tx, before.domain_id, after.domain_id)
        if replace(after, updated_at=before.updated_at) != before or ROUTING_FIELDS & set(names):
            await link_store.save(tx, before, after)
            done.changes.append(after.slug)
        if {"addresses", "domain_id"} & set(names):
            known = (await aliases.find_of_links(tx, [link_id])).get(link_id, [])
            await self._add_aliases(tx, await self._free_aliases(tx, [(after, draft)], done, known=known), done)
            await link_store.save_search_text(tx, after)
        done.counts.updated += 1
        return after

    async def _save_extras(self, tx: Tx, saved: Sequence[Saved], done: _LinkPage) -> None:
        """Store what is no field of the link."""
        clicks = {
            link.id: draft.source.clicks or 0
            for link, draft, names in saved
            if "clicks" in names and (draft.source.clicks or len(names) < len(rules.FIELDS))
        }
        await batch.set_imported_clicks(tx, self._account_id, clicks)
        await self._routing.save(tx, saved)
        for _, draft, _ in saved:
            for text in rules.warnings_about(draft):
                done.warn(text, draft.source.source_id)


def _with_clicks(page: LinkPage) -> list[str]:
    return list(dict.fromkeys(link.source_id for link in page.links if link.clicks != 0))


async def _or_none(page: Awaitable[ClickPage]) -> ClickPage:
    """A link may be deleted at the source while its clicks are read."""
    try:
        return await page
    except NotThere:
        return ClickPage((), None)


def _check_moves(at: str | None, page: ClickPage) -> None:
    if page.next_cursor is not None and page.next_cursor == at:
        raise SourceError("The source sends the same clicks again and again. Its list has no end.")
