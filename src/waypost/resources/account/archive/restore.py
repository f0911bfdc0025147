"""Imports an archive into an account: links with their ids and times, and what belongs to them.

Every step adds what is not here yet, in transactions of one batch. So a killed import is run again, and a second run
changes only what differs in the file. A link that was changed in the file replaces the fields of the one here.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Any, NamedTuple, TypeVar
from urllib.parse import urlsplit
from uuid import UUID

from pydantic import BaseModel, ValidationError

from waypost import auth
from waypost.database import Tx, take_advisory_lock
from waypost.kit.clock import EPOCH
from waypost.kit.errors import Invalid, UnregistrableName
from waypost.kit.ids import new_id, parse_id
from waypost.kit.urls import Url
from waypost.outbound import NotPublic
from waypost.resources import aliases, domains, links, pixels
from waypost.resources.account.archive.reader import Archive
from waypost.resources.account.archive.rows import AliasRow, ClickRow, DeletedLinkRow, DomainRow, LinkRow, PixelRow
from waypost.resources.aliases import Alias
from waypost.resources.clicks import statistics_import
from waypost.resources.clicks.days import find_kept_since
from waypost.resources.domains import service as domain_service
from waypost.resources.domains.names import canonical_or_lower
from waypost.resources.imports import rules
from waypost.resources.imports import store as import_store
from waypost.resources.imports.clicks import SqlClickWriter
from waypost.resources.imports.deps import Deps as ImportDeps
from waypost.resources.imports.report import Counts, Report, to_warnings, warn
from waypost.resources.imports.rules import Host, Refused
from waypost.resources.imports.source import RefusedRow
from waypost.resources.links import Link, account_data, batch
from waypost.resources.links import store as link_store
from waypost.resources.links.images import MAX_BYTES, BadImage, ImageReencoder
from waypost.resources.links.media import NAME, ImageStore
from waypost.resources.links.rules import LOOP, MAX_IMAGES_MB, find_slug_problem
from waypost.resources.pixels import account_data as pixels_of_account
from waypost.resources.qrcodes import account_data as qrcodes_of_account
from waypost.resources.qrcodes.schemas import NewStyle

SOURCE = "waypost"
_LINKS_AT_ONCE, _CLICKS_AT_ONCE, _DAYS_AT_ONCE = 500, 5_000, 100
_ANOTHER_IMPORT = 0x696D706F7274 << 16  # "import"
T = TypeVar("T", bound=BaseModel)

OnProgress = Callable[[int, int], None]
"""Takes the rows done and all rows."""


@dataclass(frozen=True, slots=True)
class RestoreDeps:
    imports: ImportDeps
    image_store: ImageStore
    own_hosts: Sequence[str]
    """Hosts of the service itself, without ports."""


class _New(NamedTuple):
    link: Link
    row: LinkRow
    digest: str


@dataclass(slots=True)
class Restore:
    deps: RestoreDeps
    archive: Archive
    account_id: UUID
    mapping: Mapping[str, str]
    """Domains of the file, and those that they become."""
    is_dry_run: bool = False
    on_progress: OnProgress | None = None
    counts: Counts = field(default_factory=Counts)
    refused: list[RefusedRow] = field(default_factory=list)
    _warnings: dict[str, tuple[int, str]] = field(default_factory=dict)
    _hosts: dict[str, Host] = field(default_factory=dict)
    _pixels: dict[UUID, UUID] = field(default_factory=dict)
    _images: dict[str, UUID] = field(default_factory=dict)
    """Links by the name of their image in the file."""
    _rows_done: int = 0

    async def run(self) -> Report:
        """Raises BadArchive before anything is changed, and Unavailable."""
        await self.archive.verify()
        await self._find_domains()
        await self._find_pixels()
        for name, step, size in (
            ("links.ndjson", self._add_links, _LINKS_AT_ONCE),
            *(
                ()
                if self.is_dry_run
                else (
                    ("aliases.ndjson", self._add_aliases, _LINKS_AT_ONCE),
                    ("deleted_links.ndjson", self._add_deleted_links, _LINKS_AT_ONCE),
                    ("qr_styles.ndjson", self._add_styles, _LINKS_AT_ONCE),
                    ("clicks.ndjson", self._add_clicks, _CLICKS_AT_ONCE),
                )
            ),
        ):
            await self._each_batch(name, step, size)
        if not self.is_dry_run:
            await self._add_images()
            await self._add_old_statistics()
        if count := self.archive.count_rows("webhooks.ndjson"):
            self._warn(f"{count} webhooks are not imported, because an export has no secrets. Create them here")
        return Report(SOURCE, self.counts, self.counts.found, to_warnings(_triples(self._warnings)), self.refused)

    async def _each_batch(self, name: str, step: Callable[[list[dict[str, Any]]], Awaitable[None]], size: int) -> None:
        total = sum(self.archive.count_rows(file) for file in ("links.ndjson", "clicks.ndjson"))
        async for rows in self.archive.read(name, size):
            await step(rows)
            self._rows_done += len(rows)
            if self.on_progress:
                self.on_progress(min(self._rows_done, total), total)

    def _warn(self, text: str, source_id: object = "") -> None:
        warn(self._warnings, text, str(source_id))

    def _parse(self, model: type[T], rows: Iterable[Mapping[str, Any]], what: str) -> list[T]:
        parsed = []
        for row in rows:
            try:
                parsed.append(model.model_validate(row))
            except ValidationError:
                self._warn(f"A {what} cannot be read and is left out", row.get("id", row.get("link_id", "?")))
        return parsed

    @asynccontextmanager
    async def _write(self) -> AsyncIterator[Tx]:
        """Open a transaction. Two imports into one account wait for each other."""
        async with self.deps.imports.db.write() as tx:
            await take_advisory_lock(tx, _ANOTHER_IMPORT ^ (self.account_id.int & 0x7FFF_FFFF_FFFF))
            await auth.lock_account(tx, self.account_id)
            yield tx

    # ── what links refer to ─────────────────────────────────────────────────────────────────────────────────────────

    async def _find_domains(self) -> None:
        deps = self.deps.imports
        shared = Host(None, deps.shared_domain)
        self._hosts[canonical_or_lower(self.archive.shared_domain)] = shared
        rows: list[DomainRow] = []
        async for batch_ in self.archive.read("domains.ndjson", _LINKS_AT_ONCE):
            rows += self._parse(DomainRow, batch_, "domain")
        mapping = {canonical_or_lower(theirs): canonical_or_lower(ours) for theirs, ours in self.mapping.items()}
        mapping = {canonical_or_lower(row.hostname): canonical_or_lower(row.hostname) for row in rows} | mapping
        async with deps.db.read() as tx:
            own = await domains.find_by_hostname(tx, self.account_id, set(mapping.values()))
        by_name = {canonical_or_lower(row.hostname): row for row in rows}
        for theirs, ours in mapping.items():
            if ours == deps.shared_domain:
                self._hosts[theirs] = shared
                continue
            domain_id, is_served = own.get(ours) or (await self._register(ours, by_name.get(theirs)), False)
            self._hosts[theirs] = Host(domain_id, ours) if domain_id else shared
            if domain_id and not is_served:
                self._warn(f"{ours} is not verified yet: its links work once its DNS records are set, within 7 days")

    async def _register(self, hostname: str, row: DomainRow | None) -> UUID | None:
        """Register a domain that is not in the account. Return its id, in a dry run one that does not exist."""
        deps = self.deps.imports
        if self.is_dry_run:
            return new_id()
        try:
            domain = await domain_service.register(
                deps.db, self.account_id, hostname, own_hosts=self.deps.own_hosts, now=deps.clock()
            )
        except (Invalid, UnregistrableName) as error:
            reason = " ".join(text for texts in getattr(error, "errors", {}).values() for text in texts)
            self._warn(f"{hostname} cannot be registered: its links go to {deps.shared_domain}. {reason}")
            return None
        for name in domain_service.TARGET_URLS if row else ():
            try:
                if text := getattr(row, name):
                    url = await self._destination(text)
                    if not await self._custom_domains([url]):
                        async with deps.db.write() as tx:
                            await domain_service.set_target_url(tx, domain.id, name, url.text)
            except Refused as error:
                self._warn(f"{hostname}: {name} is left out. {error}")
        return domain.id

    async def _find_pixels(self) -> None:
        """An export has no ids of platforms, so pixels are not created. Those of the same name are used."""
        own: dict[tuple[str, str], UUID] = {
            (pixel["platform"], pixel["name"]): UUID(pixel["id"])
            async for page in pixels_of_account.export_account_data(self.deps.imports.db, self.account_id)
            for pixel in page
        }
        async for rows in self.archive.read("pixels.ndjson", _LINKS_AT_ONCE):
            for row in self._parse(PixelRow, rows, "pixel"):
                if own_id := own.get((row.platform, row.name)):
                    self._pixels[row.id] = own_id
                else:
                    self._warn(
                        f"The pixel {row.name} ({row.platform}) is not here, and an export has no pixel IDs. Create it"
                        " with the same name and import again, to attach it to its links"
                    )

    async def _destination(self, text: str) -> Url:
        """Raises Refused."""
        deps = self.deps.imports
        url = rules.destination(text, own_hosts=(deps.shared_domain, urlsplit(deps.base_url).netloc))
        try:
            await deps.check_ip(url)
        except NotPublic:
            raise Refused("This URL is not on the public internet.") from None
        return url

    async def _custom_domains(self, urls: Iterable[Url]) -> set[str]:
        """Return the hosts that would redirect back to this service."""
        async with self.deps.imports.db.read() as tx:
            return await domains.find_custom_domains(tx, self.account_id, {url.host for url in urls})

    # ── links ───────────────────────────────────────────────────────────────────────────────────────────────────────

    async def _add_links(self, rows: list[dict[str, Any]]) -> None:
        self.counts.found += len(rows)
        accepted: list[tuple[LinkRow, Url]] = []
        for row in rows:
            try:
                parsed = LinkRow.model_validate(row)
                accepted.append((parsed, await self._destination(parsed.destination_url)))
            except (Refused, ValidationError) as error:
                self._refuse(row.get("id", "?"), _reason(error))
        looping = await self._custom_domains(url for _, url in accepted)
        drafts: dict[UUID, _New] = {}
        for link, url in accepted:
            if url.host in looping:
                self._refuse(link.id, LOOP)
            else:
                drafts[rules.key_of(self.account_id, SOURCE, str(link.id))] = self._draft(link, url)
        async with self.deps.imports.db.read() as tx:
            if self.is_dry_run:
                known = await import_store.find_links(tx, self.account_id, list(drafts))
                self.counts.created += len(drafts) - len(known)
                self.counts.unchanged += sum(known[key][1] == drafts[key].digest for key in known)
                self.counts.updated += sum(known[key][1] != drafts[key].digest for key in known)
                return
        changes: list[str] = []
        counts = Counts()
        async with self._write() as tx:
            await self._store_links(tx, drafts, counts, changes)
            await link_store.record_route_changes(tx, changes, self.deps.imports.clock())
        self.deps.imports.invalidate_routes(changes)
        self.counts.add(counts)

    def _refuse(self, source_id: object, reason: str) -> None:
        self.counts.refused += 1
        self.refused.append(RefusedRow(str(source_id), reason))

    def _draft(self, row: LinkRow, url: Url) -> _New:
        deps = self.deps.imports
        theirs = canonical_or_lower(row.hostname)
        host = self._hosts.get(theirs)
        if host is None:
            host = self._hosts[theirs] = self._hosts[canonical_or_lower(self.archive.shared_domain)]
        link = Link(
            id=row.id,
            account_id=self.account_id,
            slug="" if find_slug_problem(row.slug, deps.reserved) else row.slug,
            domain_id=host.domain_id,
            hostname=host.hostname if host.domain_id else None,
            destination_url=url.text,
            title=row.title,
            og_title=row.og_title,
            og_description=row.og_description,
            og_image=None if row.uploaded_image else row.og_image,
            og_image_file_name=None,
            og_image_bytes=0,
            utm_params={str(key): text for key, text in row.utm_params.items()},
            tags=row.tags,
            expires_at=row.expires_at,
            pixel_ids=[self._pixels[id_] for id_ in row.pixel_ids if id_ in self._pixels],
            is_enabled=row.is_enabled,
            clicks=0,
            created_at=row.created_at,
            updated_at=row.updated_at,
        )
        compared = row.model_dump(mode="json") | {"pixel_ids": [str(id_) for id_ in link.pixel_ids]}
        compared |= {"hostname": host.hostname}
        return _New(link, row, blake2b(json.dumps(compared, sort_keys=True).encode(), digest_size=16).hexdigest())

    async def _store_links(self, tx: Tx, drafts: Mapping[UUID, _New], counts: Counts, changes: list[str]) -> None:
        known = await import_store.find_links(tx, self.account_id, list(drafts))
        here = await batch.find_all(tx, self.account_id, (link_id for link_id, _ in known.values()))
        owners = await links.find_accounts(tx, [draft.link.id for draft in drafts.values()])
        saved: dict[UUID, tuple[UUID, str]] = {}
        new: list[Link] = []
        sources: dict[UUID, LinkRow] = {}
        for key, draft in drafts.items():
            link_id, digest = known.get(key, (None, ""))
            if link_id in here and digest != draft.digest:
                await self._change(tx, here[link_id], draft, changes)
                counts.updated += 1
            elif link_id is not None:  # also one that was deleted here
                counts.unchanged += 1
            else:
                link_id = new_id() if draft.link.id in owners else draft.link.id
                new.append(replace(draft.link, id=link_id))
            saved[key] = link_id, draft.digest
            sources[link_id] = draft.row
            if draft.row.uploaded_image:
                self._images[draft.row.uploaded_image] = link_id
        added = await self._add(tx, new, sources, changes)
        await import_store.save_links(tx, self.account_id, saved)
        counts.created += added
        imported = {link_id: row.imported_clicks for link_id, row in sources.items() if row.imported_clicks}
        await batch.set_imported_clicks(tx, self.account_id, imported)

    async def _add(self, tx: Tx, new: list[Link], sources: Mapping[UUID, LinkRow], changes: list[str]) -> int:
        taken = await batch.reserve_slugs(tx, [link for link in new if link.slug])
        displaced = [link for link in new if not link.slug or link.id in taken]
        generated = await batch.generate_slugs(tx, displaced, self.deps.imports.reserved)
        added = [link for link in new if link.slug and link.id not in taken] + generated
        moved: list[Alias] = []
        for link in generated:
            path = sources[link.id].slug
            if link.domain_id and link.hostname and not aliases.find_path_problem(path):
                moved.append(
                    Alias(new_id(), self.account_id, link.id, link.domain_id, link.hostname, path, link.created_at)
                )
                self._warn("The slug is taken here: the link has another one, and its address as an alias", path)
            else:
                self._warn("The slug is taken here: the link has another one", path)
        texts = {alias.link_id: aliases.to_search_text([alias.path]) for alias in moved}
        await batch.add_all(tx, self.account_id, added, texts)
        for link in added:
            if link.pixel_ids:
                await pixels.attach(tx, link.id, link.pixel_ids)
        await self._insert_aliases(tx, moved, changes)
        changes += (link.slug for link in added)
        return len(added)

    async def _change(self, tx: Tx, before: Link, draft: _New, changes: list[str]) -> None:
        """Set the fields of the file. The slug stays, and an image that was uploaded."""
        kept = {"id", "slug", "clicks", "og_image_file_name", "og_image_bytes", "created_at", "account_id"}
        if before.og_image_file_name:
            kept.add("og_image")
        fields = {name: getattr(draft.link, name) for name in Link.__dataclass_fields__ if name not in kept}
        after = replace(before, **fields)
        if before.domain_id != after.domain_id:
            await domains.change_links_count(tx, before.domain_id, after.domain_id)
        await link_store.save(tx, before, after)
        changes.append(before.slug)

    async def _own_ids(self, tx: Tx, ids: Iterable[UUID]) -> dict[UUID, UUID]:
        """Return the ids that links of the file have here."""
        keys = {rules.key_of(self.account_id, SOURCE, str(id_)): id_ for id_ in set(ids)}
        found = await import_store.find_links(tx, self.account_id, list(keys))
        return {keys[key]: link_id for key, (link_id, _) in found.items()}

    # ── what belongs to links ───────────────────────────────────────────────────────────────────────────────────────

    async def _add_aliases(self, rows: list[dict[str, Any]]) -> None:
        parsed = self._parse(AliasRow, rows, "alias")
        changes: list[str] = []
        async with self._write() as tx:
            own = await self._own_ids(tx, (row.link_id for row in parsed))
            here = await batch.find_all(tx, self.account_id, own.values())
            new = []
            for row in parsed:
                host = self._hosts.get(canonical_or_lower(row.hostname))
                link_id = own.get(row.link_id)
                if host is None or host.domain_id is None or aliases.find_path_problem(row.path):
                    self._warn("An alias is left out: its domain is not here", f"{row.hostname}/{row.path}")
                elif link_id in here:
                    new.append(
                        Alias(
                            new_id(), self.account_id, link_id, host.domain_id, host.hostname, row.path, row.created_at
                        )
                    )
            count = await self._insert_aliases(tx, new, changes)
            for link_id in {alias.link_id for alias in new}:
                await link_store.save_search_text(tx, here[link_id])
            await link_store.record_route_changes(tx, changes, self.deps.imports.clock())
        self.deps.imports.invalidate_routes(changes)
        self.counts.aliases += count

    async def _insert_aliases(self, tx: Tx, new: Sequence[Alias], changes: list[str]) -> int:
        """Leave out those whose address is taken, which may be by an earlier run."""
        by_domain: dict[UUID, set[str]] = {}
        for alias in new:
            by_domain.setdefault(alias.domain_id, set()).add(alias.path)
        taken: dict[tuple[UUID, str], UUID] = {}
        for domain_id, paths in by_domain.items():
            found = await aliases.find_links(tx, domain_id, paths)
            taken |= {(domain_id, path): link_id for path, link_id in found.items()}
        free: dict[tuple[UUID, str], Alias] = {}
        for alias in new:
            address = alias.domain_id, alias.path
            if taken.get(address, alias.link_id) != alias.link_id:
                self._warn("An alias leads to another link here already", f"{alias.hostname}/{alias.path}")
            elif address not in taken:
                free.setdefault(address, alias)
        await aliases.add_many(tx, list(free.values()))
        changes += {alias.hostname for alias in free.values()}
        return len(free)

    async def _add_deleted_links(self, rows: list[dict[str, Any]]) -> None:
        parsed = self._parse(DeletedLinkRow, rows, "deleted link")
        async with self._write() as tx:
            known = await self._own_ids(tx, (row.id for row in parsed))
            owners = await links.find_accounts(tx, [row.id for row in parsed])
            new = {row.id: new_id() if row.id in owners else row.id for row in parsed if row.id not in known}
            added = [(new[row.id], row.slug, row.created_at, row.deleted_at) for row in parsed if row.id in new]
            await account_data.add_deleted_links(tx, self.account_id, added)
            keys = {rules.key_of(self.account_id, SOURCE, str(id_)): (own_id, "") for id_, own_id in new.items()}
            await import_store.save_links(tx, self.account_id, keys)

    async def _add_styles(self, rows: list[dict[str, Any]]) -> None:
        rows = [row for row in rows if parse_id(str(row.get("link_id")))]
        async with self._write() as tx:
            own = await self._own_ids(tx, (UUID(row["link_id"]) for row in rows))
            here = await batch.find_existing(tx, self.account_id, own.values())
            styles = []
            for row in rows:
                link_id = own.get(UUID(row["link_id"]))
                try:
                    style = NewStyle.model_validate({name: row[name] for name in NewStyle.model_fields}).code_style
                except (ValidationError, KeyError):
                    self._warn("A style of a QR code cannot be read and is left out", row["link_id"])
                    continue
                if link_id in here:
                    styles.append((link_id, style, self.deps.imports.clock()))
            await qrcodes_of_account.add_styles(tx, styles)

    async def _add_images(self) -> None:
        """Images are encoded again, like every upload."""
        if not self._images:
            return
        import tarfile  # noqa: PLC0415  # for archives only

        reencoder = ImageReencoder()
        try:
            with (
                self.archive.open_file("images.tar") as file,
                tarfile.open(fileobj=file, mode="r|") as images,
            ):
                while member := await asyncio.to_thread(images.next):
                    link_id = self._images.get(member.name)
                    content = images.extractfile(member) if member.isfile() and member.size <= MAX_BYTES else None
                    if link_id and content and NAME.fullmatch(member.name):
                        await self._add_image(link_id, await asyncio.to_thread(content.read), reencoder)
        except tarfile.TarError:
            self._warn("images.tar cannot be read: images are left out")
        finally:
            reencoder.close()

    async def _add_image(self, link_id: UUID, content: bytes, reencoder: ImageReencoder) -> None:
        db = self.deps.imports.db
        async with db.read() as tx:
            link = (await batch.find_all(tx, self.account_id, [link_id])).get(link_id)
        if link is None or link.og_image or link.og_image_file_name:
            return  # set by an earlier run, or changed here
        try:
            image = await self.deps.image_store.save(await reencoder.reencode(content, account=self.account_id))
        except BadImage as error:
            self._warn(f"An image is left out. {error}", link_id)
            return
        async with self._write() as tx:
            before = await link_store.lock(tx, self.account_id, link_id)
            limit = MAX_IMAGES_MB << 20
            is_free = not before.og_image and not before.og_image_file_name
            is_saved = is_free and await auth.adjust_image_bytes(tx, self.account_id, image.size, limit=limit)
            if is_saved:
                after = replace(before, og_image_file_name=image.name, og_image_bytes=image.size)
                await link_store.save(tx, before, after)
                await link_store.record_route_changes(tx, [before.slug], self.deps.imports.clock())
        if is_saved:
            self.deps.imports.invalidate_routes([before.slug])
        else:
            await self.deps.image_store.delete(image.name)
            self._warn(f"Images are left out: an account has at most {MAX_IMAGES_MB} MB", link_id)

    # ── clicks ──────────────────────────────────────────────────────────────────────────────────────────────────────

    async def _add_clicks(self, rows: list[dict[str, Any]]) -> None:
        deps = self.deps.imports
        parsed = [(row, ClickRow.of(row)) for row in rows]
        valid = [click for _, click in parsed if click]
        for row, click in parsed:
            if click is None:
                self._warn("A click cannot be read and is left out", row.get("id", "?"))
        async with deps.db.read() as tx:
            own = await self._own_ids(tx, (click.link_id for click in valid))
            kept_since = await find_kept_since(tx)
        clicks = []
        for click in valid:
            link_id = own.get(click.link_id)
            if link_id is None:
                self._warn("Clicks of links that are not in the export are left out", click.link_id)
                continue
            id_ = click.id if link_id == click.link_id else _derived_id(click.id, link_id)
            built = click.to_click(id_, link_id, self.account_id)
            if built.day < kept_since:
                self._warn("Clicks that are older than clicks are kept here are left out", click.link_id)
            else:
                clicks.append(built)
        unique = list({click.id: click for click in clicks}.values())
        token = blake2b(b"".join(click.id for click in unique), digest_size=16).hexdigest()
        new = await deps.click_writer.send(deps.db, unique, f"import:{token}")
        async with self._write() as tx:
            added = await deps.click_writer.add(tx, new)
        self.counts.clicks += added

    async def _add_old_statistics(self) -> None:
        since = self.archive.clicks_since
        if since is None or not self.archive.count_rows("old_statistics.ndjson"):
            return
        deps = self.deps.imports
        kept_since = (since - EPOCH.date()).days
        async with self._write() as tx:
            if not isinstance(deps.click_writer, SqlClickWriter) or not await statistics_import.begin(tx, kept_since):
                self._warn(
                    f"Statistics of days before {since} are left out: their clicks were deleted, and this installation"
                    " keeps the clicks of these days"
                )
                return
        async for rows in self.archive.read("old_statistics.ndjson", _DAYS_AT_ONCE):
            days = [day for row in rows if (day := statistics_import.read_day(row)) and day.day < kept_since]
            async with self._write() as tx:
                own = await self._own_ids(tx, (day.link_id for day in days if day.link_id))
                mapped = [
                    day._replace(link_id=own.get(day.link_id)) if day.link_id else day
                    for day in days
                    if day.link_id is None or day.link_id in own
                ]
                await statistics_import.add(tx, self.account_id, mapped)


def _derived_id(click_id: UUID, link_id: UUID) -> UUID:
    """Return an id of the same time, for a copy of a link that is still in this installation."""
    digest = int.from_bytes(blake2b(click_id.bytes, digest_size=7, key=link_id.bytes).digest())
    return UUID(int=click_id.int >> 62 << 62 | digest)


def _reason(error: Exception) -> str:
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        return f"{'.'.join(map(str, first['loc']))}: {first['msg'].removeprefix('Value error, ')}"
    return str(error)


def _triples(warnings: Mapping[str, tuple[int, str]]) -> list[tuple[str, int, str]]:
    return [(text, *counted) for text, counted in warnings.items()]
