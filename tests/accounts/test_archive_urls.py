"""URLs in archives pass the checks of the API: what it would refuse is left out, with its reason."""

import json
from pathlib import Path
from typing import Any

from accounts.archived import NOW, exported, with_file, with_links
from people import FakeClock, new_person
from resources.clicks.visited import new_link
from resources.imports.importing import new_deps, run
from resources.links.added import add_links
from sqlalchemy import select

from waypost.database import Database
from waypost.kit.urls import PrivateHost
from waypost.outbound import Blocklist, DestinationChecker, Outbound, UrlSafety
from waypost.resources.domains import service as domain_service
from waypost.resources.domains import store as domain_store
from waypost.resources.imports.fitting import UNUSABLE
from waypost.resources.imports.report import Report
from waypost.resources.imports.sources.waypost import Waypost
from waypost.resources.links import Link
from waypost.resources.links.model import COLUMNS, UNTITLED
from waypost.resources.links.rules import UNSAFE

BAD = "https://bad.example/page"


async def restored(db: Database, directory: Path, who_name: str, content: bytes) -> Report:
    """Import an archive where a blocklist has `BAD`."""
    (directory / "given.zip").write_bytes(content)
    (directory / "blocklist").write_text("bad.example\n")
    checker = DestinationChecker(Outbound(), UrlSafety(Blocklist(directory / "blocklist")))
    deps = new_deps(db, FakeClock(NOW), directory=directory, destination_checker=checker)
    archive = Waypost.open(directory / "given.zip")
    try:
        return await run(deps, await new_person(db, who_name), archive)
    finally:
        archive.close()


async def test_urls_of_a_domain_are_checked_like_those_of_the_api(
    source: Database, db: Database, tmp_path: Path
) -> None:
    await new_person(source, "Ada")
    rows = [
        {"hostname": "a.example.com", "root_url": BAD, "not_found_url": "https://good.example/"},
        {"hostname": "b.example.com", "root_url": "https://go.test/", "not_found_url": "http://127.0.0.1/"},
        {"hostname": "c.example.com", "root_url": "https://a.example.com/x", "not_found_url": None},
    ]
    lines = b"".join(json.dumps(row).encode() + b"\n" for row in rows)
    archive = with_file(await exported(source, tmp_path, "ada@example.com"), "domains.ndjson", lines)
    report = await restored(db, tmp_path, "Bea", archive)
    async with db.read() as tx:
        urls = {d.hostname: (d.root_url, d.not_found_url) for _, d in await domain_store.list_all(tx)}
    assert urls == {
        "a.example.com": (None, "https://good.example/"),
        "b.example.com": (None, None),
        "c.example.com": (None, None),
    }
    assert [text for text in report.warnings if "left out" in text] == [
        f"a.example.com: root_url is left out. {domain_service.UNSAFE}",
        f"b.example.com: root_url is left out. {domain_service.LOOP}",
        f"b.example.com: not_found_url is left out. {domain_service.NOT_PUBLIC}",
        f"c.example.com: root_url is left out. {domain_service.LOOP_ON_DOMAIN}",
    ]


async def test_urls_of_links_are_checked_like_those_of_the_api(source: Database, db: Database, tmp_path: Path) -> None:
    ada = await new_person(source, "Ada")
    changed: dict[str, dict[str, Any]] = {
        "unsafe": {"destination_url": BAD},
        "image": {"og_image": "http://localhost/card.png", "title": " "},
        "routed": {"routing": {"fallback_url": BAD}},
    }
    async with source.write() as tx:
        await add_links(tx, [new_link(ada.account_id, slug=slug) for slug in changed])
    archive = with_links(
        await exported(source, tmp_path, "ada@example.com"), lambda row: row.update(changed[row["slug"]])
    )
    report = await restored(db, tmp_path, "Bea", archive)
    async with db.read() as tx:
        links = {link.slug: link for link in (Link(*row) for row in await tx.execute(select(*COLUMNS)))}
    assert [row.reason for row in report.refused] == [f"Line 3 of links.ndjson: {UNSAFE}"]
    assert {slug: (link.is_enabled, link.title, link.og_image) for slug, link in links.items()} == {
        "image": (True, UNTITLED, None),
        "routed": (False, "A title", None),
    }
    assert [text for text in report.warnings if "image" in text] == [
        f"The preview image is left out. {PrivateHost()} (image)"
    ]
    assert [text for text in report.warnings if "fallback_url" in text] == [
        f"{UNUSABLE}. fallback_url: {UNSAFE.rstrip('.')} (routed)"
    ]
