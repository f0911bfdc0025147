"""Reads the clicks of a source a page at a time. While one page is stored, the next one is read and built."""

import asyncio
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass
from typing import cast

from waypost.kit.clock import DAY, EPOCH, from_microseconds
from waypost.resources.clicks.days import find_kept_since
from waypost.resources.clicks.intake.build import IntakeSettings
from waypost.resources.clicks.model import Click
from waypost.resources.imports import rules, store
from waypost.resources.imports.clicks import EqualClicks, build, plan_clicks, settings_of_imports
from waypost.resources.imports.deps import Deps
from waypost.resources.imports.model import Import
from waypost.resources.imports.page_plan import Cursor, PagePlan, PageReport, Progress
from waypost.resources.imports.rules import Draft
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
from waypost.resources.links import store as link_store

_PHASES = ("link_clicks", "clicks")

_CLICKS_PER_PAGE = 2_000
_MAX_REQUESTS = 50
"""For the clicks of links, per page."""


@dataclass(frozen=True, slots=True)
class BuiltPage:
    clicks: Sequence[Click]
    done: PageReport
    following: Cursor


class ClickPages:
    """In the phase `link_clicks` it reads the clicks of the links of one page, in `clicks` those of all links.

    The cursor of the first one has also `page`, that of the page of links, `next`, that of the next one, and `link`,
    the link whose clicks are read. `equal`: see `EqualClicks`.
    """

    def __init__(self, deps: Deps, source: Source, import_: Import) -> None:
        self._deps = deps
        self._import = import_
        self._source = source
        is_read = bool(import_.options.get("clicks"))
        self._of_links = cast(HasClicksOfLinks, source) if is_read and hasattr(source, "clicks_of_link") else None
        self._all = cast(HasClicks, source) if is_read and hasattr(source, "click_page") else None
        self.has_rows = bool(self._of_links or self._all)
        """Whether the source lists clicks with their times, and they are imported, too."""
        self._links: tuple[str | None, list[str]] | None = None
        """The cursor of a page of links, and those of them that have clicks."""
        self._intake: IntakeSettings | None = None
        self._ahead: asyncio.Task[BuiltPage] | None = None

    def follow(self, plan: PagePlan, page: LinkPage, new: Sequence[Draft], progress: Progress) -> None:
        """Say what follows a page of links, and how many clicks the source has of its new ones."""
        if self.has_rows:
            totals = {link.source_id: link.clicks or 0 for link in page.links}
            plan.expected_clicks = sum(totals[draft.source.source_id] for draft in new)
        if self._of_links:
            at = progress.cursor["at"]
            self._links = at, _with_clicks(page)
            plan.following = {"phase": "link_clicks", "page": at, "next": page.next_cursor}
        else:
            plan.following = self._next_links(page.next_cursor)

    def next_planned(self, following: Cursor) -> Cursor:
        if following["phase"] == "link_clicks":
            following = self._next_links(following["next"])
        return {"phase": "end", "at": None} if following["phase"] == "clicks" else following

    def count_done(self, _: Cursor) -> tuple[int, int]:
        return 0, 0  # sources do not say how many there are

    async def plan(self, cursor: Cursor) -> PagePlan:
        """Raises SourceError. While the page is stored, the next one is read."""
        ahead, self._ahead = self._ahead, None
        page = await (ahead or self._read(cursor))
        if page.following["phase"] in _PHASES:
            self._ahead = asyncio.create_task(self._read(page.following))
        token = f"import {self._import.id} {rules.short_digest(cursor)}"
        plan = PagePlan(page.following, page.done)
        return plan_clicks(plan, self._deps.db, self._deps.click_writer, page.clicks, token)

    async def close(self) -> None:
        if self._ahead:
            self._ahead.cancel()
            await asyncio.gather(self._ahead, return_exceptions=True)  # it is read again when the import continues

    async def _read(self, cursor: Cursor) -> BuiltPage:
        read = self._read_of_links if cursor["phase"] == "link_clicks" else self._read_all
        done, equal = PageReport(), EqualClicks.from_json(cursor.get("equal"))
        clicks, following = await read(cursor, done)
        built = await self._build(clicks, equal, done)
        return BuiltPage(built, done, {**following, "equal": equal.to_json()})

    async def _read_of_links(self, cursor: Cursor, done: PageReport) -> tuple[Sequence[SourceClick], Cursor]:
        """Read clicks of several links, until there are enough for a transaction."""
        assert self._of_links  # noqa: S101  # only then there is this phase
        if self._links is None or self._links[0] != cursor["page"]:  # it was killed, and continues
            self._links = cursor["page"], _with_clicks(await self._source.link_page(cursor["page"]))
        ids, at = self._links[1], cursor.get("at")
        index = ids.index(cursor["link"]) if cursor.get("link") in ids else 0
        clicks: list[SourceClick] = []
        for _ in range(_MAX_REQUESTS):
            if index == len(ids) or len(clicks) >= _CLICKS_PER_PAGE:
                break
            page = await _or_none(self._of_links.clicks_of_link(ids[index], at))
            clicks += page.clicks
            _report(page, done)
            _check_moves(at, page)
            at = page.next_cursor
            index += at is None
        if index == len(ids):
            return clicks, self._next_links(cursor["next"])
        return clicks, {**cursor, "link": ids[index], "at": at}

    async def _read_all(self, cursor: Cursor, done: PageReport) -> tuple[Sequence[SourceClick], Cursor]:
        assert self._all  # noqa: S101  # only then there is this phase
        page = await self._all.click_page(cursor["at"])
        _report(page, done)
        _check_moves(cursor["at"], page)
        return page.clicks, {"phase": "clicks" if page.next_cursor else "end", "at": page.next_cursor}

    def _next_links(self, next_page: str | None) -> Cursor:
        if next_page is not None:
            return {"phase": "links", "at": next_page}
        return {"phase": "clicks" if self._all else "end", "at": None}

    async def _build(self, clicks: Sequence[SourceClick], equal: EqualClicks, done: PageReport) -> list[Click]:
        """Leave out clicks of links that are not here, and those that are not kept."""
        if self._intake is None:
            self._intake = settings_of_imports(self._deps.intake())
        account_id, source_ids = self._import.account_id, {click.link_source_id for click in clicks}
        keys = {id_: rules.key_of(account_id, self._import.source, id_) for id_ in source_ids}
        async with self._deps.db.read() as tx:
            known = await store.find_links(tx, account_id, list(keys.values()))
            existing = await link_store.find_domains(tx, account_id, (link for link, _ in known.values()))
            first = from_microseconds(await find_kept_since(tx) * DAY)
        now, built = self._deps.clock(), {}
        for click in clicks:
            key = keys[click.link_source_id]
            link_id, _ = known.get(key, (None, ""))
            if link_id is None or link_id not in existing:
                done.warn("Clicks of links that were not imported are left out")
            elif not EPOCH <= click.at <= now:
                done.warn("Clicks of times before 1970 or in the future are left out")
            elif click.at < first:
                done.warn("Clicks from before the retention period are left out")
            else:
                new = build(click, key, link_id, account_id, equal, self._intake)
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


def _report(page: ClickPage, done: PageReport) -> None:
    for warning in page.warnings:
        done.warn(warning)
    if page.unreadable:
        done.warn("Clicks that cannot be read, or have no time, are left out")


def _check_moves(at: str | None, page: ClickPage) -> None:
    if page.next_cursor is not None and page.next_cursor == at:
        raise SourceError("The source sends the same clicks again and again. Its list has no end.")
