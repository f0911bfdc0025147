"""The message of a start: shown once by one of the web processes, and on the first start with a key."""

import os
import re
from pathlib import Path

import pytest

from waypost import accounts
from waypost.accounts.auth_deps import new_deps
from waypost.accounts.setup import service as setup
from waypost.accounts.setup.first_start import PLACEHOLDER
from waypost.accounts.setup.welcome import FILE, show_welcome
from waypost.database import Database
from waypost.kit import clock
from waypost.settings import Settings

OWNER = ("ada@example.com", "four plain words suffice")
CODE = r"browser: http://localhost:8000/setup\?code=(\w{5}-\w{5}-\w{5}-\w{5})\n"


async def begin(settings: Settings, db: Database, email: str = "", password: str = "") -> None:
    await setup.start(new_deps(settings, db, clock.now), email=email, password=password)


async def show(settings: Settings, db: Database) -> None:
    """Once more: a token is read once."""
    token, writer = os.pipe()
    os.write(writer, b"1")
    os.set_blocking(token, False)
    await show_welcome(settings, db, token)
    await show_welcome(settings, db, token)  # another process, or this one after a restart
    os.close(token)
    os.close(writer)


async def count_keys(db: Database) -> list[int]:
    return [len(await accounts.list_keys(db, account.id)) for account in await accounts.list_accounts(db)]


async def test_is_shown_once_per_start(tmp_path: Path, db: Database, capsys: pytest.CaptureFixture[str]) -> None:
    settings = Settings(data_dir=tmp_path, secret_key="a key")
    await begin(settings, db)
    await show(settings, db)
    shown = capsys.readouterr().out
    assert ("Waypost is ready" in shown, shown.count(FILE), "wp_live_" in shown) == (True, 1, False)
    file = tmp_path / FILE
    assert ("wp_live_" in file.read_text(), file.stat().st_mode & 0o777) == (True, 0o600)
    await show(settings, db)
    again = capsys.readouterr().out
    assert (f"waypost account sign-in-link {PLACEHOLDER}" in again, FILE in again) == (True, False)
    assert [len(re.findall(CODE, text)) for text in (shown, again, file.read_text())] == [1, 1, 1]
    assert re.findall(CODE, shown) == re.findall(CODE, again)


async def test_creates_no_key_that_cannot_be_shown_and_the_next_start_shows_one(
    tmp_path: Path, db: Database, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    settings = Settings(data_dir=tmp_path / "file", secret_key="a key")  # nothing can be written there
    await begin(settings, db)
    await show(settings, db)
    shown = capsys.readouterr().out
    assert ("first start not completed" in shown, "Traceback" in shown) == (True, False)
    assert await count_keys(db) == [0]
    await show(settings.model_copy(update={"data_dir": tmp_path}), db)
    assert FILE in capsys.readouterr().out
    assert await count_keys(db) == [1]


async def test_only_the_first_of_two_nodes_creates_the_key(
    tmp_path: Path, db: Database, capsys: pytest.CaptureFixture[str]
) -> None:
    for node in ("first", "second"):
        settings = Settings(data_dir=tmp_path / node, secret_key="a key")
        await begin(settings, db)
        await show(settings, db)
    assert "Create another API key" in capsys.readouterr().out
    assert [(tmp_path / node / FILE).exists() for node in ("first", "second")] == [True, False]
    assert await count_keys(db) == [1]


async def test_a_service_with_a_demo_shows_how_to_set_it_up(
    tmp_path: Path, db: Database, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = Settings(data_dir=tmp_path, secret_key="a key")
    await begin(settings, db)
    await accounts.create_account(db, email="demo@example.com", name="", plan="none", now=clock.now(), trial_days=1)
    await show(settings, db)
    shown = capsys.readouterr().out
    assert (FILE in shown, len(re.findall(CODE, shown))) == (True, 1)
    await show(settings, db)
    again = capsys.readouterr().out
    assert (f"sign-in-link {PLACEHOLDER}" in again, len(re.findall(CODE, again))) == (True, 1)


async def test_an_owner_by_the_settings_needs_no_link_and_no_code(
    tmp_path: Path, db: Database, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = Settings(data_dir=tmp_path, secret_key="a key")
    await begin(settings, db, *OWNER)
    await show(settings, db)
    shown = capsys.readouterr().out
    assert (f"--account {OWNER[0]}" in shown, "/setup" in shown, OWNER[1] in shown) == (True, False, False)
    assert not (tmp_path / FILE).exists()
