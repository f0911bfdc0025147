"""The version and the commit that operators see."""

import shutil
import subprocess
from pathlib import Path

import pytest

from waypost import version
from waypost.version import VERSION, checked_out_commit
from waypost.web.openapi.document import describe


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    git(tmp_path, "init", "--quiet")
    (tmp_path / "file").write_text("first")
    git(tmp_path, "add", "file")
    git(tmp_path, "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "--quiet", "--message=first")
    return tmp_path


def git(directory: Path, *arguments: str) -> str:
    done = subprocess.run(["git", "-C", directory, *arguments], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def test_a_checkout_has_the_commit_that_is_checked_out(checkout: Path) -> None:
    git(checkout, "tag", "v1.0.0")
    assert checked_out_commit(checkout) == git(checkout, "rev-parse", "HEAD")[:12]


def test_a_changed_checkout_is_dirty(checkout: Path) -> None:
    (checkout / "file").write_text("second")
    assert checked_out_commit(checkout).endswith("+dirty")


def test_the_commit_is_unknown_without_git(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.rmtree(checkout / ".git")
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(checkout.parent))
    assert checked_out_commit(checkout) == ""
    monkeypatch.setenv("PATH", "")
    assert checked_out_commit(checkout) == ""


def test_an_installation_inside_of_another_repository_does_not_have_its_commit(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(version, "_PACKAGE", checkout / "lib" / "site-packages" / "waypost")
    version.built_commit.cache_clear()
    assert version.commit() == ""


def test_the_openapi_document_has_the_version() -> None:
    assert describe([], [], None)["info"]["version"] == VERSION
