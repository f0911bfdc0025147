"""Imports an archive into an account: links with their ids and times, and what belongs to them.

What is here already is left as it is. A link that was changed in the archive replaces the fields of the one here.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from typing import Any

from waypost.resources.domains.names import canonical_or_lower
from waypost.resources.imports.archive import aliases, app_links, clicks, drafts, extras, images, links, references
from waypost.resources.imports.archive.context import Context, Rows
from waypost.resources.imports.archive.images import ArchivedImage
from waypost.resources.imports.archive.reader import Archive
from waypost.resources.imports.archive.rows import DeletedLinkRow, parse_rows
from waypost.resources.imports.deps import Deps
from waypost.resources.imports.model import Import
from waypost.resources.imports.run import Cursor, ImportRun, Page
from waypost.resources.links import store as link_store
from waypost.resources.links.images.encoder import ImageReencoder

_LINKS_AT_ONCE, _DOMAINS_AT_ONCE, _CLICKS_AT_ONCE, _DAYS_AT_ONCE = 500, 10, 5_000, 100

_SLOW = ("links.ndjson", "clicks.ndjson")
_Step = Callable[[Any, Page, Cursor], Awaitable[None]]


class ArchiveImporter(ImportRun):
    """Phases are the files of the archive, in the order in which they are read; `at`: rows of it that are done.

    A dry run reads links and aliases only.
    """

    _first_phase = "links.ndjson"

    def __init__(self, deps: Deps, archive: Archive, import_: Import, holder: str, *, is_dry_run: bool = False) -> None:
        """`holder`: see `lease.holder`."""
        super().__init__(deps, import_, holder, is_dry_run=is_dry_run)
        self._archive = archive
        self._batches: AsyncGenerator[Any, None] | None = None
        """Of the phase, from the cursor on."""
        self._reencoder: ImageReencoder | None = None
        steps: dict[str, tuple[_Step, int]] = {
            "links.ndjson": (self._add_links, _LINKS_AT_ONCE),
            "aliases.ndjson": (self._add_aliases, _LINKS_AT_ONCE),
            "app_links.ndjson": (self._add_app_links, _DOMAINS_AT_ONCE),
            "deleted_links.ndjson": (self._add_deleted_links, _LINKS_AT_ONCE),
            "qr_styles.ndjson": (self._add_styles, _LINKS_AT_ONCE),
            "clicks.ndjson": (self._add_clicks, _CLICKS_AT_ONCE),
            "images.tar": (self._add_image, 1),
            "old_statistics.ndjson": (self._add_old_statistics, _DAYS_AT_ONCE),
        }
        planned = (self._first_phase, "aliases.ndjson")
        self._steps = {name: steps[name] for name in planned} if is_dry_run else steps

    @property
    def progress(self) -> tuple[int, int]:
        """Links and clicks: the rest is quick."""
        sizes = {name: self._archive.count_rows(name) for name in _SLOW if name in self._steps}
        phases = [*self._steps, "end"]
        index = phases.index(self._cursor["phase"])
        done = sum(sizes.get(name, 0) for name in phases[:index])
        at = self._cursor["at"] or 0
        return done + (at if self._cursor["phase"] in sizes else 0), sum(sizes.values())

    async def stop(self, error: Exception | None = None) -> None:
        if self._batches:
            await self._batches.aclose()
        if self._reencoder:
            self._reencoder.close()
        await super().stop(error)

    async def _check(self) -> None:
        if self._import.cursor is None:  # later turns read the same file
            await self._archive.check()

    async def _prepare(self) -> None:
        done, mapping = Page(), self._import.options.get("domains", {})
        found = await references.find(
            self._deps, self._archive, self._account_id, mapping, done, is_dry_run=self._is_dry_run
        )
        self._context = Context(self._deps, self._account_id, found, self._import.started_by)
        if count := self._archive.count_rows("webhooks.ndjson"):
            done.warn(f"{count} webhooks are not imported, because an export has no secrets. Create them here")
        if self._import.cursor is None:  # they are said once
            self.warnings = done.warnings
        shared = canonical_or_lower(self._archive.shared_domain)
        self.hosts.update(dict.fromkeys(found.hosts.keys() - {shared}, 0))

    async def _step(self) -> None:
        """Do what a batch needs. Each step adds what is not here yet."""
        phase, at = self._cursor["phase"], self._cursor["at"] or 0
        step, size = self._steps[phase]
        if self._batches is None:
            self._batches = self._read(phase, size, at)
        rows = await self._keeping_lease(_next(self._batches))
        done = Page()
        if rows:
            await step(rows, done, {"phase": phase, "at": at + len(rows)})
            return
        self._batches = None
        phases = [*self._steps, "end"]
        if self._is_dry_run and phase == self._first_phase and not self.counts.updated and not self.counts.unchanged:
            done.counts.clicks = self._archive.count_rows("clicks.ndjson")
        async with self._write(done, {"phase": phases[phases.index(phase) + 1], "at": None}):
            pass

    def _read(self, phase: str, size: int, at: int) -> AsyncGenerator[Any, None]:
        if phase == "images.tar":
            return images.read_images(self._context, self._archive, at)
        return self._archive.read(phase, size, at)

    async def _add_links(self, rows: Rows, done: Page, cursor: Cursor) -> None:
        done.counts.found = len(rows)
        read = await drafts.read(self._context, rows, done)
        if self._is_dry_run:
            self.hosts.update(draft.row.hostname for draft in read)
        async with self._write(done, cursor, self._archive.count_rows("links.ndjson")) as tx:
            await (drafts.plan if self._is_dry_run else links.save)(self._context, tx, read, done)

    async def _add_aliases(self, rows: Rows, done: Page, cursor: Cursor) -> None:
        read = aliases.read(self._context, rows, done)
        async with self._write(done, cursor) as tx:
            if self._is_dry_run:
                await aliases.plan(self._context, tx, read, {row.source_id for row in self.refused}, done)
            else:
                await aliases.save(self._context, tx, read, done)

    async def _add_app_links(self, rows: Rows, done: Page, cursor: Cursor) -> None:
        async with self._write(done, cursor) as tx:
            await app_links.save(self._context, tx, rows, done)

    async def _add_deleted_links(self, rows: Rows, done: Page, cursor: Cursor) -> None:
        parsed = parse_rows(DeletedLinkRow, rows, "deleted link", done.warn)
        async with self._write(done, cursor) as tx:
            await extras.add_deleted_links(self._context, tx, parsed)
            if self._import.options.get("reserve_deleted_slugs"):
                await link_store.reserve_unlinked(tx, self._account_id, (row.slug for row in parsed))

    async def _add_styles(self, rows: Rows, done: Page, cursor: Cursor) -> None:
        async with self._write(done, cursor) as tx:
            await extras.add_styles(self._context, tx, rows, done)

    async def _add_image(self, read: list[ArchivedImage], done: Page, cursor: Cursor) -> None:
        [image], is_used = read, False
        self._reencoder = self._reencoder or ImageReencoder()
        saved = await images.encode(self._context, image, self._reencoder, done)
        async with self._write(done, cursor) as tx:
            if saved and image.link_id:
                is_used = await images.use(self._context, tx, image.link_id, saved, done)
        if saved and not is_used:
            await self._deps.image_store.delete(saved.name)

    async def _add_clicks(self, rows: Rows, done: Page, cursor: Cursor) -> None:
        writer = self._deps.click_writer
        read = await clicks.read(self._context, rows, done)
        new = await self._keeping_lease(writer.send(self._deps.db, read, clicks.token_of(read)))
        async with self._write(done, cursor) as tx:
            done.counts.clicks = await writer.add(tx, new)

    async def _add_old_statistics(self, rows: Rows, done: Page, cursor: Cursor) -> None:
        async with self._write(done, cursor) as tx:
            await clicks.add_old_statistics(self._context, tx, rows, self._archive.clicks_since, done)


async def _next(batches: AsyncIterator[Any]) -> Any:
    return await anext(batches, None)
