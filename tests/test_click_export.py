"""The file of an export: created when it is complete, and never overwrites another."""

import errno
import os
from pathlib import Path

import pytest

from waypost.commands.click_export import ExportFailed, write
from waypost.database import Database
from waypost.resources.clicks.backends.sql import SqlClickStore
from waypost.resources.clicks.store import ExportQuery


async def export(db: Database, to: Path) -> None:
    await write(SqlClickStore(), db, ExportQuery(), "csv", to, shared_domain="go.test")


@pytest.fixture(params=[True, False], ids=["hard links", "none"])
def _links(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    if not request.param:
        monkeypatch.setattr(os, "link", refused)


@pytest.mark.usefixtures("_links")
async def test_writes_a_file_without_hard_links(db: Database, tmp_path: Path) -> None:
    target = tmp_path / "out" / "clicks.csv"
    target.parent.mkdir()
    await export(db, target)
    assert target.read_text().startswith("id,")
    assert target.stat().st_mode & 0o777 == 0o600
    assert [*target.parent.iterdir()] == [target]


@pytest.mark.usefixtures("_links")
async def test_refuses_a_name_taken_meanwhile(db: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "out" / "clicks.csv"
    target.parent.mkdir()
    target.write_text("mine")
    monkeypatch.setattr(Path, "exists", lambda _: False)
    with pytest.raises(ExportFailed, match="File exists"):
        await export(db, target)
    assert target.read_text() == "mine"
    assert [*target.parent.iterdir()] == [target]
