"""The account that an archive is imported into: its domains, which are registered if they are not here, and pixels."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any
from uuid import UUID

from waypost.audit import Actor
from waypost.database import Tx
from waypost.kit.errors import Invalid, Problems, UnregistrableName
from waypost.kit.ids import new_id
from waypost.resources import domains
from waypost.resources.domains import service as domain_service
from waypost.resources.imports import rules, store
from waypost.resources.imports.archive.reader import Archive, BadArchive
from waypost.resources.imports.archive.rows import DomainRow, PixelRow, parse_rows
from waypost.resources.imports.deps import Deps
from waypost.resources.imports.hosts import canonical
from waypost.resources.imports.model import Import
from waypost.resources.imports.page_plan import PageReport
from waypost.resources.imports.rules import Host
from waypost.resources.pixels import account_data as pixels_of_account

_AT_ONCE = 500
_MAX_DOMAINS = 1_000


class TargetAccount:
    def __init__(self, deps: Deps, archive: Archive, import_: Import) -> None:
        self.deps = deps
        self.account_id = import_.account_id
        self.shared = Host(None, deps.shared_domain)
        self.pixels: dict[UUID, UUID] = {}
        """Those here by those of the archive, of the same names. It has no ids of platforms to create them with."""
        self.options: Mapping[str, Any] = import_.options
        self._names: Mapping[str, str] = import_.domains
        """Others keep their names."""
        self._source = import_.source
        self.archive = archive
        self._rows: dict[str, DomainRow] = {}
        self._hosts: dict[str, Host] = {}
        """Those here by those of the archive."""
        self._missing: list[str] = []
        """Domains of the archive that become one that is not registered here yet."""

    @property
    def hostnames(self) -> Collection[str]:
        return self._hosts.keys() - {canonical(self.archive.shared_domain)}

    def get(self, hostname: str | None, _: PageReport) -> Host:
        return self._hosts.get(canonical(hostname or ""), self.shared)

    def key_of(self, link_id: UUID) -> UUID:
        return rules.key_of(self.account_id, self._source, str(link_id))

    async def find_own_ids(self, tx: Tx, ids: Iterable[UUID]) -> dict[UUID, UUID]:
        """Return the ids that links of the file have here."""
        keys = {self.key_of(id_): id_ for id_ in set(ids)}
        found = await store.find_links(tx, self.account_id, list(keys))
        return {keys[key]: link_id for key, (link_id, _) in found.items()}

    async def find(self, done: PageReport) -> None:
        """Find domains and pixels. Domains that are not here yet are as they will be after `register`."""
        await self._find_hosts(done)
        await self._find_pixels(done)
        if count := self.archive.count_rows("webhooks.ndjson"):
            done.warn(f"{count} webhooks are not imported, because an export has no secrets. Create them again")

    async def register(self, done: PageReport) -> None:
        registered: dict[str, UUID | None] = {}
        for theirs in self._missing:
            ours = self._hosts[theirs].hostname
            if ours not in registered:
                registered[ours] = await self._register(ours, self._rows.get(theirs), done)
            domain_id = registered[ours]
            self._hosts[theirs] = Host(domain_id, ours) if domain_id else self.shared

    async def _find_hosts(self, done: PageReport) -> None:
        async for batch in self.archive.read("domains.ndjson", _AT_ONCE):
            self._rows |= {canonical(row.hostname): row for row in parse_rows(DomainRow, batch, "domain", done.warn)}
            if len(self._rows) > _MAX_DOMAINS:
                raise BadArchive(f"The export has more than {_MAX_DOMAINS:,} domains. It was not made by Waypost.")
        names = {name: name for name in self._rows}
        names |= {canonical(theirs): canonical(ours or self.shared.hostname) for theirs, ours in self._names.items()}
        async with self.deps.db.read() as tx:
            own = await domains.find_by_hostname(tx, self.account_id, set(names.values()))
        self._hosts[canonical(self.archive.shared_domain)] = self.shared
        for theirs, ours in names.items():
            domain_id, is_served = own.get(ours, (None, False))
            if ours == self.deps.shared_domain and not domain_id:
                self._hosts[theirs] = self.shared
                continue
            if domain_id is None:
                self._missing.append(theirs)
            self._hosts[theirs] = Host(domain_id or new_id(), ours)
            if not is_served:
                done.warn(_unverified(ours))

    async def _register(self, hostname: str, row: DomainRow | None, done: PageReport) -> UUID | None:
        deps, actor = self.deps, Actor.system(self.account_id, "import")
        try:
            domain = await domain_service.register(
                deps.db.write(), actor, hostname, own_hosts=deps.own_hosts, now=deps.clock()
            )
        except (Invalid, UnregistrableName) as error:
            reason = " ".join(text for texts in getattr(error, "errors", {}).values() for text in texts)
            done.warn(f"{hostname} cannot be registered: its links go to {deps.shared_domain}. {reason}")
            done.warnings.pop(_unverified(hostname), None)
            return None
        check_url = deps.destination_checker.check_url
        for name, url in row.target_urls.items() if row else ():
            problems = Problems()
            urls = await domain_service.check_target_urls(deps, self.account_id, {name: url}, check_url, problems)
            if problems:
                done.warn(f"{hostname}: {name} is left out. {problems.errors[name][0]}")
            else:
                async with deps.db.write() as tx:
                    await domain_service.set_target_urls(tx, domain.id, urls)
        return domain.id

    async def _find_pixels(self, done: PageReport) -> None:
        found = await pixels_of_account.find_all(self.deps.db, self.account_id)
        own: dict[tuple[str, str], UUID] = {(pixel.platform, pixel.name): pixel.id for pixel in found}
        async for rows in self.archive.read("pixels.ndjson", _AT_ONCE):
            for row in parse_rows(PixelRow, rows, "pixel", done.warn):
                if own_id := own.get((row.platform, row.name)):
                    self.pixels[row.id] = own_id
                else:
                    done.warn(
                        f"The pixel {row.name} ({row.platform}) is missing, and an export has no pixel IDs. Create it"
                        " with the same name and import again, to attach it to its links"
                    )


def _unverified(hostname: str) -> str:
    return f"{hostname} is not verified yet: its links work once its DNS records are set, within 7 days"
