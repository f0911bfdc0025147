"""Archives with every field of every row replaced by something else: nothing but a message comes of them."""

import json
import zipfile
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

import pytest
from accounts.archived import NOW, exported, furnish
from people import FakeClock, new_person
from resources.imports.importing import new_deps, preview, run

from bench.attacks.inflation import archive
from waypost.database import Database
from waypost.resources.imports.source import SourceError
from waypost.resources.imports.sources.waypost import Waypost

ROUNDS = 12
ODD: list[Any] = [
    *(None, True, 0, -1, 1.5, 2**31, 2**63, 10**30, "", "x", "\0", "a\0b", "\ud800", "\udc00x", " ", "💥" * 300),
    *([], [[]], [None], [1, "x"], ["x"] * 300, {}, {"": {}}, {"a": "\0"}, {"type": []}, "x" * 5_000, float("inf")),
    *("0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999-23:59", "2026-01-01", "01890000-0000-7000-8000-000000000000"),
]


def _broken(value: Any, random: Random) -> Any:
    """Replace, remove or add one thing somewhere within it."""
    if isinstance(value, dict) and value and random.random() < 0.9:
        key = random.choice([*value])
        match random.random():
            case chance if chance < 0.1:
                return {name: each for name, each in value.items() if name != key}
            case chance if chance < 0.15:
                return value | {random.choice(["x", "\ud800", "a\0"]): value[key]}
        return value | {key: _broken(value[key], random)}
    if isinstance(value, list) and value and random.random() < 0.8:
        index = random.randrange(len(value))
        return [*value[:index], _broken(value[index], random), *value[index + 1 :]]
    return random.choice(ODD)


def _storable(row: Any) -> str:
    text = json.dumps(row).replace("Infinity", "1e999")
    for name in ("0000", "d800", "dc00"):
        text = text.replace(f"\\u{name}", "")
    return text if isinstance(row, dict) else "{}"


@pytest.mark.parametrize("seed", [1])
async def test_odd_values_are_left_out_or_damaged_with_the_row_named(
    database_url: str, db: Database, tmp_path: Path, seed: int
) -> None:
    await furnish(db, tmp_path / "old", await new_person(db, "Ada"))
    content = tmp_path / "whole.zip"
    content.write_bytes(await exported(db, tmp_path / "old", "ada@example.com"))
    with zipfile.ZipFile(content) as whole:
        names = [name for name in whole.namelist() if name.endswith(".ndjson")]
        rows = {name: [json.loads(line) for line in whole.read(name).splitlines()][:30] for name in names}
        images = whole.read("images.tar")
    bea, random, messages = await new_person(db, "Bea"), Random(seed), set()
    for number in range(ROUNDS):
        changed = {
            name: [_broken(row, random) if random.random() < 0.3 else row for row in of] for name, of in rows.items()
        }
        if random.random() < 0.9:  # otherwise nothing behind the first damaged row is ever read
            changed = {name: [json.loads(_storable(row)) for row in of] for name, of in changed.items()}
        lines = {name: "".join(f"{json.dumps(row)}\n" for row in of).encode() for name, of in changed.items()}
        path = tmp_path / "damaged.zip"
        path.write_bytes(archive({**lines, "images.tar": images}, clicks_since="2029-12-30"))
        for do in (preview, run):
            try:
                with closing(Waypost.open(path)) as damaged:
                    deps = new_deps(db, FakeClock(NOW), directory=tmp_path)
                    await do(deps, bea, damaged, number=number)
            except SourceError as error:
                messages.add(error.message)
    assert messages
    assert all(" is damaged in row " in message for message in messages), messages
