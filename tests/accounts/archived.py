"""Accounts with one of everything, and their archives."""

import hashlib
import io
import json
import zipfile
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from contexts import new_context
from people import START, FakeClock, Person
from PIL import Image
from resources.clicks.visited import fill, new_click, new_link
from resources.imports.importing import new_deps, preview, run
from resources.links.added import add_links
from sqlalchemy import delete, insert

from waypost.accounts import get_account
from waypost.accounts.data.archive import contents
from waypost.accounts.data.archive.parts import MANIFEST
from waypost.context import Context
from waypost.database import Database
from waypost.kit.ids import new_id
from waypost.packages import RESOURCES
from waypost.resources.clicks.backends.sql.rebuild import rebuild
from waypost.resources.clicks.model import click_retention, clicks, visitor_days
from waypost.resources.domains import store as domain_store
from waypost.resources.domains.logos import store as logos
from waypost.resources.domains.model import Domain
from waypost.resources.imports.report import Report
from waypost.resources.imports.sources.waypost import Waypost
from waypost.resources.links import aliases, click_counters, routing, store
from waypost.resources.links.aliases import Alias
from waypost.resources.links.images.media import ReencodedImage
from waypost.resources.links.images.stores import new_image_store
from waypost.resources.links.routing import LinkRouting, RuleJson, VariantJson
from waypost.resources.links.routing.model import ConditionJson
from waypost.resources.qrcodes import account_data as qrcodes
from waypost.resources.qrcodes.logos.preparing import prepare
from waypost.resources.qrcodes.style import CodeStyle
from waypost.settings import Settings

NOW = START + timedelta(days=5)
IPHONE: ConditionJson = {"type": "platform", "operator": "in", "values": ["iOS"]}


def export_context(db: Database, directory: Path) -> Context:
    return new_context(db, FakeClock(NOW), directory=directory, base_url="http://go.test")


async def exported(db: Database, directory: Path, email: str) -> bytes:
    account = await get_account(db, email)
    return b"".join(
        [chunk async for chunk in contents.write_archive(export_context(db, directory), RESOURCES, account)]
    )


async def restored(
    db: Database, directory: Path, who: Person, content: bytes, changes: list[str] | None = None, **options: Any
) -> Report:
    """Import an archive. `changes`: gets the routes that change."""
    path = directory / "given.zip"
    path.write_bytes(content)
    with closing(Waypost.open(path)) as archive:
        return await run(new_deps(db, FakeClock(NOW), changes, directory=directory), who, archive, **options)


async def previewed(db: Database, directory: Path, who: Person, content: bytes) -> Report:
    path = directory / "given.zip"
    path.write_bytes(content)
    with closing(Waypost.open(path)) as archive:
        return await preview(new_deps(db, FakeClock(NOW), directory=directory), who, archive)


def rewritten(content: bytes, change: Callable[[dict[str, bytes]], None]) -> bytes:
    """The archive with other files. `change`: gets their contents by name."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    change(files)
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return target.getvalue()


def with_file(content: bytes, name: str, data: bytes) -> bytes:
    """The archive with another content of one of its files."""

    def replace_file(files: dict[str, bytes]) -> None:
        manifest = json.loads(files[MANIFEST])
        manifest["files"][name] |= {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
        files |= {name: data, MANIFEST: json.dumps(manifest).encode()}

    return rewritten(content, replace_file)


def with_links(content: bytes, edit: Callable[[dict[str, Any]], object]) -> bytes:
    """The archive with other rows of links."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        links = [json.loads(line) for line in archive.read("links.ndjson").splitlines()]
    for row in links:
        edit(row)
    return with_file(content, "links.ndjson", b"".join(json.dumps(row).encode() + b"\n" for row in links))


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
        "tags.ndjson": ("id", "created_at", "updated_at"),
        "qr_styles.ndjson": ("updated_at",),
        "logos.ndjson": ("updated_at",),
    }.items():
        found[name] = [{key: value for key, value in row.items() if key not in left_out} for row in found[name]]
    first_clicks: dict[str, str] = {}  # each account has visitor ids of its own
    for row in found["clicks.ndjson"]:
        row["visitor_id"] = first_clicks.setdefault(row["visitor_id"], row["id"])
    for name in ("domains.ndjson", "pixels.ndjson", "webhooks.ndjson", "audit_log.ndjson"):
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
        "forward_query": "all",
        "note": "=1+1\nIn autumn",
        "external_id": "A/1",
        "expires_at": START + timedelta(days=1),
    }
    made = [new_link(who.account_id, slug=f"slug-{number}", title=f"Titel {number} ü") for number in range(7)]
    made[0] = replace(made[0], **fields)
    made[1] = replace(made[1], domain_id=domain.id, hostname=domain.hostname, is_enabled=False)
    made[4] = replace(made[4], starts_at=START + timedelta(days=9), click_limit=1_000)
    made[5] = replace(made[5], click_limit=3)
    rules: list[RuleJson] = [
        {"name": "iPhone Ü", "conditions": [IPHONE], "destination_url": "https://example.com/ios?a=%20b"}
    ]
    variants: list[VariantJson] = [{"name": "B", "destination_url": "https://example.com/b", "weight": 50}]
    routed = LinkRouting(made[4].id, who.account_id, START, START, rules, variants, "https://example.com/over")
    picture = io.BytesIO()
    Image.new("RGB", (300, 200), "red").save(picture, "PNG")
    images = new_image_store(Settings(data_dir=directory), db, lambda: START)
    image = await images.save(ReencodedImage(picture.getvalue(), "png"))
    made[2] = replace(made[2], og_image_file_name=image.name, og_image_bytes=image.size)
    async with db.write() as tx:
        await domain_store.add(tx, domain)
        for link in made:
            await add_links(tx, [link])
        address = Alias(new_id(), who.account_id, made[1].id, domain.id, domain.hostname, "Über/uns", START)
        await aliases.add_many(tx, [address])
        await routing.add_many(tx, [routed, LinkRouting(made[5].id, who.account_id, START, START)])
        await click_counters.set_imported_clicks(tx, who.account_id, {made[3].id: 17})
        style = CodeStyle(foreground="#1d4ed8", size=300, logo=True, frame="bottom", frame_text="Menü")
        await qrcodes.add_styles(tx, [(made[0].id, style, START)])
        for owner in (who.account_id, domain.id):
            prepared = prepare(picture.getvalue())
            await logos.save(tx, who.account_id, prepared.of(owner, START), prepared.content)
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
            target=("", "default", "Grüße")[number % 3],
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
        await store.hide(tx, [made[6]], NOW)
