"""An archive moved into an empty installation is the same there, row by row; a damaged one changes nothing."""

import contextlib
import io
import json
import shutil
import zipfile
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from people import START, FakeClock, Person, new_person
from PIL import Image
from resources.clicks.visited import fill, new_click, new_link
from resources.imports.importing import new_deps
from sqlalchemy import delete, insert

from waypost.auth import get_account
from waypost.auth.deps import Deps as AuthDeps
from waypost.database import Database
from waypost.kit.ids import new_id
from waypost.resources import aliases
from waypost.resources.account.archive import contents, restore
from waypost.resources.account.archive.reader import Archive, BadArchive
from waypost.resources.account.archive.restore import Restore, RestoreDeps
from waypost.resources.account.deps import ExportDeps
from waypost.resources.aliases import Alias
from waypost.resources.clicks.model import click_retention, clicks, visitor_days
from waypost.resources.clicks.sql_store import SqlClickStore
from waypost.resources.clicks.stats.rebuild import check, rebuild
from waypost.resources.domains import store as domain_store
from waypost.resources.domains.model import Domain
from waypost.resources.imports.report import Report
from waypost.resources.links import account_data, batch, store
from waypost.resources.links.image_files import ImageFiles
from waypost.resources.links.images import ReencodedImage
from waypost.resources.qrcodes import account_data as qrcodes
from waypost.resources.qrcodes.style import CodeStyle

NOW = START + timedelta(days=5)


@pytest.fixture
async def source(sqlite_template: Path, tmp_path: Path) -> AsyncIterator[Database]:
    shutil.copy(sqlite_template, tmp_path / "source.db")
    database = Database(f"sqlite:///{tmp_path / 'source.db'}")
    yield database
    await database.close()


def export_deps(db: Database, directory: Path) -> ExportDeps:
    auth = AuthDeps(db, "http://go.test", "open", "trial", 14, False, [b"key"], FakeClock(NOW))
    return ExportDeps(auth, SqlClickStore(), ImageFiles(directory / "media"), "go.test", "go.test")


async def exported(db: Database, directory: Path, email: str) -> bytes:
    account = await get_account(db, email)
    return b"".join([chunk async for chunk in contents.write_archive(export_deps(db, directory), account)])


async def restored(db: Database, directory: Path, who: Person, content: bytes, **options: Any) -> Report:
    path = directory / "given.zip"
    path.write_bytes(content)
    archive = Archive.open(path)
    deps = RestoreDeps(new_deps(db, FakeClock(NOW)), ImageFiles(directory / "media"), ["go.test"])
    try:
        return await Restore(deps, archive, who.account_id, options.pop("domains", {}), **options).run()
    finally:
        archive.close()


def rows(content: bytes) -> dict[str, list[Any]]:
    """What two installations must have in common."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert archive.testzip() is None
        found = {
            name: [json.loads(line) for line in archive.read(name).splitlines()]
            for name in archive.namelist()
            if name.endswith(".ndjson")
        }
        found["statistics.csv"] = archive.read("statistics.csv").decode().splitlines()
    for name, left_out in {
        "links.ndjson": ("uploaded_image", "og_image", "pixel_ids"),
        "aliases.ndjson": ("id",),
        "qr_styles.ndjson": ("updated_at",),
    }.items():
        found[name] = [{key: value for key, value in row.items() if key not in left_out} for row in found[name]]
    for name in ("domains.ndjson", "pixels.ndjson", "webhooks.ndjson"):
        del found[name]
    return found


async def furnish(db: Database, directory: Path, who: Person) -> None:
    """A link of everything, one deleted since, and clicks of four days, of which retention has deleted the first."""
    domain = Domain.new(who.account_id, "go.example.com", START)
    fields = {
        "tags": ["a", "b,c"],
        "utm_params": {"utm_source": "=mail"},
        "og_title": "=1+1",
        "og_description": "a\nb",
        "expires_at": START + timedelta(days=1),
    }
    made = [new_link(who.account_id, slug=f"slug-{number}", title=f"Titel {number} ü") for number in range(7)]
    made[0] = replace(made[0], **fields)
    made[1] = replace(made[1], domain_id=domain.id, hostname=domain.hostname, is_enabled=False)
    picture = io.BytesIO()
    Image.new("RGB", (300, 200), "red").save(picture, "PNG")
    image = await ImageFiles(directory / "media").save(ReencodedImage(picture.getvalue(), "png"))
    made[2] = replace(made[2], og_image_file_name=image.name, og_image_bytes=image.size)
    async with db.write() as tx:
        await domain_store.add(tx, domain)
        for link in made:
            await store.reserve_slug(tx, link)
            await store.add(tx, link)
        address = Alias(new_id(), who.account_id, made[1].id, domain.id, domain.hostname, "Über/uns", START)
        await aliases.add_many(tx, [address])
        await batch.set_imported_clicks(tx, who.account_id, {made[3].id: 17})
        await qrcodes.add_styles(tx, [(made[0].id, CodeStyle(foreground="#1d4ed8", size=300), START)])
    visits = [
        new_click(
            made[number % 7],
            START - timedelta(days=1) + timedelta(minutes=number * 17),
            kind=("human", "human", "crawler", "preview")[number % 4],
            visitor_id=number % 5 - 2,
            is_scan=number % 6 == 0,
            referrer="=cmd|'/c calc'!A1",
            bot="Bot" if number % 4 == 2 else None,
            ip="192.0.2.7",
        )
        for number in range(300)
    ]
    await fill(db, visits)
    await rebuild(db)
    first = min(visit.day for visit in visits)
    async with db.write() as tx:
        for table in (clicks, visitor_days):
            await tx.execute(delete(table).where(table.c.day == first))
        await tx.execute(insert(click_retention), {"id": 1, "kept_since": first + 1})
        await account_data.delete_batch(tx, who.account_id, NOW, batch_size=0)
        await store.mark_deleted(tx, [made[6]], NOW)


async def test_moves_everything_into_an_empty_installation(source: Database, db: Database, tmp_path: Path) -> None:
    await furnish(source, tmp_path / "old", await new_person(source, "Ada"))
    archive = await exported(source, tmp_path / "old", "ada@example.com")
    bea = await new_person(db, "Bea")
    report = await restored(db, tmp_path, bea, archive)
    assert (report.counts.created, report.counts.refused, report.refused) == (6, 0, [])
    moved = await exported(db, tmp_path, "bea@example.com")
    assert rows(moved) == rows(archive)
    assert len(rows(moved)["old_statistics.ndjson"]) > 1
    assert report.counts.clicks == len(rows(moved)["clicks.ndjson"]) > 200
    assert [difference async for difference in check(db)] == []
    with zipfile.ZipFile(io.BytesIO(moved)) as moved_zip:
        assert len(moved_zip.read("images.tar")) > 1_024
        assert b"'=1+1" in moved_zip.read("links.csv")

    again = await restored(db, tmp_path, bea, archive)
    assert (again.counts.created, again.counts.updated, again.counts.unchanged) == (0, 0, 6)
    assert (again.counts.aliases, again.counts.clicks) == (0, 0)
    assert rows(await exported(db, tmp_path, "bea@example.com")) == rows(archive)


async def test_copies_links_into_another_account_of_the_same_installation(db: Database, tmp_path: Path) -> None:
    await furnish(db, tmp_path, await new_person(db, "Ada"))
    archive = await exported(db, tmp_path, "ada@example.com")
    bea = await new_person(db, "Bea")
    report = await restored(db, tmp_path, bea, archive)
    assert report.counts.created == 6
    assert any("go.example.com cannot be registered" in warning for warning in report.warnings)
    before, after = rows(archive), rows(await exported(db, tmp_path, "bea@example.com"))
    assert sorted(link["title"] for link in after["links.ndjson"]) == sorted(
        link["title"] for link in before["links.ndjson"]
    )
    assert len(after["clicks.ndjson"]) == len(before["clicks.ndjson"])
    assert rows(await exported(db, tmp_path, "ada@example.com")) == before
    assert (await restored(db, tmp_path, bea, archive)).counts.unchanged == 6


async def test_continues_after_an_interruption_at_every_step(
    source: Database, db: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await furnish(source, tmp_path / "old", await new_person(source, "Ada"))
    archive = await exported(source, tmp_path / "old", "ada@example.com")
    bea = await new_person(db, "Bea")
    monkeypatch.setattr(restore, "_CLICKS_AT_ONCE", 50)
    monkeypatch.setattr(restore, "_LINKS_AT_ONCE", 2)
    begin, left = Restore._write, 0

    def interrupted(self: Restore) -> Any:
        nonlocal left
        left -= 1
        if left < 0:
            raise KeyboardInterrupt
        return begin(self)

    monkeypatch.setattr(Restore, "_write", interrupted)
    for left in range(0, 40, 3):  # noqa: B007  # read by `interrupted`
        with contextlib.suppress(KeyboardInterrupt):
            await restored(db, tmp_path, bea, archive)
            break
    else:
        raise AssertionError
    assert rows(await exported(db, tmp_path, "bea@example.com")) == rows(archive)
    assert [difference async for difference in check(db)] == []


async def test_a_slug_that_another_account_has_becomes_an_alias(source: Database, db: Database, tmp_path: Path) -> None:
    await furnish(source, tmp_path / "old", await new_person(source, "Ada"))
    archive = await exported(source, tmp_path / "old", "ada@example.com")
    other = new_link((await new_person(db, "Carl")).account_id, slug="slug-1")
    async with db.write() as tx:
        await store.reserve_slug(tx, other)
        await store.add(tx, other)
    report = await restored(db, tmp_path, await new_person(db, "Bea"), archive)
    assert any("its address as an alias" in warning for warning in report.warnings)
    moved = rows(await exported(db, tmp_path, "bea@example.com"))
    assert {alias["path"] for alias in moved["aliases.ndjson"]} == {"slug-1", "Über/uns"}


async def test_a_dry_run_changes_nothing(source: Database, db: Database, tmp_path: Path) -> None:
    await furnish(source, tmp_path / "old", await new_person(source, "Ada"))
    archive = await exported(source, tmp_path / "old", "ada@example.com")
    report = await restored(db, tmp_path, await new_person(db, "Bea"), archive, is_dry_run=True)
    assert (report.counts.found, report.counts.created) == (6, 6)
    assert rows(await exported(db, tmp_path, "bea@example.com"))["links.ndjson"] == []


def rewritten(content: bytes, change: Callable[[dict[str, bytes]], None]) -> bytes:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    change(files)
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return target.getvalue()


def with_manifest(**fields: Any) -> Callable[[dict[str, bytes]], None]:
    def change(files: dict[str, bytes]) -> None:
        files["manifest.json"] = json.dumps(json.loads(files["manifest.json"]) | fields).encode()

    return change


def without(name: str) -> Callable[[dict[str, bytes]], None]:
    def change(files: dict[str, bytes]) -> None:
        del files[name]

    return change


def _bomb(files: dict[str, bytes]) -> None:
    files["clicks.ndjson"] = bytes(50 << 20)


HOSTILE: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "truncated": (lambda content: content[: len(content) // 2], "not a complete ZIP file"),
    "not a ZIP": (lambda _: b"hello", "not a complete ZIP file"),
    "changed": (
        lambda content: rewritten(content, lambda files: files.update({"links.ndjson": b"{}\n"})),
        "links.ndjson differs from its checksum",
    ),
    "file missing": (
        lambda content: rewritten(content, lambda files: files.pop("clicks.ndjson") and None),
        "incomplete",
    ),
    "no manifest": (
        lambda content: rewritten(content, lambda files: files.pop("manifest.json") and None),
        "not an export",
    ),
    "newer": (lambda content: rewritten(content, with_manifest(version=2)), "has version 2 of the format"),
    "another format": (lambda content: rewritten(content, with_manifest(format="x")), "not an export of Waypost"),
    "bomb": (lambda content: rewritten(content, _bomb), "clicks.ndjson grows to 52,428,800 bytes"),
    "flipped bytes": (lambda content: content[:400] + bytes(20) + content[420:], "damaged|checksum"),
}


@pytest.mark.parametrize("name", HOSTILE)
async def test_refuses_an_archive_before_anything_is_written(name: str, source: Database, tmp_path: Path) -> None:
    spoil, message = HOSTILE[name]
    ada = await new_person(source, "Ada")
    async with source.write() as tx:
        link = new_link(ada.account_id, slug="spring")
        await store.reserve_slug(tx, link)
        await store.add(tx, link)
    archive = await exported(source, tmp_path, "ada@example.com")
    bea = await new_person(source, "Bea")
    with pytest.raises(BadArchive, match=message):
        await restored(source, tmp_path, bea, spoil(archive))
    assert rows(await exported(source, tmp_path, "bea@example.com"))["links.ndjson"] == []


async def test_names_of_entries_are_never_paths(source: Database, tmp_path: Path) -> None:
    await new_person(source, "Ada")
    archive = rewritten(
        await exported(source, tmp_path, "ada@example.com"), lambda files: files.update({"../../evil.txt": b"evil"})
    )
    await restored(source, tmp_path, await new_person(source, "Bea"), archive)
    assert not [*tmp_path.parent.parent.glob("evil.txt"), *tmp_path.rglob("evil.txt")]
