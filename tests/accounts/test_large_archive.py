"""Every field of many links is the same after a move. `ARCHIVE_LINKS` says how many: see `make test-slow`."""

import io
import json
import os
import zipfile
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from typing import Any

from accounts.archived import exported, restored
from accounts.large import add_pixels, fill_account
from people import new_person

from waypost.database import Database

LINKS = int(os.environ.get("ARCHIVE_LINKS", "200"))
COMPARED = (
    "links.ndjson",
    "aliases.ndjson",
    "deleted_links.ndjson",
    "qr_styles.ndjson",
    "clicks.ndjson",
    "statistics.csv",
)


async def test_every_field_of_many_links_arrives(source: Database, db: Database, tmp_path: Path) -> None:
    ada, bea = await new_person(source, "Ada"), await new_person(db, "Bea")
    await fill_account(source, ada, LINKS)
    await add_pixels(db, bea)
    before = await exported(source, tmp_path, "ada@example.com")
    report = await restored(db, tmp_path, bea, before)
    assert (report.counts.created, report.refused) == (LINKS, [])
    after = await exported(db, tmp_path, "bea@example.com")
    for name in COMPARED:
        count = 0
        for count, (theirs, ours) in enumerate(zip_longest(read(before, name), read(after, name)), 1):  # noqa: B007
            assert ours == theirs, name
        assert count > 1, name
    again = await restored(db, tmp_path, bea, after)
    assert (again.counts.unchanged, again.counts.aliases, again.counts.clicks) == (LINKS, 0, 0)


def read(content: bytes, name: str) -> Iterator[Any]:
    """The rows of a file, without what differs in each installation."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        pixels = {row["id"]: row["name"] for row in map(json.loads, archive.read("pixels.ndjson").splitlines())}
        with archive.open(name) as lines:
            for line in lines:
                row = json.loads(line) if name.endswith(".ndjson") else line
                if name == "links.ndjson":
                    row["pixel_ids"] = [pixels[id_] for id_ in row["pixel_ids"]]
                elif name == "aliases.ndjson":
                    del row["id"]
                elif name == "qr_styles.ndjson":
                    del row["updated_at"]
                elif name == "clicks.ndjson":  # `statistics.csv` shows that visitors stay apart
                    del row["visitor_id"]
                yield row
