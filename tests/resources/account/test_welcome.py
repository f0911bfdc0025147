"""The message of a start: shown once by one of the web processes, and on the first start with a key."""

import os
from pathlib import Path

import pytest

from waypost import auth
from waypost.auth import Account, list_accounts
from waypost.database import Database
from waypost.resources.account.welcome import FILE, show_welcome
from waypost.settings import Settings


async def test_is_shown_once_per_start(tmp_path: Path, db: Database, capsys: pytest.CaptureFixture[str]) -> None:
    settings = Settings(data_dir=tmp_path, secret_key="a key")
    token, writer = os.pipe()
    os.write(writer, b"1")
    os.set_blocking(token, False)
    await show_welcome(settings, db, token)
    shown = capsys.readouterr().out
    assert ("Waypost is ready" in shown, FILE in shown, "wp_live_" in shown) == (True, True, False)
    file = tmp_path / FILE
    assert ("wp_live_" in file.read_text(), file.stat().st_mode & 0o777) == (True, 0o600)
    await show_welcome(settings, db, token)  # another process, or this one after a restart
    assert capsys.readouterr().out == ""
    os.close(token)
    os.close(writer)


async def test_creates_no_key_that_cannot_be_shown(tmp_path: Path, db: Database) -> None:
    (tmp_path / "file").touch()
    settings = Settings(data_dir=tmp_path / "file", secret_key="a key")  # nothing can be written there
    token, writer = os.pipe()
    os.write(writer, b"1")
    await show_welcome(settings, db, token)
    assert await list_accounts(db) == []
    os.close(token)
    os.close(writer)


async def test_only_the_first_of_two_nodes_creates_the_owner(
    tmp_path: Path, db: Database, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def nobody_yet(_: Database) -> list[Account]:
        return []

    monkeypatch.setattr(auth, "list_accounts", nobody_yet)  # what both read before either created it
    for node in ("first", "second"):
        token, writer = os.pipe()
        os.write(writer, b"1")
        await show_welcome(Settings(data_dir=tmp_path / node, secret_key="a key"), db, token)
        os.close(token)
        os.close(writer)
    assert "Create another API key" in capsys.readouterr().out
    assert [(tmp_path / node / FILE).exists() for node in ("first", "second")] == [True, False]
    monkeypatch.undo()
    assert len(await list_accounts(db)) == 1
