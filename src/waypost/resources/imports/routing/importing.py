"""Stores the routing of imported links. Like other fields, it changes only when it has changed at the source."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple
from uuid import UUID

from waypost import accounts
from waypost.database import Tx
from waypost.kit.clock import EPOCH
from waypost.kit.urls import Url
from waypost.resources import domains, links
from waypost.resources.imports import destinations, rules
from waypost.resources.imports.deps import Deps
from waypost.resources.imports.fitting import PLAIN, CheckedUrls, Fitted, fit, urls_of
from waypost.resources.imports.rules import Draft, Refused
from waypost.resources.imports.source import SourceLink
from waypost.resources.links import Link, routing
from waypost.resources.links.routing import LinkRouting
from waypost.resources.links.rules import LOOP

FIELDS = frozenset({"routing", "click_limit"})
"""Of `rules.FIELDS`."""


class Saved(NamedTuple):
    """A link that has been added or changed."""

    link: Link
    draft: Draft
    names: Collection[str]
    """Those of `rules.FIELDS` that changed at the source; `rules.FIELDS` itself for a new link."""


class RoutingImport:
    """Of one import: `fit` the links of a page, `hash_passwords` of those to save, then `change` and `save` them."""

    def __init__(self, deps: Deps, account_id: UUID, *, has_rows: bool) -> None:
        """`has_rows`: the clicks of links are imported with their times."""
        self._deps = deps
        self._account_id = account_id
        self._has_rows = has_rows
        self._hashes: dict[UUID, str] = {}
        """Of passwords, by key of the draft."""

    async def fit(self, links_of_page: Sequence[SourceLink]) -> Mapping[str, Fitted]:
        """Return what links can have of their routing, by source id, without those that have none."""
        urls = await self._check_urls({url for link in links_of_page for url in urls_of(link)})
        fitted = ((link.source_id, fit(link, urls, has_rows=self._has_rows)) for link in links_of_page)
        return {source_id: each for source_id, each in fitted if each is not PLAIN}

    async def _check_urls(self, texts: Collection[str]) -> CheckedUrls:
        checked: dict[str, Url | str] = {}
        for text in texts:
            try:
                checked[text] = await destinations.parse(self._deps, text)
            except Refused as error:
                checked[text] = str(error)
        hosts = {url.host for url in checked.values() if isinstance(url, Url)}
        if hosts:
            async with self._deps.db.read() as tx:
                own = await domains.find_custom_domains(tx, self._account_id, hosts)
            checked |= {text: LOOP for text, url in checked.items() if isinstance(url, Url) and url.host in own}
        return checked

    async def hash_passwords(self, drafts: Sequence[Draft]) -> None:
        """Call this before `save`: each takes some milliseconds of a processor."""
        client = accounts.SignInClient(self._account_id.bytes, is_known=True)
        self._hashes = {
            draft.key: await accounts.hash_password(draft.fitted.password, client)
            for draft in drafts
            if draft.fitted.password
        }

    async def change(self, tx: Tx, link: Link, draft: Draft, names: Collection[str]) -> Link:
        """Return the link with the start and click limit of the draft, as far as they changed."""
        if "routing" in names:
            link = replace(link, starts_at=draft.fitted.starts_at)
        if "click_limit" in names:
            limit = draft.fitted.click_limit
            counted = 0 if self._has_rows or limit is None else await links.find_clicks(tx, link.id)
            link = replace(link, click_limit=None if limit is None else limit + counted)
        return link

    async def save(self, tx: Tx, saved: Sequence[Saved]) -> None:
        """The links are stored and locked."""
        routed = [each for each in saved if FIELDS & {*each.names} and not self._is_new_and_plain(each)]
        before = await routing.find_of_links(tx, [each.link.id for each in routed])
        stored = {each.link.id: self._routing_of(each, before.get(each.link.id)) for each in routed}
        await routing.add_many(tx, [each for each in stored.values() if each])
        await routing.delete_of_links(tx, [id_ for id_, each in stored.items() if not each])

    @staticmethod
    def _is_new_and_plain(saved: Saved) -> bool:
        return saved.names is rules.FIELDS and saved.draft.fitted.is_plain

    def _routing_of(self, saved: Saved, before: LinkRouting | None) -> LinkRouting | None:
        """Return None for a link without any."""
        link, fitted, now = saved.link, saved.draft.fitted, self._deps.clock()
        after = replace(before, updated_at=now) if before else LinkRouting(link.id, self._account_id, now, EPOCH)
        if "routing" in saved.names:
            # checked_at: the next check for unsafe URLs includes them
            at = fitted.updated_at or now
            after = LinkRouting(
                link.id, self._account_id, at, EPOCH, fitted.rules, fitted.variants, fitted.fallback_url
            )
            if before:
                after = replace(after, unsafe_urls=sorted(after.destinations.intersection(before.unsafe_urls)))
            if fitted.password:
                after = after.with_password(self._hashes[saved.draft.key], before)
            elif before and (fitted.lacks_password or saved.draft.source.archived):  # one that was set here
                after = replace(after, password_hash=before.password_hash, password_version=before.password_version)
        return after if after.destinations or after.password_hash or link.starts_at or link.click_limit else None
