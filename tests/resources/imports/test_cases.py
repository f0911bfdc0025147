"""Files as people have them, with what is right in `expected.json`: one of its `outcomes`.

`rows` is how many rows of links a file has. None of them is lost: each is a link afterwards, or is refused.
"""

import json
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from people import new_person
from resources.imports.importing import new_deps, run
from resources.imports.sources.reading import Waits
from sqlalchemy import func, select

from waypost.database import Database
from waypost.outbound import Outbound
from waypost.resources.clicks.model import clicks
from waypost.resources.imports.report import Report
from waypost.resources.imports.source import SourceError, SourceOptions
from waypost.resources.imports.sources import open_source
from waypost.resources.links import Link, find_imported_clicks
from waypost.resources.links.model import COLUMNS

CASES = sorted(path.parent for path in (Path(__file__).parent / "cases").glob("*/*/expected.json"))
SOURCES = {"csv": "csv", "sql": "yourls"}

Fields = dict[str, Any]


async def import_case(db: Database, case: Path, expected: Fields) -> Report | str:
    """Return why it cannot be imported."""
    options = dict(zip(expected["args"][::2], expected["args"][1::2], strict=False))
    zone = options.get("--timezone")
    source_options = SourceOptions(file=case / expected["file"], timezone=ZoneInfo(zone) if zone else None)
    source = open_source(SOURCES[case.parent.name], source_options, Outbound(), Waits())
    alice = await new_person(db, "alice")
    try:
        return await run(new_deps(db), alice, source, clicks="--clicks" in expected["args"])
    except SourceError as error:
        return str(error)


async def links_of(db: Database) -> list[Fields]:
    async with db.read() as tx:
        found = [Link(*row) for row in await tx.execute(select(*COLUMNS))]
        totals = await find_imported_clicks(tx, [link.id for link in found])
        query = select(clicks.c.link_id, func.min(clicks.c.created_at)).group_by(clicks.c.link_id)
        first = dict([*await tx.execute(query)])
    return [
        {
            **{name: getattr(link, name) for name in ("destination_url", "slug", "title", "tags")},
            "status": "active" if link.is_enabled else "inactive",
            "created_at": link.created_at.isoformat(),
            "expires_at": link.expires_at and link.expires_at.isoformat(),
            "imported_clicks": totals.get(link.id, 0),
            "first_click_at": str(first.get(link.id)).replace(" ", "T"),
        }
        for link in found
    ]


def has_word(words: list[str], texts: list[str]) -> bool:
    return not words or any(word.lower() in text.lower() for word in words for text in texts)


def is_link(found: Fields, expected: Fields, texts: list[str]) -> bool:
    is_said = has_word([expected["or_said"]], texts) if "or_said" in expected else False
    return all(
        value is None or is_said or found[name] == value or (name.endswith("_at") and found[name].startswith(value))
        for name, value in expected.items()
        if name != "or_said"
    )


def is_right(outcome: Fields, found: list[Fields], report: Report) -> bool:
    texts = [*report.warnings, *(row.reason for row in report.refused)]
    reasons = [row.reason for row in report.refused]
    if "error" in outcome or not has_word(outcome.get("said", []), texts):
        return False
    if not all(any(is_link(each, expected, texts) for each in found) for expected in outcome["links"]):
        return False
    if isinstance(outcome["refused"], list):
        places = [(f"Line {row['row'] + 1}: ", f"Row {row['row']} of ") for row in outcome["refused"]]
        return len(reasons) == len(places) and all(
            reason.startswith(place) and has_word(row["reason_has"], [reason])
            for reason, place, row in zip(reasons, places, outcome["refused"], strict=True)
        )
    return outcome["refused"] == "any" or not reasons


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize("case", CASES, ids=lambda path: f"{path.parent.name}/{path.name}")
async def test_loses_and_guesses_nothing(db: Database, case: Path) -> None:
    expected = json.loads((case / "expected.json").read_text())
    report = await import_case(db, case, expected)
    if isinstance(report, str):
        errors = [outcome for outcome in expected["outcomes"] if "error" in outcome]
        assert any(has_word(outcome.get("said", expected.get("said", [])), [report]) for outcome in errors), report
        assert await links_of(db) == []
        return
    found, counts, never = await links_of(db), report.counts, expected.get("never", {})
    assert any(is_right(outcome, found, report) for outcome in expected["outcomes"]), (found, report)
    assert counts.created + counts.updated + counts.unchanged + counts.refused == counts.found >= expected["rows"]
    for names, name in (("destinations", "destination_url"), ("titles", "title"), ("imported_clicks",) * 2):
        assert not {each[name] for each in found}.intersection(never.get(names, []))
    assert all(each["created_at"] >= never.get("before", "") for each in found)
