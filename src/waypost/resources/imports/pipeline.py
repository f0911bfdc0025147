"""Plans an import page by page: reads a page of the source, converts it, and decides what becomes of it.

Links come first, then what the source has besides: clicks, or the other files of an archive.
"""

from collections import Counter
from collections.abc import Iterable

from waypost.resources.imports.archive.parts import ArchiveParts
from waypost.resources.imports.archive.reader import Archive
from waypost.resources.imports.archive.target import TargetAccount
from waypost.resources.imports.click_pages import ClickPages
from waypost.resources.imports.decisions import Decider
from waypost.resources.imports.deps import Deps
from waypost.resources.imports.hosts import Hosts
from waypost.resources.imports.model import Import
from waypost.resources.imports.page_plan import Cursor, PagePlan, PageReport, Progress
from waypost.resources.imports.rules import Draft
from waypost.resources.imports.saving import Saving
from waypost.resources.imports.source import LinkPage, Source


class Pipeline:
    """Call `find_hosts`, then `plan` for each page, and always `close`. An import also calls `prepare`."""

    def __init__(self, deps: Deps, source: Source, import_: Import) -> None:
        self._deps = deps
        self._source = source
        self._import = import_
        self._hosts: Hosts | TargetAccount
        self._others: ClickPages | ArchiveParts
        if isinstance(source, Archive):
            self._hosts = TargetAccount(deps, source, import_)
            self._others = ArchiveParts(source, self._hosts)
        else:
            self._hosts = Hosts(deps, import_)
            self._others = ClickPages(deps, source, import_)
        self._decider = Decider(deps, source, import_, self._hosts, has_rows=self._others.has_rows)
        self._read: tuple[str | None, LinkPage, list[Draft], PageReport] | None = None
        """The last page of links, after its cursor. It may be planned again."""
        self.found = PageReport()
        """What `find_hosts` and `prepare` warn of."""

    @property
    def hostnames(self) -> Iterable[str]:
        """Those that the source has, as far as it says so before its links."""
        return self._hosts.hostnames

    async def find_hosts(self) -> None:
        """Find out what the links refer to. Raises SourceError."""
        await self._hosts.find(self.found)
        if self._import.options.get("clicks") and not self._others.has_rows:
            self.found.warn("The source has no clicks with their times: totals are kept apart from the statistics")

    async def prepare(self) -> None:
        """Create what links refer to."""
        if isinstance(self._hosts, TargetAccount):
            await self._hosts.register(self.found)

    async def plan(self, progress: Progress) -> PagePlan:
        """Plan the next page, or the same one again. Raises SourceError."""
        if progress.cursor["phase"] != "links":
            return await self._others.plan(progress.cursor)
        at = progress.cursor["at"]
        if self._read is None or self._read[0] != at:
            page, done = await self._source.link_page(at), PageReport()
            self._read = at, page, await self._decider.read(page, done), done
        _, page, drafts, done = self._read
        async with self._deps.db.read() as tx:
            decision = await self._decider.decide(tx, drafts)
        plan = PagePlan(total=page.total)
        plan.done.add(done)
        plan.done.add(decision.done)
        self._others.follow(plan, page, decision.new, progress)
        plan.hosts = Counter(link.address.hostname for link in page.links if link.address and link.address.hostname)
        saving = Saving(self._deps, self._import, decision, self._others.has_rows)
        plan.prepare, plan.apply = saving.hash_passwords, saving.save
        return plan

    def next_planned(self, following: Cursor) -> Cursor:
        """Return where a plan that is not applied continues: clicks are not read for it."""
        return self._others.next_planned(following)

    def count_done(self, progress: Progress) -> tuple[int, int]:
        """Return how much is done and how much there is; 0 if the source does not say."""
        done, total = self._others.count_done(progress.cursor)
        return progress.counts.found + done, (progress.total or 0) + total

    async def close(self) -> None:
        await self._others.close()
