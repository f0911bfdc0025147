"""Decides what becomes of the links of a page. `saving` writes it."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from waypost.database import Tx
from waypost.kit.ids import new_id
from waypost.kit.urls import BadUrl, Url
from waypost.outbound import NotPublic
from waypost.resources import domains, links
from waypost.resources.imports import rules, store
from waypost.resources.imports.archive.target import TargetAccount
from waypost.resources.imports.deps import Deps
from waypost.resources.imports.fitting import NO_ARCHIVED_PASSWORD, CheckedUrls, fit, urls_of
from waypost.resources.imports.hosts import Hosts
from waypost.resources.imports.model import Import
from waypost.resources.imports.page_plan import PageReport
from waypost.resources.imports.report import Counts
from waypost.resources.imports.rules import Draft, Refused
from waypost.resources.imports.source import LinkPage, Source, SourceError, SourceLink
from waypost.resources.links import Link, aliases, routing
from waypost.resources.links import store as link_store
from waypost.resources.links.aliases import Alias
from waypost.resources.links.rules import LOOP, NOT_PUBLIC, UNSAFE

_MOVED = "The slug is taken: the link has another one"
_MAX_REPEATED_PAGES = 3
"""In a row, without any link that is new in this run: then the list has no end."""


@dataclass(frozen=True, slots=True)
class ChangedDraft:
    before: Link
    draft: Draft
    names: Collection[str]
    """Those of `rules.FIELDS` that changed at the source."""


@dataclass(frozen=True, slots=True)
class Decision:
    new: Sequence[Draft]
    """One whose slug is empty gets a generated slug."""
    changed: Sequence[ChangedDraft]
    unchanged: Sequence[UUID]
    aliases: Sequence[Alias]
    done: PageReport
    """What it counts and reports."""


class Decider:
    def __init__(
        self,
        deps: Deps,
        source: Source,
        import_: Import,
        hosts: Hosts | TargetAccount,
        *,
        has_rows: bool,
    ) -> None:
        """`has_rows`: the clicks of links are imported with their times, so their totals are not kept."""
        self._deps = deps
        self._import = import_
        self._account_id = import_.account_id
        self._ignores_case = source.ignores_case
        self._has_rows = has_rows
        self._hosts = hosts
        self._seen: set[int] = set()
        """Hashes of the ids of links in earlier pages."""
        self._repeated_pages = 0

    async def read(self, page: LinkPage, done: PageReport) -> list[Draft]:
        """Check the links of a page, and leave out what cannot be imported. Raises SourceError."""
        self._check_end(page)
        done.counts.found += len(page.refused)
        for row in page.refused:
            done.refuse(row.source_id, row.reason)
        for warning in page.warnings:
            done.warn(warning)
        links = list(self._distinct(page, done))
        done.counts.found += len(links)
        urls = await self._check_urls({url for link in links for url in (link.destination_url, *urls_of(link))})
        drafts = []
        for link in links:
            try:
                drafts.append(self._draft(link, urls, done))
            except Refused as error:
                done.refuse(link.source_id, str(error), link.place)
        return drafts

    async def _check_urls(self, texts: Collection[str]) -> CheckedUrls:
        """Check destinations as the API does, except for a visit."""
        deps, urls, refused = self._deps, dict[str, Url](), dict[str, str]()
        checker, own_hosts = deps.destination_checker, (deps.shared_domain, deps.base_url.partition("://")[2])
        for text in texts:
            try:
                urls[text] = rules.destination(text, own_hosts=own_hosts, private=deps.outbound.names)
                await checker.check_ip(urls[text])
            except Refused as error:
                refused[text] = str(error)
            except NotPublic:
                refused[text] = NOT_PUBLIC
        async with deps.db.read() as tx:
            own = await domains.find_custom_domains(tx, self._account_id, {url.host for url in urls.values()})
        unsafe = await checker.find_unsafe({*urls.values()})
        refused |= {text: UNSAFE for text, url in urls.items() if url in unsafe}
        refused |= {text: LOOP for text, url in urls.items() if url.host in own}
        return urls | refused

    def _check_end(self, page: LinkPage) -> None:
        keys = {hash(link.source_id) for link in page.links}
        self._repeated_pages = self._repeated_pages + 1 if page.links and keys <= self._seen else 0
        if self._repeated_pages == _MAX_REPEATED_PAGES and page.next_cursor:
            raise SourceError("The source sends the same links again and again. Its list has no end.")

    def _distinct(self, page: LinkPage, done: PageReport) -> Iterator[SourceLink]:
        """Leave out what an earlier page had already: pages shift while links are added at the source.

        What is not the same, or in a file, is refused: it is another link.
        """
        of_page: dict[int, SourceLink] = {}
        for link in page.links:
            key = hash(link.source_id)
            if link.address and not link.address.path:
                domain = link.address.hostname or "the domain"
                done.warn(f"The root of {domain} is not imported: set the root URL of the domain on its page")
            elif key not in self._seen:
                self._seen.add(key)
                of_page[key] = link
                yield link
            elif page.is_of_file or of_page.get(key, link) != link:
                done.counts.found += 1
                done.refuse(link.source_id, "The source has another link of the same address or id.", link.place)

    def _draft(self, link: SourceLink, urls: CheckedUrls, done: PageReport) -> Draft:
        url = urls[link.destination_url]
        if isinstance(url, str):
            raise Refused(url)
        draft = rules.draft(
            self._account_id,
            replace(link, clicks=None) if self._has_rows and not link.archived else link,
            url,
            self._hosts.get(link.address.hostname, done) if link.address else self._hosts.shared,
            key=rules.key_of(self._account_id, self._import.source, link.source_id),
            link_id=link.archived.row.id if link.archived else new_id(),
            now=self._deps.clock(),
            reserved=self._deps.reserved,
            fitted=fit(link, urls, has_rows=self._has_rows),
            pixels=self._hosts.pixels,
        )
        if (template := self._import.options.get("utm_params")) and not link.archived:
            draft = replace(draft, link=rules.with_template(draft.link, template))
        if draft.link.og_image:
            try:
                self._deps.destination_checker.canonical(draft.link.og_image)
            except BadUrl as error:
                done.warn(f"The preview image is left out. {error}", draft.example)
                draft = replace(draft, link=replace(draft.link, og_image=None))
        return draft

    async def decide(self, tx: Tx, drafts: Sequence[Draft]) -> Decision:
        """Compare the drafts with what is here."""
        known = await store.find_links(tx, self._account_id, [draft.key for draft in drafts])
        existing = await link_store.find_domains(tx, self._account_id, (link for link, _ in known.values()))
        new: list[Draft] = []
        differing: dict[UUID, tuple[Draft, Collection[str]]] = {}
        unchanged: list[UUID] = []
        for draft in drafts:
            link_id, digest = known.get(draft.key, (None, ""))
            if link_id is None or (link_id not in existing and not draft.source.archived):
                new.append(draft)
            elif link_id in existing and (fields := rules.changed_fields(digest, draft)):
                differing[link_id] = draft, fields
            else:  # or a link of an archive that was deleted here
                unchanged.append(link_id)
        done = PageReport(Counts(unchanged=len(unchanged)))
        here = await link_store.find_own(tx, self._account_id, differing)
        stored = await routing.find_of_links(tx, [id_ for id_, (draft, _) in differing.items() if draft.is_protected])
        changed = []
        for id_, (draft, names) in differing.items():
            if draft.is_protected and not (id_ in stored and stored[id_].password_hash):
                changed.append(ChangedDraft(here[id_], _protected(draft, done), [*names, "is_enabled"]))
            else:
                changed.append(ChangedDraft(here[id_], draft, names))
        placed = await self._place(tx, await self._with_free_ids(tx, new), done)
        placed = [_protected(draft, done) if draft.is_protected else draft for draft in placed]
        placed, changed = await self._with_free_external_ids(tx, placed, changed, done)
        free = await self._find_free_aliases(tx, placed, changed, done)
        done.counts.created, done.counts.updated, done.counts.aliases = len(placed), len(changed), len(free)
        counted = [*placed, *(change.draft for change in changed if "clicks" in change.names)]
        done.counts.imported_clicks = sum(draft.source.clicks or 0 for draft in counted)
        for draft in (*placed, *(change.draft for change in changed)):
            for text in rules.warnings_about(draft):
                done.warn(text, draft.example)
        return Decision(placed, changed, unchanged, free, done)

    async def _with_free_ids(self, tx: Tx, new: Sequence[Draft]) -> list[Draft]:
        """Links of an archive keep their ids, unless these are in use in this installation."""
        in_use = await links.find_accounts(tx, (draft.link.id for draft in new if draft.source.archived))
        return [
            replace(draft, link=replace(draft.link, id=new_id())) if draft.link.id in in_use else draft for draft in new
        ]

    async def _with_free_external_ids(
        self, tx: Tx, new: Sequence[Draft], changed: Sequence[ChangedDraft], done: PageReport
    ) -> tuple[list[Draft], list[ChangedDraft]]:
        """Leave out the external IDs that another link has: one here, or one before it on the page."""
        ids = [draft.link.external_id for draft in (*new, *(change.draft for change in changed))]
        link_of = await link_store.find_external(tx, self._account_id, ids)

        def freed(draft: Draft, link_id: UUID, kept: str | None) -> Draft:
            external_id = draft.link.external_id
            if external_id is None:
                if not draft.source.external_id:
                    return draft  # else it is not valid, which `warnings_about` says
            elif link_of.setdefault(external_id, link_id) == link_id:
                return draft
            else:
                done.warn("The external ID is left out: another link has it", draft.example)
            return replace(draft, link=replace(draft.link, external_id=kept))

        return [freed(draft, draft.link.id, None) for draft in new], [
            replace(change, draft=freed(change.draft, change.before.id, change.before.external_id))
            if {"external_id", "archived"} & set(change.names)
            else change
            for change in changed
        ]

    async def _place(self, tx: Tx, drafts: Sequence[Draft], done: PageReport) -> list[Draft]:
        """Take the slug from those whose slug is not free. Refuse those whose address leads to another link."""
        account_id = self._account_id
        owners = await link_store.find_slug_owners(tx, (draft.link.slug for draft in drafts if draft.link.slug))
        own = (link for account, link in owners.values() if account == account_id and link)
        domain_of = await link_store.find_domains(tx, account_id, own)
        addresses = [(draft.host.domain_id, draft.path) for draft in drafts if draft.host.domain_id]
        is_alias = {*await aliases.find_links(tx, addresses)}
        placed = []
        for draft in drafts:
            slug, domain_id = draft.link.slug, draft.host.domain_id
            account, owner = owners.get(slug, (account_id, None))
            if slug and account == account_id and owner is None:
                owners[slug], domain_of[draft.link.id] = (account_id, draft.link.id), domain_id
                placed.append(draft)
                continue
            if draft.source.archived:
                is_kept = domain_id and not aliases.find_path_problem(draft.path)
                done.warn(f"{_MOVED}, and its address as an alias" if is_kept else _MOVED, draft.example)
            elif domain_id:
                if (domain_id, draft.path) in is_alias or (owner and domain_of.get(owner) == domain_id):
                    address = f"{draft.host.hostname}/{draft.path}"
                    reason = f"{address} leads to another link already."
                    done.refuse(draft.source.source_id, reason, draft.source.place)
                    continue
                is_alias.add((domain_id, draft.path))
            elif draft.path:
                text = "The slug is taken or has unsupported characters: the link gets a generated one"
                done.warn(text, draft.source.source_id)
            placed.append(replace(draft, link=replace(draft.link, slug="")))
        return placed

    async def _find_free_aliases(
        self, tx: Tx, new: Sequence[Draft], changed: Sequence[ChangedDraft], done: PageReport
    ) -> list[Alias]:
        """Return the aliases that the links get besides their slugs: those that are free."""
        linked = [(draft, draft.link) for draft in new]
        linked += (
            (change.draft, rules.apply_changes(change.before, change.draft.link, change.names))
            for change in changed
            if {"addresses", "domain_id"} & set(change.names)
        )
        candidates = [(alias, draft) for draft, link in linked for alias in self._aliases(draft, link, done)]
        link_of = await aliases.find_links(tx, [(alias.domain_id, alias.path) for alias, _ in candidates])
        free = dict[Alias, Draft]()
        for alias, draft in candidates:
            address = alias.domain_id, alias.path
            if address not in link_of:
                link_of[address] = alias.link_id
                free[alias] = draft
            elif link_of[address] != alias.link_id and draft.source.archived:
                done.warn("An alias leads to another link already", f"{alias.hostname}/{alias.path}")
            elif link_of[address] != alias.link_id:
                done.warn("A further address leads to another link already", draft.source.source_id)
        within, beyond = await aliases.split_by_limit(tx, list(free))
        for alias in beyond:
            done.warn(rules.TOO_MANY_ALIASES, free[alias].source.source_id)
        return within

    def _aliases(self, draft: Draft, link: Link, done: PageReport) -> Iterator[Alias]:
        """Yield an alias for each address on a custom domain that is not the link's own one."""
        source, at = draft.source, draft.link.created_at if draft.source.archived else self._deps.clock()
        others = rules.other_addresses(source, ignores_case=self._ignores_case)
        for address in [*([source.address] if source.address else ()), *others]:
            host = self._hosts.get(address.hostname, done)
            if host.domain_id is None:
                if address in source.other_addresses:
                    done.warn("A further address is left out: its domain is not mapped", source.source_id)
            elif problem := aliases.find_path_problem(address.path):
                if not source.archived:
                    done.warn(f"A further address is left out. {problem}", source.source_id)
            elif (host.domain_id, address.path) != (link.domain_id, link.slug):
                yield Alias(new_id(), self._account_id, link.id, host.domain_id, host.hostname, address.path, at)


def _protected(draft: Draft, done: PageReport) -> Draft:
    """Disable a link whose visitors would see what they must not."""
    done.warn(NO_ARCHIVED_PASSWORD, draft.example)
    return replace(draft, link=replace(draft.link, is_enabled=False))
