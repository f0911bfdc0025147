"""Imports the links of another service. Importing a link again changes only what changed there."""

from collections.abc import Awaitable, Sequence
from contextlib import suppress
from typing import cast

from waypost.kit.clock import DAY, EPOCH, from_microseconds
from waypost.kit.errors import Unavailable
from waypost.resources.clicks.days import find_kept_since
from waypost.resources.clicks.intake.steps import IntakeSettings
from waypost.resources.clicks.model import Click
from waypost.resources.imports import rules, saving, store
from waypost.resources.imports.clicks import EqualClicks, build, settings_of_imports
from waypost.resources.imports.decisions import Decider
from waypost.resources.imports.deps import Deps
from waypost.resources.imports.model import Import
from waypost.resources.imports.routing.importing import RoutingImport
from waypost.resources.imports.rules import Draft
from waypost.resources.imports.run import Cursor, ImportRun, Page
from waypost.resources.imports.source import (
    ClickPage,
    HasClicks,
    HasClicksOfLinks,
    LinkPage,
    NotThere,
    Source,
    SourceClick,
    SourceError,
)
from waypost.resources.links import batch

_CLICKS_PER_STEP = 2_000
_MAX_REQUESTS = 50
"""For clicks, per step."""
_MAX_DECISIONS = 20
"""Of one page. Each of them but the last one was outdated by what others did at the same moment."""


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
        with_clicks = bool(import_.options.get("clicks")) and not is_dry_run
        self._clicks_of_links = (
            cast(HasClicksOfLinks, source) if with_clicks and hasattr(source, "clicks_of_link") else None
        )
        self._all_clicks = cast(HasClicks, source) if with_clicks and hasattr(source, "click_page") else None
        self._has_rows = bool(import_.options.get("clicks")) and (
            hasattr(source, "clicks_of_link") or hasattr(source, "click_page")
        )
        self._routing = RoutingImport(deps, self._account_id, has_rows=self._has_rows)
        self._decider = Decider(deps, source, import_, self._routing, has_rows=self._has_rows)
        self._page_links: list[str] | None = None
        """In the phase `link_clicks`."""
        self._intake: IntakeSettings | None = None

    async def _check(self) -> None:
        await self._source.check()
        done = Page()
        await self._decider.find_hosts(done)
        if self._import.options.get("clicks") and not self._has_rows:
            done.warn("The source has no clicks with their times: totals are kept apart from the statistics")
        self.warnings |= done.warnings

    async def _step(self) -> None:
        steps = {
            "links": self._import_links,
            "link_clicks": self._import_clicks_of_links,
            "clicks": self._import_clicks,
        }
        await steps[self._cursor["phase"]]()

    async def _import_links(self) -> None:
        page, done = await self._keeping_lease(self._source.link_page(self._cursor["at"])), Page()
        self.hosts.update(link.address.hostname for link in page.links if link.address and link.address.hostname)
        drafts = await self._decider.read(page, done)
        cursor = self._after_links(page.next_cursor)
        if self._clicks_of_links:
            cursor = {"phase": "link_clicks", "page": self._cursor["at"], "next": page.next_cursor}
            self._page_links = _with_clicks(page)
        for _ in range(_MAX_DECISIONS):
            with suppress(saving.Outdated):
                return await self._decide(drafts, page, done, cursor)
        raise Unavailable("Others change the same slugs at the moment. Run the import again: it continues.")

    async def _decide(self, drafts: Sequence[Draft], page: LinkPage, done: Page, cursor: Cursor) -> None:
        """Decide and save. The transaction that writes is short, because the decision is made before it.

        Raises Outdated.
        """
        async with self._deps.db.read() as tx:
            decision = await self._decider.decide(tx, drafts)
        if not self._is_dry_run:
            routed = [change.draft for change in decision.changed if "routing" in change.names]
            await self._keeping_lease(self._routing.hash_passwords([*decision.new, *routed]))
        async with self._write(done, cursor, page.total) as tx:
            if not self._is_dry_run:
                done.changes += await saving.save(tx, self._deps, self._import, decision, self._routing)
            elif self._has_rows:
                totals = {link.source_id: link.clicks or 0 for link in page.links}
                done.counts.clicks += sum(totals[draft.source.source_id] for draft in decision.new)
            done.add(decision.done)

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
