"""Imports an archive into an account: links with their ids and times, and what belongs to them.

What is here already is left as it is. A link that was changed in the archive replaces the fields of the one here.
"""

import json
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from hashlib import blake2b
from typing import Any, NamedTuple
from uuid import UUID

from pydantic import ValidationError

from waypost import auth
from waypost.database import Tx
from waypost.kit.clock import EPOCH
from waypost.kit.errors import NotFound
from waypost.kit.ids import new_id, parse_id
from waypost.kit.urls import Url
from waypost.resources import aliases, domains, links, pixels
from waypost.resources.aliases import Alias
from waypost.resources.clicks import statistics_import
from waypost.resources.clicks.days import find_kept_since
from waypost.resources.domains.names import canonical_or_lower
from waypost.resources.imports import destinations, rules, store
from waypost.resources.imports.archive import references
from waypost.resources.imports.archive.images import ArchivedImage, read_images
from waypost.resources.imports.archive.reader import Archive
from waypost.resources.imports.archive.rows import AliasRow, ClickRow, DeletedLinkRow, LinkRow, parse_rows
from waypost.resources.imports.clicks import SqlClickWriter
from waypost.resources.imports.deps import Deps
from waypost.resources.imports.model import Import
from waypost.resources.imports.rules import Refused
from waypost.resources.imports.run import Cursor, ImportRun, Page
from waypost.resources.links import Link, account_data, batch
from waypost.resources.links import store as link_store
from waypost.resources.links.images import BadImage, ImageReencoder
from waypost.resources.links.media import UploadedImage
from waypost.resources.links.rules import LOOP, MAX_IMAGES_MB, find_slug_problem
from waypost.resources.qrcodes import account_data as qrcodes_of_account
from waypost.resources.qrcodes.schemas import NewStyle

SOURCE = "waypost"
_LINKS_AT_ONCE, _CLICKS_AT_ONCE, _DAYS_AT_ONCE = 500, 5_000, 100

Rows = list[dict[str, Any]]
_Step = Callable[[Any, Page, Cursor], Awaitable[None]]


class _New(NamedTuple):
    link: Link
    row: LinkRow
    digest: str


class ArchiveImporter(ImportRun):
    """Phases are the files of the archive, in the order in which they are read; `at`: rows of it that are done.

    A dry run reads the links only.
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
            "deleted_links.ndjson": (self._add_deleted_links, _LINKS_AT_ONCE),
            "qr_styles.ndjson": (self._add_styles, _LINKS_AT_ONCE),
            "clicks.ndjson": (self._add_clicks, _CLICKS_AT_ONCE),
            "images.tar": (self._add_image, 1),
            "old_statistics.ndjson": (self._add_old_statistics, _DAYS_AT_ONCE),
        }
        self._steps = {self._first_phase: steps[self._first_phase]} if is_dry_run else steps

    @property
    def progress(self) -> tuple[int, int]:
        """Links and clicks: the rest is quick."""
        sizes = {name: self._archive.count_rows(name) for name in ("links.ndjson", "clicks.ndjson")}
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
        self._references = await references.find(
            self._deps, self._archive, self._account_id, mapping, done, is_dry_run=self._is_dry_run
        )
        if count := self._archive.count_rows("webhooks.ndjson"):
            done.warn(f"{count} webhooks are not imported, because an export has no secrets. Create them here")
        if self._import.cursor is None:  # they are said once
            self.warnings = done.warnings
        shared = canonical_or_lower(self._archive.shared_domain)
        self.hosts.update(dict.fromkeys(self._references.hosts.keys() - {shared}, 0))

    async def _step(self) -> None:
        """Do what a batch needs. Each step adds what is not here yet."""
        phase, at = self._cursor["phase"], self._cursor["at"] or 0
        step, size = self._steps[phase]
        if self._batches is None:
            self._batches = self._read_images(at) if phase == "images.tar" else self._archive.read(phase, size, at)
        rows = await self._keeping_lease(_next(self._batches))
        done = Page()
        if rows:
            await step(rows, done, {"phase": phase, "at": at + len(rows)})
            return
        self._batches = None
        phases = [*self._steps, "end"]
        if self._is_dry_run and not self.counts.updated and not self.counts.unchanged:
            done.counts.aliases = self._archive.count_rows("aliases.ndjson")
            done.counts.clicks = self._archive.count_rows("clicks.ndjson")
        async with self._write(done, {"phase": phases[phases.index(phase) + 1], "at": None}):
            pass

    # ── links ───────────────────────────────────────────────────────────────────────────────────────────────────────

    async def _add_links(self, rows: Rows, done: Page, cursor: Cursor) -> None:
        done.counts.found = len(rows)
        drafts = await self._read_links(rows, done)
        async with self._write(done, cursor, self._archive.count_rows("links.ndjson")) as tx:
            if self._is_dry_run:
                await self._plan_links(tx, drafts, done)
            else:
                await self._store_links(tx, drafts, done)
                await link_store.record_route_changes(tx, done.changes, self._deps.clock())

    async def _read_links(self, rows: Rows, done: Page) -> dict[UUID, _New]:
        accepted: list[tuple[LinkRow, Url]] = []
        for row in rows:
            try:
                parsed = LinkRow.model_validate(row)
                self.hosts[parsed.hostname] += 1
                accepted.append((parsed, await destinations.parse(self._deps, parsed.destination_url)))
            except (Refused, ValidationError) as error:
                done.refuse(str(row.get("id", "?")), _reason(error))
        async with self._deps.db.read() as tx:
            looping = await domains.find_custom_domains(tx, self._account_id, {url.host for _, url in accepted})
        drafts: dict[UUID, _New] = {}
        for link, url in accepted:
            if url.host in looping:
                done.refuse(str(link.id), LOOP)
            else:
                drafts[rules.key_of(self._account_id, SOURCE, str(link.id))] = self._draft(link, url)
        return drafts

    def _draft(self, row: LinkRow, url: Url) -> _New:
        host, own = self._references.host(row.hostname), self._references.pixels
        link = Link(
            id=row.id,
            account_id=self._account_id,
            slug="" if find_slug_problem(row.slug, self._deps.reserved) else row.slug,
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
            pixel_ids=[own[id_] for id_ in row.pixel_ids if id_ in own],
            is_enabled=row.is_enabled,
            clicks=0,
            created_at=row.created_at,
            updated_at=row.updated_at,
        )
        compared = row.model_dump(mode="json") | {"pixel_ids": [str(id_) for id_ in link.pixel_ids]}
        compared |= {"hostname": host.hostname}
        return _New(link, row, blake2b(json.dumps(compared, sort_keys=True).encode(), digest_size=16).hexdigest())

    async def _plan_links(self, tx: Tx, drafts: Mapping[UUID, _New], done: Page) -> None:
        known = await store.find_links(tx, self._account_id, list(drafts))
        done.counts.created = len(drafts) - len(known)
        done.counts.unchanged = sum(known[key][1] == drafts[key].digest for key in known)
        done.counts.updated = len(known) - done.counts.unchanged

    async def _store_links(self, tx: Tx, drafts: Mapping[UUID, _New], done: Page) -> None:
        known = await store.find_links(tx, self._account_id, list(drafts))
        here = await batch.find_all(tx, self._account_id, (link_id for link_id, _ in known.values()))
        owners = await links.find_accounts(tx, [draft.link.id for draft in drafts.values()])
        saved: dict[UUID, tuple[UUID, str]] = {}
        new: list[Link] = []
        sources: dict[UUID, LinkRow] = {}
        for key, draft in drafts.items():
            link_id, digest = known.get(key, (None, ""))
            if link_id in here and digest != draft.digest:
                await self._change(tx, here[link_id], draft, done)
                done.counts.updated += 1
            elif link_id is not None:  # also one that was deleted here
                done.counts.unchanged += 1
            else:
                link_id = new_id() if draft.link.id in owners else draft.link.id
                new.append(replace(draft.link, id=link_id))
            saved[key] = link_id, draft.digest
            sources[link_id] = draft.row
        done.counts.created = await self._add(tx, new, sources, done)
        await store.save_links(tx, self._account_id, saved)
        imported = {link_id: row.imported_clicks for link_id, row in sources.items() if row.imported_clicks}
        await batch.set_imported_clicks(tx, self._account_id, imported)

    async def _add(self, tx: Tx, new: list[Link], sources: Mapping[UUID, LinkRow], done: Page) -> int:
        taken = await batch.reserve_slugs(tx, [link for link in new if link.slug])
        displaced = [link for link in new if not link.slug or link.id in taken]
        generated = await batch.generate_slugs(tx, displaced, self._deps.reserved)
        added = [link for link in new if link.slug and link.id not in taken] + generated
        moved: list[Alias] = []
        for link in generated:
            path = sources[link.id].slug
            if link.domain_id and link.hostname and not aliases.find_path_problem(path):
                moved.append(
                    Alias(new_id(), self._account_id, link.id, link.domain_id, link.hostname, path, link.created_at)
                )
                done.warn("The slug is taken here: the link has another one, and its address as an alias", path)
            else:
                done.warn("The slug is taken here: the link has another one", path)
        texts = {alias.link_id: aliases.to_search_text([alias.path]) for alias in moved}
        await batch.add_all(tx, self._account_id, added, texts)
        for link in added:
            if link.pixel_ids:
                await pixels.attach(tx, link.id, link.pixel_ids)
        done.counts.aliases += await self._insert_aliases(tx, moved, done)
        done.changes += (link.slug for link in added)
        return len(added)

    async def _change(self, tx: Tx, before: Link, draft: _New, done: Page) -> None:
        """Set the fields of the file. The slug stays, and an image that was uploaded."""
        kept = {"id", "slug", "clicks", "og_image_file_name", "og_image_bytes", "created_at", "account_id"}
        kept |= {"starts_at", "click_limit"}
        if before.og_image_file_name:
            kept.add("og_image")
        fields = {name: getattr(draft.link, name) for name in Link.__dataclass_fields__ if name not in kept}
        after = replace(before, **fields)
        if before.domain_id != after.domain_id:
            await domains.change_links_count(tx, before.domain_id, after.domain_id)
        await link_store.save(tx, before, after)
        done.changes.append(before.slug)

    async def _own_ids(self, tx: Tx, ids: Iterable[UUID]) -> dict[UUID, UUID]:
        """Return the ids that links of the file have here."""
        keys = {rules.key_of(self._account_id, SOURCE, str(id_)): id_ for id_ in set(ids)}
        found = await store.find_links(tx, self._account_id, list(keys))
        return {keys[key]: link_id for key, (link_id, _) in found.items()}

    # ── what belongs to links ───────────────────────────────────────────────────────────────────────────────────────

    async def _add_aliases(self, rows: Rows, done: Page, cursor: Cursor) -> None:
        parsed = parse_rows(AliasRow, rows, "alias", done.warn)
        async with self._write(done, cursor) as tx:
            own = await self._own_ids(tx, (row.link_id for row in parsed))
            here = await batch.find_all(tx, self._account_id, own.values())
            new = []
            for row in parsed:
                host, link_id = self._references.host(row.hostname), own.get(row.link_id)
                if host.domain_id is None or aliases.find_path_problem(row.path):
                    done.warn("An alias is left out: its domain is not here", f"{row.hostname}/{row.path}")
                elif link_id in here:
                    new.append(
                        Alias(
                            new_id(), self._account_id, link_id, host.domain_id, host.hostname, row.path, row.created_at
                        )
                    )
            done.counts.aliases = await self._insert_aliases(tx, new, done)
            for link_id in {alias.link_id for alias in new}:
                await link_store.save_search_text(tx, here[link_id])
            await link_store.record_route_changes(tx, done.changes, self._deps.clock())

    async def _insert_aliases(self, tx: Tx, new: Sequence[Alias], done: Page) -> int:
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
                done.warn("An alias leads to another link here already", f"{alias.hostname}/{alias.path}")
            elif address not in taken:
                free.setdefault(address, alias)
        await aliases.add_many(tx, list(free.values()))
        done.changes += {alias.hostname for alias in free.values()}
        return len(free)

    async def _add_deleted_links(self, rows: Rows, done: Page, cursor: Cursor) -> None:
        parsed = parse_rows(DeletedLinkRow, rows, "deleted link", done.warn)
        async with self._write(done, cursor) as tx:
            known = await self._own_ids(tx, (row.id for row in parsed))
            owners = await links.find_accounts(tx, [row.id for row in parsed])
            new = {row.id: new_id() if row.id in owners else row.id for row in parsed if row.id not in known}
            added = [(new[row.id], row.slug, row.created_at, row.deleted_at) for row in parsed if row.id in new]
            await account_data.add_deleted_links(tx, self._account_id, added)
            keys = {rules.key_of(self._account_id, SOURCE, str(id_)): (own_id, "") for id_, own_id in new.items()}
            await store.save_links(tx, self._account_id, keys)

    async def _add_styles(self, rows: Rows, done: Page, cursor: Cursor) -> None:
        rows = [row for row in rows if parse_id(str(row.get("link_id")))]
        async with self._write(done, cursor) as tx:
            own = await self._own_ids(tx, (UUID(row["link_id"]) for row in rows))
            here = await batch.find_existing(tx, self._account_id, own.values())
            styles = []
            for row in rows:
                link_id = own.get(UUID(row["link_id"]))
                try:
                    style = NewStyle.model_validate({name: row[name] for name in NewStyle.model_fields}).code_style
                except (ValidationError, KeyError):
                    done.warn("A style of a QR code cannot be read and is left out", row["link_id"])
                    continue
                if link_id in here:
                    styles.append((link_id, style, self._deps.clock()))
            await qrcodes_of_account.add_styles(tx, styles)

    async def _read_images(self, start: int) -> AsyncGenerator[list[ArchivedImage], None]:
        """Yield the images, one by one, with the links that they belong to here."""
        own: dict[str, UUID] = {}
        async for rows in self._archive.read("links.ndjson", _LINKS_AT_ONCE):
            named = {row["uploaded_image"]: parse_id(str(row.get("id"))) for row in rows if row.get("uploaded_image")}
            async with self._deps.db.read() as tx:
                ids = await self._own_ids(tx, filter(None, named.values()))
            own |= {str(name): ids[id_] for name, id_ in named.items() if id_ in ids}
        if own:
            async with aclosing(read_images(self._archive, own, start)) as images:
                async for image in images:
                    yield [image]

    async def _add_image(self, images: list[ArchivedImage], done: Page, cursor: Cursor) -> None:
        """Images are encoded again, like every upload."""
        [image], saved = images, None
        async with self._deps.db.read() as tx:
            here = await batch.find_all(tx, self._account_id, [image.link_id] if image.link_id else [])
        if image.problem:
            done.warn(image.problem)
        if here and _has_no_image(*here.values()):  # otherwise it was set by an earlier run, or changed here
            self._reencoder = self._reencoder or ImageReencoder()
            try:
                encoded = await self._reencoder.reencode(image.content, account=self._account_id)
                saved = await self._deps.image_store.save(encoded)
            except BadImage as error:
                done.warn(f"An image is left out. {error}", str(image.link_id))
        is_used = False
        async with self._write(done, cursor) as tx:
            if saved and image.link_id:
                is_used = await self._use_image(tx, image.link_id, saved, done)
        if saved and not is_used:
            await self._deps.image_store.delete(saved.name)

    async def _use_image(self, tx: Tx, link_id: UUID, image: UploadedImage, done: Page) -> bool:
        try:
            before = await link_store.lock(tx, self._account_id, link_id)
        except NotFound:  # deleted meanwhile
            return False
        if not _has_no_image(before):
            return False
        if not await auth.adjust_image_bytes(tx, self._account_id, image.size, limit=MAX_IMAGES_MB << 20):
            done.warn(f"Images are left out: an account has at most {MAX_IMAGES_MB} MB", str(link_id))
            return False
        await link_store.save(tx, before, replace(before, og_image_file_name=image.name, og_image_bytes=image.size))
        done.changes.append(before.slug)
        await link_store.record_route_changes(tx, done.changes, self._deps.clock())
        return True

    # ── clicks ──────────────────────────────────────────────────────────────────────────────────────────────────────

    async def _add_clicks(self, rows: Rows, done: Page, cursor: Cursor) -> None:
        deps = self._deps
        parsed = [(row, ClickRow.of(row)) for row in rows]
        valid = [click for _, click in parsed if click]
        for row, click in parsed:
            if click is None:
                done.warn("A click cannot be read and is left out", str(row.get("id", "?")))
        async with deps.db.read() as tx:
            own = await self._own_ids(tx, (click.link_id for click in valid))
            kept_since = await find_kept_since(tx)
        clicks = []
        for click in valid:
            link_id = own.get(click.link_id)
            if link_id is None:
                done.warn("Clicks of links that are not in the export are left out", str(click.link_id))
                continue
            id_ = click.id if link_id == click.link_id else _derived_id(click.id, link_id)
            built = click.to_click(id_, link_id, self._account_id)
            if built.day < kept_since:
                done.warn("Clicks that are older than clicks are kept here are left out", str(click.link_id))
            else:
                clicks.append(built)
        unique = list({click.id: click for click in clicks}.values())
        token = blake2b(b"".join(click.id for click in unique), digest_size=16).hexdigest()
        new = await self._keeping_lease(deps.click_writer.send(deps.db, unique, f"import:{token}"))
        async with self._write(done, cursor) as tx:
            done.counts.clicks = await deps.click_writer.add(tx, new)

    async def _add_old_statistics(self, rows: Rows, done: Page, cursor: Cursor) -> None:
        since = self._archive.clicks_since
        kept_since = (since - EPOCH.date()).days if since else 0
        days = [day for row in rows if (day := statistics_import.read_day(row)) and day.day < kept_since]
        async with self._write(done, cursor) as tx:
            if not days:
                return
            if not isinstance(self._deps.click_writer, SqlClickWriter) or not await statistics_import.begin(
                tx, kept_since
            ):
                done.warn(
                    f"Statistics of days before {since} are left out: their clicks were deleted, and this installation"
                    " keeps the clicks of these days"
                )
                return
            own = await self._own_ids(tx, (day.link_id for day in days if day.link_id))
            mapped = [
                day._replace(link_id=own.get(day.link_id)) if day.link_id else day
                for day in days
                if day.link_id is None or day.link_id in own
            ]
            await statistics_import.add(tx, self._account_id, mapped)


async def _next(batches: AsyncIterator[Any]) -> Any:
    return await anext(batches, None)


def _has_no_image(link: Link) -> bool:
    return not link.og_image and not link.og_image_file_name


def _derived_id(click_id: UUID, link_id: UUID) -> UUID:
    """Return an id of the same time, for a copy of a link that is still in this installation."""
    digest = int.from_bytes(blake2b(click_id.bytes, digest_size=7, key=link_id.bytes).digest())
    return UUID(int=click_id.int >> 62 << 62 | digest)


def _reason(error: Exception) -> str:
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        return f"{'.'.join(map(str, first['loc']))}: {first['msg'].removeprefix('Value error, ')}"
    return str(error)
