"""App links and options of domains, and tags, in archives of accounts."""

from pathlib import Path
from uuid import UUID

import pytest
from accounts.archived import exported, restored, with_file
from people import START, Person, new_person

from waypost.database import Database
from waypost.kit.errors import Problems
from waypost.kit.pagination import PageRequest
from waypost.resources.domains import store as domain_store
from waypost.resources.domains.app_links import documents, store
from waypost.resources.domains.app_links.model import AppLinksTexts
from waypost.resources.domains.app_links.schemas import APPLE_EXAMPLE, GOOGLE_EXAMPLE
from waypost.resources.domains.appearance.model import DomainAppearance
from waypost.resources.domains.appearance.store import APPEARANCES
from waypost.resources.domains.model import Domain
from waypost.resources.domains.options.model import DomainOptions
from waypost.resources.domains.options.store import OPTIONS
from waypost.resources.links.tags import store as tag_store
from waypost.resources.links.tags.model import TagColor

NAMED: list[tuple[str, TagColor]] = [("new", "green"), ("own", "blue"), ("plain", "pink")]
TEXTS = documents.to_texts(APPLE_EXAMPLE, GOOGLE_EXAMPLE, Problems())
OWN = AppLinksTexts("{}", None)


async def domain(db: Database, who: Person, hostname: str, texts: AppLinksTexts = TEXTS) -> UUID:
    made = Domain.new(who.account_id, hostname, START)
    async with db.write() as tx:
        await domain_store.add(tx, made)
        await store.save(tx, made.id, texts)
    return made.id


async def found(db: Database, who: Person) -> dict[str, AppLinksTexts]:
    async with db.read() as tx:
        return {
            domain.hostname: await store.APP_LINKS.find(tx, domain.id)
            for _, domain in await domain_store.list_all(tx)
            if domain.account_id == who.account_id
        }


async def test_arrive_where_the_domain_has_none(source: Database, db: Database, tmp_path: Path) -> None:
    ada, bea, carl = await new_person(source, "Ada"), await new_person(db, "Bea"), await new_person(db, "Carl")
    for name in ("new", "own", "taken", "moved"):
        await domain(source, ada, f"{name}.example.com")
    await domain(source, ada, "none.example.com", AppLinksTexts())
    await domain(db, bea, "own.example.com", OWN)
    await domain(db, bea, "here.example.com", AppLinksTexts())
    await domain(db, carl, "taken.example.com", OWN)
    archive = await exported(source, tmp_path, "ada@example.com")
    changes: list[str] = []
    options = {"domains": {"moved.example.com": "here.example.com"}}
    report = await restored(db, tmp_path, bea, archive, changes, **options)
    assert await found(db, bea) == {
        "new.example.com": TEXTS,
        "none.example.com": AppLinksTexts(),
        "own.example.com": OWN,
        "here.example.com": TEXTS,
    }
    assert await found(db, carl) == {"taken.example.com": OWN}
    assert {"new.example.com", "here.example.com"} <= set(changes)
    assert [text for text in report.warnings if "App links" in text] == [
        "App links are left out: the account does not have their domain (taken.example.com)"
    ]
    changes.clear()
    await restored(db, tmp_path, bea, archive, changes, **options)
    assert changes == []


async def test_wrong_documents_are_left_out(source: Database, db: Database, tmp_path: Path) -> None:
    ada, bea = await new_person(source, "Ada"), await new_person(db, "Bea")
    await domain(source, ada, "go.example.com")
    wrong = ['{"applinks": 5}', "[]"]

    lines = [f'{{"hostname": "go.example.com", "apple_app_site_association": {text}}}\n' for text in wrong]
    archive = with_file(
        await exported(source, tmp_path, "ada@example.com"), "app_links.ndjson", "".join(lines).encode()
    )
    report = await restored(db, tmp_path, bea, archive)
    assert await found(db, bea) == {"go.example.com": AppLinksTexts()}
    assert len([text for text in report.warnings if "pp links" in text]) == 2, report.warnings


async def test_options_arrive_where_they_were_never_changed(source: Database, db: Database, tmp_path: Path) -> None:
    ada, bea = await new_person(source, "Ada"), await new_person(db, "Bea")
    for name in ("new", "own", "none"):
        id_ = await domain(source, ada, f"{name}.example.com", AppLinksTexts())
        if name != "none":
            async with source.write() as tx:
                await OPTIONS.save(tx, id_, DomainOptions(ignore_case=False, updated_at=START))
                await APPEARANCES.save(tx, id_, DomainAppearance("Acme", updated_at=START))
    own = await domain(db, bea, "own.example.com", AppLinksTexts())
    async with db.write() as tx:
        await OPTIONS.save(tx, own, DomainOptions(ignore_case=True, updated_at=START))
        await APPEARANCES.save(tx, own, DomainAppearance(color="#112233", updated_at=START))
    archive = await exported(source, tmp_path, "ada@example.com")
    changes: list[str] = []
    await restored(db, tmp_path, bea, archive, changes)
    async with db.read() as tx:
        stored = {
            each.hostname: (
                (await OPTIONS.find(tx, each.id)).ignore_case,
                (await APPEARANCES.find(tx, each.id))[:2],
            )
            for _, each in await domain_store.list_all(tx)
        }
    assert stored == {
        "new.example.com": (False, ("Acme", None)),
        "own.example.com": (True, (None, "#112233")),
        "none.example.com": (None, (None, None)),
    }
    assert "@new.example.com" in changes, "with all routes and pages of its links"
    changes.clear()
    await restored(db, tmp_path, bea, archive, changes)
    assert changes == []
    wrong = with_file(archive, "domain_options.ndjson", b'{"hostname": "none.example.com", "ignore_case": 5}\n')
    report = await restored(db, tmp_path, bea, wrong)
    assert [text for text in report.warnings if "options of a domain" in text], report.warnings


async def test_tags_arrive_with_colors_where_they_have_none(
    source: Database, db: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada, bea = await new_person(source, "Ada"), await new_person(db, "Bea")
    async with source.write() as tx:
        for name, color in NAMED:
            await tag_store.add(tx, ada.account_id, name, color, START)
    async with db.write() as tx:
        await tag_store.add(tx, bea.account_id, "own", "red", START)
        await tag_store.add(tx, bea.account_id, "plain", "gray", START)
    archive = await exported(source, tmp_path, "ada@example.com")
    await restored(db, tmp_path, bea, archive)
    async with db.read() as tx:
        page = await tag_store.list_page(tx, bea.account_id, "", PageRequest(1, 100))
    assert [(tag.name, tag.color) for tag in page.items] == [("new", "green"), ("own", "red"), ("plain", "pink")]
    monkeypatch.setattr("waypost.resources.imports.archive.extras.MAX_TAGS", 4)
    lines = b'{"name": "a", "color": "teal"}\n{"name": "b", "color": "teal"}\n{"name": "c", "color": "mauve"}\n'
    report = await restored(db, tmp_path, bea, with_file(archive, "tags.ndjson", lines))
    assert len([text for text in report.warnings if "ag" in text]) == 2, report.warnings
    async with db.read() as tx:
        assert (await tag_store.find_colors(tx, bea.account_id, ["a", "b", "c"])) == {"a": "teal"}
