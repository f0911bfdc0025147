"""What an installation lacks before others use it."""

import os
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from accounts.test_welcome import begin, show
from structlog.testing import capture_logs

from waypost import installation
from waypost.accounts.setup.welcome import FILE
from waypost.commands.backup import write_backup
from waypost.database import Database
from waypost.kit import clock
from waypost.secret_key import with_secret_key
from waypost.settings import Settings

PUBLIC = "https://go.example.com"


def lacks(**settings: Any) -> dict[str, str]:
    """What needs attention, with its state."""
    chosen = Settings(**{"destination_check": "lenient"} | settings)
    found = [check(chosen, clock.now) for _, check in installation.CHECKS]
    return {finding.check: finding.state for finding in found if finding.advice}


def test_a_trial_on_this_machine_has_no_warnings(tmp_path: Path) -> None:
    for url in ("http://localhost:8000", "http://127.0.0.1:8000", "http://[::1]", "http://waypost.localhost"):
        assert lacks(data_dir=tmp_path, base_url=url) == dict.fromkeys(("base URL", "email", "backup"), "ok")


@pytest.mark.parametrize(
    ("settings", "missing"),
    [
        ({}, {"sign-up", "email", "backup"}),
        ({"signup": "open"}, {"email", "backup"}),
        ({"signup": "invite", "smtp_url": "smtp://mail.example.com"}, {"backup"}),
        ({"base_url": "http://10.1.2.3"}, {"base URL", "email", "backup"}),
        ({"base_url": "https://links.corp.internal"}, {"email", "backup"}),
        ({"database_url": "postgresql://db/waypost"}, {"sign-up", "email"}),
        ({"outbound_allow": ["10.0.0.0/8"]}, {"sign-up", "email", "backup", "outbound"}),
    ],
)
def test_a_service_for_others_lacks_more(tmp_path: Path, settings: dict[str, Any], missing: set[str]) -> None:
    found = lacks(**{"data_dir": tmp_path, "base_url": PUBLIC} | settings)
    assert found == dict.fromkeys(missing, "warning")


async def test_a_backup_of_sqlite_is_known_until_it_is_old(database_url: str, tmp_path: Path) -> None:
    settings = with_secret_key(Settings(data_dir=tmp_path / "data", database_url=database_url))
    asked = {"data_dir": settings.data_dir, "base_url": PUBLIC, "database_url": database_url}
    is_asked = database_url.startswith("sqlite")  # pg_dump leaves no trace
    assert ("backup" in lacks(**asked)) == is_asked
    write_backup(settings, tmp_path / "backup.tar")
    assert "backup" not in lacks(**asked)
    mark = installation.last_backup(settings.data_dir)
    assert mark.stat().st_mode & 0o777 == 0o600
    old = (clock.now() - timedelta(days=9)).timestamp()
    os.utime(mark, (old, old))
    assert ("backup" in lacks(**asked)) == is_asked


async def test_a_start_logs_it_and_the_first_start_leaves_it_in_the_file(db: Database, tmp_path: Path) -> None:
    settings = with_secret_key(Settings(data_dir=tmp_path / "data", base_url=PUBLIC, destination_check="lenient"))
    await begin(settings, db)
    for _ in range(2):
        with capture_logs() as logs:
            await show(settings, db)
        found = [entry["check"] for entry in logs if entry["event"] == "diagnostic finding"]
        assert found == ["sign-up", "email", "backup"]
    text = (settings.data_dir / FILE).read_text()
    assert text.count("Before others use it:") == text.count("- sign-up: everyone can create an account") == 1
