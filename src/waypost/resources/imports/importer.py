"""Imports the links of another service. Importing a link again changes only what changed there."""

from collections.abc import Sequence
from contextlib import suppress

from waypost.kit.errors import Unavailable
from waypost.resources.imports import rules, saving
from waypost.resources.imports.click_pages import ClickReader
from waypost.resources.imports.decisions import Decider
from waypost.resources.imports.deps import Deps
from waypost.resources.imports.model import Import
from waypost.resources.imports.routing.importing import RoutingImport
from waypost.resources.imports.rules import Draft
from waypost.resources.imports.run import Cursor, ImportRun, Page
from waypost.resources.imports.source import LinkPage, Source

_MAX_DECISIONS = 20
"""Of one page. Each of them but the last one was outdated by what others did at the same moment."""


class Importer(ImportRun):
    """Imports the links of another service, and their clicks if it lists them.

    Phases: `links`, and those of ClickReader.
    """

    _first_phase = "links"

    def __init__(self, deps: Deps, source: Source, import_: Import, holder: str, *, is_dry_run: bool = False) -> None:
        """`holder`: see `lease.holder`."""
        super().__init__(deps, import_, holder, is_dry_run=is_dry_run)
        self._source = source
        self._clicks = ClickReader(deps, source, import_, is_dry_run=is_dry_run)
        self._routing = RoutingImport(deps, self._account_id, has_rows=self._clicks.has_rows)
        self._decider = Decider(deps, source, import_, self._routing, has_rows=self._clicks.has_rows)

    async def _check(self) -> None:
        await self._source.check()
        done = Page()
        await self._decider.find_hosts(done)
        if self._import.options.get("clicks") and not self._clicks.has_rows:
            done.warn("The source has no clicks with their times: totals are kept apart from the statistics")
        self.warnings |= done.warnings

    async def _step(self) -> None:
        await (self._import_links() if self._cursor["phase"] == "links" else self._import_clicks())

    async def stop(self, error: Exception | None = None) -> None:
        await self._clicks.close()
        await super().stop(error)

    async def _import_links(self) -> None:
        page, done = await self._keeping_lease(self._source.link_page(self._cursor["at"])), Page()
        if self._is_dry_run:
            self.hosts.update(link.address.hostname for link in page.links if link.address and link.address.hostname)
        drafts = await self._decider.read(page, done)
        cursor = self._clicks.after_links(page, self._cursor["at"])
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
                await saving.save(tx, self._deps, self._import, decision, self._routing)
            elif self._clicks.has_rows:
                totals = {link.source_id: link.clicks or 0 for link in page.links}
                done.counts.clicks += sum(totals[draft.source.source_id] for draft in decision.new)
            done.add(decision.done)

    async def _import_clicks(self) -> None:
        page = await self._keeping_lease(self._clicks.read(self._cursor))
        self._clicks.read_ahead(page.following)
        token = f"import {self._import.id} {rules.short_digest(self._cursor)}"
        new = await self._keeping_lease(self._deps.click_writer.send(self._deps.db, page.clicks, token))
        async with self._write(page.done, page.following) as tx:
            page.done.counts.clicks += await self._deps.click_writer.add(tx, new)
