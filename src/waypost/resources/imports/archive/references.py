"""What links of an archive refer to: domains, which are registered if they are not here, and pixels."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from uuid import UUID

from waypost.audit import Actor
from waypost.kit.errors import Invalid, UnregistrableName
from waypost.kit.ids import new_id
from waypost.resources import domains
from waypost.resources.domains import service as domain_service
from waypost.resources.domains.names import canonical_or_lower
from waypost.resources.imports import destinations
from waypost.resources.imports.archive.reader import Archive, BadArchive
from waypost.resources.imports.archive.rows import DomainRow, PixelRow, parse_rows
from waypost.resources.imports.deps import Deps
from waypost.resources.imports.rules import Host, Refused
from waypost.resources.imports.run import Page
from waypost.resources.pixels import account_data as pixels_of_account

_AT_ONCE = 500
_MAX_DOMAINS = 1_000
_canonical = lru_cache(256)(canonical_or_lower)


@dataclass(frozen=True, slots=True)
class References:
    shared: Host
    hosts: Mapping[str, Host]
    """Those here by those of the archive."""
    pixels: Mapping[UUID, UUID]

    def host(self, hostname: str) -> Host:
        return self.hosts.get(_canonical(hostname), self.shared)


async def find(
    deps: Deps, archive: Archive, account_id: UUID, mapping: Mapping[str, str], done: Page, *, is_dry_run: bool
) -> References:
    """`mapping`: domains of the archive, and those that they become. Others keep their names."""
    shared = Host(None, deps.shared_domain)
    hosts = await _find_hosts(deps, archive, account_id, mapping, done, is_dry_run=is_dry_run)
    pixels = await _find_pixels(deps, archive, account_id, done)
    return References(shared, {canonical_or_lower(archive.shared_domain): shared, **hosts}, pixels)


async def _find_hosts(
    deps: Deps, archive: Archive, account_id: UUID, mapping: Mapping[str, str], done: Page, *, is_dry_run: bool
) -> dict[str, Host]:
    rows: dict[str, DomainRow] = {}
    async for batch in archive.read("domains.ndjson", _AT_ONCE):
        rows |= {canonical_or_lower(row.hostname): row for row in parse_rows(DomainRow, batch, "domain", done.warn)}
        if len(rows) > _MAX_DOMAINS:
            raise BadArchive(f"The export has more than {_MAX_DOMAINS:,} domains. It was not made by Waypost.")
    names = {name: name for name in rows}
    names |= {canonical_or_lower(theirs): canonical_or_lower(ours) for theirs, ours in mapping.items()}
    async with deps.db.read() as tx:
        own = await domains.find_by_hostname(tx, account_id, set(names.values()))
    hosts = {}
    for theirs, ours in names.items():
        domain_id, is_served = own.get(ours, (None, ours == deps.shared_domain))
        if domain_id is None and ours != deps.shared_domain:
            domain_id = new_id() if is_dry_run else await _register(deps, account_id, ours, rows.get(theirs), done)
        hosts[theirs] = Host(domain_id, ours if domain_id else deps.shared_domain)
        if domain_id and not is_served:
            done.warn(f"{ours} is not verified yet: its links work once its DNS records are set, within 7 days")
    return hosts


async def _register(deps: Deps, account_id: UUID, hostname: str, row: DomainRow | None, done: Page) -> UUID | None:
    try:
        domain = await domain_service.register(
            deps.db.write(), Actor.system(account_id, "import"), hostname, own_hosts=deps.own_hosts, now=deps.clock()
        )
    except (Invalid, UnregistrableName) as error:
        reason = " ".join(text for texts in getattr(error, "errors", {}).values() for text in texts)
        done.warn(f"{hostname} cannot be registered: its links go to {deps.shared_domain}. {reason}")
        return None
    for name in domain_service.TARGET_URLS if row else ():
        try:
            if text := getattr(row, name):
                url = await destinations.parse(deps, text)
                async with deps.db.write() as tx:
                    if not await domains.find_custom_domains(tx, account_id, {url.host}):
                        await domain_service.set_target_url(tx, domain.id, name, url.text)
        except Refused as error:
            done.warn(f"{hostname}: {name} is left out. {error}")
    return domain.id


async def _find_pixels(deps: Deps, archive: Archive, account_id: UUID, done: Page) -> dict[UUID, UUID]:
    """An archive has no ids of platforms, so pixels are not created. Those of the same name are used."""
    found = await pixels_of_account.find_all(deps.db, account_id)
    own: dict[tuple[str, str], UUID] = {(pixel.platform, pixel.name): pixel.id for pixel in found}
    pixels = {}
    async for rows in archive.read("pixels.ndjson", _AT_ONCE):
        for row in parse_rows(PixelRow, rows, "pixel", done.warn):
            if own_id := own.get((row.platform, row.name)):
                pixels[row.id] = own_id
            else:
                done.warn(
                    f"The pixel {row.name} ({row.platform}) is not here, and an export has no pixel IDs. Create it with"
                    " the same name and import again, to attach it to its links"
                )
    return pixels
