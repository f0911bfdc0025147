"""The files of an archive after its links. Each adds what is not here yet, and leaves what is."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from functools import partial
from typing import Any

from waypost.database import Tx
from waypost.resources.imports.archive import aliases, clicks, extras, images, logos
from waypost.resources.imports.archive.images import ArchivedImage
from waypost.resources.imports.archive.reader import Archive
from waypost.resources.imports.archive.rows import Rows
from waypost.resources.imports.archive.target import TargetAccount
from waypost.resources.imports.page_plan import Cursor, PagePlan, PageReport, Progress
from waypost.resources.imports.rules import Draft
from waypost.resources.imports.source import LinkPage
from waypost.resources.links.images.encoder import ImageReencoder

_ROWS_AT_ONCE, _DOMAINS_AT_ONCE, _CLICKS_AT_ONCE, _DAYS_AT_ONCE = 500, 10, 5_000, 100
_ALIASES, _CLICKS, _IMAGES = "aliases.ndjson", "clicks.ndjson", "images.tar"

_Plan = Callable[[TargetAccount, Any, PagePlan], Awaitable[None]]
_Add = Callable[[TargetAccount, Rows, PageReport, Tx], Awaitable[None]]


class ArchiveParts:
    """Phases are the files, in the order in which they are read; `at`: rows of it that are done."""

    has_rows = True

    def __init__(self, archive: Archive, account: TargetAccount) -> None:
        self._archive = archive
        self._account = account
        self._images: AsyncGenerator[ArchivedImage, None] | None = None
        self._reencoder: ImageReencoder | None = None
        self._refused: set[str] = set()
        """Ids of links that this process has refused."""
        self._parts: dict[str, tuple[_Plan, int]] = {
            _ALIASES: (partial(aliases.plan, refused=self._refused), _ROWS_AT_ONCE),
            "tags.ndjson": (_adding(extras.add_tags), _ROWS_AT_ONCE),
            "app_links.ndjson": (_adding(extras.add_app_links), _DOMAINS_AT_ONCE),
            "domain_options.ndjson": (_adding(extras.add_domain_options), _ROWS_AT_ONCE),
            "domain_appearances.ndjson": (_adding(extras.add_domain_appearances), _ROWS_AT_ONCE),
            "logos.ndjson": (logos.plan, _DOMAINS_AT_ONCE),
            "deleted_links.ndjson": (_adding(extras.add_deleted_links), _ROWS_AT_ONCE),
            "qr_styles.ndjson": (_adding(extras.add_styles), _ROWS_AT_ONCE),
            _CLICKS: (clicks.plan, _CLICKS_AT_ONCE),
            _IMAGES: (self._plan_image, 1),
            "old_statistics.ndjson": (_adding(clicks.add_old_statistics), _DAYS_AT_ONCE),
        }
        self._phases = [*self._parts, "end"]

    def follow(self, plan: PagePlan, page: LinkPage, _: Sequence[Draft], progress: Progress) -> None:
        self._refused |= {row.source_id for row in plan.done.refused}
        if page.next_cursor is not None:
            plan.following = {"phase": "links", "at": page.next_cursor}
            return
        plan.following = {"phase": _ALIASES, "at": None}
        if not (progress.counts.updated or progress.counts.unchanged):
            plan.expected_clicks = self._archive.count_rows(_CLICKS)

    def next_planned(self, following: Cursor) -> Cursor:
        return following if following["phase"] in {"links", _ALIASES} else {"phase": "end", "at": None}

    def count_done(self, cursor: Cursor) -> tuple[int, int]:
        """Count clicks: the rest is quick."""
        total, phase = self._archive.count_rows(_CLICKS), cursor["phase"]
        if phase == _CLICKS:
            return cursor["at"] or 0, total
        is_done = phase in self._phases[self._phases.index(_CLICKS) :]
        return total if is_done else 0, total

    async def plan(self, cursor: Cursor) -> PagePlan:
        """Raises BadArchive."""
        name, at = cursor["phase"], cursor["at"] or 0
        plan_rows, size = self._parts[name]
        rows = await (self._read_image(at) if name == _IMAGES else self._archive.read_batch(name, size, at))
        if not rows:
            return PagePlan({"phase": self._phases[self._phases.index(name) + 1], "at": None})
        plan = PagePlan({"phase": name, "at": at + len(rows)})
        await plan_rows(self._account, rows, plan)
        return plan

    async def close(self) -> None:
        await self._archive.stop_reading()
        if self._images:
            await self._images.aclose()
        if self._reencoder:
            self._reencoder.close()

    async def _read_image(self, at: int) -> list[ArchivedImage]:
        """Each image is a page."""
        if self._images is None:
            self._images = images.read_images(self._account, self._archive, at)
        image = await anext(self._images, None)
        return [image] if image else []

    async def _plan_image(self, account: TargetAccount, read: Sequence[ArchivedImage], plan: PagePlan) -> None:
        self._reencoder = self._reencoder or ImageReencoder()
        images.plan(account, read[0], self._reencoder, plan)


def _adding(add: _Add) -> _Plan:
    """Nothing of these rows is known before the transaction."""

    async def plan(account: TargetAccount, rows: Rows, page: PagePlan) -> None:
        page.apply = partial(add, account, rows, page.done)

    return plan
