"""An archive moved into an empty installation is the same there, row by row; a damaged one changes nothing."""

import io
import json
import zipfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from accounts.archived import NOW, exported, furnish, previewed, restored, rewritten, rows, with_file
from people import new_person
from resources.clicks.visited import new_link
from resources.links.added import add_links

from waypost.database import Database
from waypost.resources.clicks.backends.sql.rebuild import check
from waypost.resources.imports.archive import parts
from waypost.resources.imports.archive.reader import BadArchive
from waypost.resources.imports.run import ImportRun
from waypost.resources.imports.sources import waypost as waypost_source
from waypost.resources.links import store


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
        assert b"'=1+1" in (links_csv := moved_zip.read("links.csv"))
        assert b',all,,"\'=1+1\nIn autumn",A/1\r\n' in links_csv

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
    assert [difference async for difference in check(db)] == []
    assert (await restored(db, tmp_path, bea, archive)).counts.unchanged == 6


@pytest.mark.parametrize("is_reserving", [False, True])
async def test_the_slugs_of_deleted_links_are_reserved_only_by_request(
    source: Database, db: Database, tmp_path: Path, *, is_reserving: bool
) -> None:
    """A file proves nothing: it may name every short word as a link that was deleted."""
    await furnish(source, tmp_path / "old", await new_person(source, "Ada"))
    archive = await exported(source, tmp_path / "old", "ada@example.com")
    bea = await new_person(db, "Bea")
    [deleted] = rows(archive)["deleted_links.ndjson"]
    taken = {**deleted, "id": str(uuid4()), "slug": "shop"}
    archive = with_file(archive, "deleted_links.ndjson", f"{json.dumps(deleted)}\n{json.dumps(taken)}\n".encode())
    options = {"reserve_deleted_slugs": True} if is_reserving else {}
    await restored(db, tmp_path, bea, archive, **options)
    async with db.read() as tx:
        owner = await store.find_slug_owner(tx, "shop")
    assert owner == ((bea.account_id, None) if is_reserving else None)
    assert len(rows(await exported(db, tmp_path, "bea@example.com"))["deleted_links.ndjson"]) == 2


async def test_continues_after_an_interruption_at_every_step(
    source: Database, db: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await furnish(source, tmp_path / "old", await new_person(source, "Ada"))
    archive = await exported(source, tmp_path / "old", "ada@example.com")
    bea = await new_person(db, "Bea")
    monkeypatch.setattr(parts, "_CLICKS_AT_ONCE", 50)
    monkeypatch.setattr(waypost_source, "_LINKS_AT_ONCE", 2)
    apply, left = ImportRun._apply, 0

    async def interrupted(self: ImportRun, *arguments: Any) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise KeyboardInterrupt
        await apply(self, *arguments)

    monkeypatch.setattr(ImportRun, "_apply", interrupted)
    for left in range(0, 40, 3):  # noqa: B007  # read by `interrupted`
        with suppress(KeyboardInterrupt):
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
        await add_links(tx, [other])
    report = await restored(db, tmp_path, await new_person(db, "Bea"), archive)
    assert any("its address as an alias" in warning for warning in report.warnings)
    moved = rows(await exported(db, tmp_path, "bea@example.com"))
    assert {alias["path"] for alias in moved["aliases.ndjson"]} == {"slug-1", "Über/uns"}


async def test_a_changed_link_keeps_what_was_set_here_and_is_not_in_the_archive(
    source: Database, db: Database, tmp_path: Path
) -> None:
    ada, bea = await new_person(source, "Ada"), await new_person(db, "Bea")
    before = new_link(ada.account_id, slug="spring")
    async with source.write() as tx:
        await add_links(tx, [before])
    await restored(db, tmp_path, bea, await exported(source, tmp_path, "ada@example.com"))
    async with db.write() as tx:
        moved = await store.get(tx, bea.account_id, before.id)
        await store.save(tx, [(moved, replace(moved, starts_at=NOW, click_limit=5))])
    async with source.write() as tx:
        await store.save(tx, [(before, replace(before, title="Summer"))])
    report = await restored(db, tmp_path, bea, await exported(source, tmp_path, "ada@example.com"))
    assert report.counts.updated == 1
    async with db.read() as tx:
        after = await store.get(tx, bea.account_id, before.id)
    assert (after.title, after.starts_at, after.click_limit) == ("Summer", NOW, 5)


async def test_a_dry_run_changes_nothing(source: Database, db: Database, tmp_path: Path) -> None:
    await furnish(source, tmp_path / "old", await new_person(source, "Ada"))
    archive = await exported(source, tmp_path / "old", "ada@example.com")
    report = await previewed(db, tmp_path, await new_person(db, "Bea"), archive)
    assert (report.counts.found, report.counts.created) == (6, 6)
    assert rows(await exported(db, tmp_path, "bea@example.com"))["links.ndjson"] == []


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
        await add_links(tx, [link])
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
