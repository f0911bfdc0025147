"""`scripts/release`: each step finds what would go wrong after the tag is pushed, and a walk continues."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from architecture.code import ROOT
from release.test_notes import CHANGELOG

LIGHT = ("tree", "version", "address")
TARGETS = "test-slow test-compiled test-nodes docs test-image test-packages"
FILES = {
    "CHANGELOG.md": CHANGELOG,
    "SECURITY.md": "Write to <security@waypost.org>.\n",
    "docs/container.md": "Pin a version, such as `ghcr.io/waypost/waypost:0.2.0`.\n",
    "src/waypost/version.py": 'VERSION = "0.2.0"\n',
    "src/waypost/commands/clock_check.py": "EARLIEST = datetime(2026, 12, 1, tzinfo=UTC)\n",
    "clients/python/src/waypost_client/version.py": 'VERSION = "0.2.0"\n',
    "clients/typescript/src/version.ts": 'export const VERSION = "0.2.0";\n',
    "clients/typescript/package.json": '{"version": "0.2.0"}\n',
}


def git(project: Path, *arguments: str) -> str:
    named = ["git", "-c", "user.name=a", "-c", "user.email=a@example.com", "-C", project]
    return subprocess.run([*named, *arguments], check=True, capture_output=True, text=True).stdout.strip()


def commit(project: Path) -> None:
    git(project, "add", ".")
    git(project, "commit", "--quiet", "--allow-empty", "--message=all")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "scripts").mkdir()
    for name in ("release", "release-channel", "release-notes", "set-version"):
        shutil.copy(ROOT / "scripts" / name, tmp_path / "scripts")
    (tmp_path / "Makefile").write_text(f".PHONY: {TARGETS}\n{TARGETS}:\n\t@echo made $@ >>.git/made\n")
    git(tmp_path, "init", "--quiet")
    commit(tmp_path)
    return tmp_path


def release(project: Path, *arguments: str, code: int = 0) -> str:
    command = [sys.executable, project / "scripts" / "release", *arguments]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_light_steps_and_the_tag_pass_and_nothing_is_tagged_here(project: Path) -> None:
    said = release(project, "v0.2.0", "--dry-run", *LIGHT, "tag")
    assert (said.count("passed after"), "refs/tags/v0.2.0 to an empty repository" in said) == (4, True)
    assert (git(project, "tag"), "publishes" in said) == ("", False)


@pytest.mark.parametrize(
    ("step", "name", "text", "message"),
    [
        ("tree", "new.txt", "", "The working tree has changes"),
        ("version", "CHANGELOG.md", "", "Expected: ## 0.2.0 - YYYY-MM-DD"),
        ("version", "docs/container.md", "`ghcr.io/waypost/waypost:0.1.0`", "docs/container.md names 0.1.0, not 0.2.0"),
        ("version", "clients/typescript/package.json", '{"version": "0.1.0"}', "package.json does not name 0.2.0"),
        ("version", "src/waypost/commands/clock_check.py", "EARLIEST = datetime(2026, 11, 1,", "the first of 2026-12"),
        ("address", "SECURITY.md", "Write to <security@waypost.example>.", "but security@waypost.example"),
        ("address", "SECURITY.md", "Write to <security@example.org>.", "but security@example.org"),
        ("address", "SECURITY.md", "Write to us.", "but none"),
    ],
)
def test_a_step_says_what_is_wrong(project: Path, step: str, name: str, text: str, message: str) -> None:
    (project / name).write_text(text)
    said = release(project, "0.2.0", step, code=1)
    assert message in said
    assert "What to do: " in said


def test_a_tag_of_another_commit_is_found(project: Path) -> None:
    git(project, "tag", "v0.2.0")
    release(project, "0.2.0", "tree")
    commit(project)
    assert "v0.2.0 exists, and is of another commit" in release(project, "0.2.0", "tree", code=1)


def test_a_walk_continues_where_it_stopped(project: Path) -> None:
    """The step `contract` cannot pass: this project has no environment."""
    first = release(project, "0.2.0", code=1)
    assert first.count("passed after") == 3
    assert "did not pass: contract." in first
    dry = release(project, "0.2.0", "--dry-run", "--skip", "test", "--skip", "dist", code=1)
    assert dry.count("passed before") == 2  # the tree is looked at again
    assert "did not pass: contract, test, dist." in dry
    made = (project / ".git" / "made").read_text().split("\n")
    assert made[:-1] == [f"made {target}" for target in TARGETS.split()]
    commit(project)
    assert "passed before" not in release(project, "0.2.0", code=1)


def test_steps_that_run_beside_each_other_are_all_remembered(project: Path) -> None:
    (project / "Makefile").write_text(f"test-slow:\n\t@{sys.executable} scripts/release 0.2.0 address\n")
    commit(project)
    release(project, "0.2.0", "slow")
    dry = release(project, "0.2.0", "--dry-run", code=1)
    assert re.findall(r"\d+/\d+ (\w+): .*\n    passed before", dry) == ["address", "slow"]


@pytest.mark.parametrize(
    ("tag", "expected"),
    [
        ("v1.4.0", "latest=true\nnpm=latest\n"),
        ("v1.10.0", "latest=true\nnpm=latest\n"),
        ("v1.3.5", "latest=false\nnpm=release-1.3\n"),
        ("v0.9.10", "latest=false\nnpm=release-0.9\n"),
    ],
)
def test_a_fix_of_an_older_release_does_not_become_the_latest(project: Path, tag: str, expected: str) -> None:
    for each in ("v0.9.9", "v1.3.4", "v1.4.0", "v2.0.0-rc.1", "other", *({tag} - {"v1.4.0"})):
        git(project, "tag", each)
    command = [sys.executable, project / "scripts" / "release-channel", tag]
    assert subprocess.run(command, check=True, capture_output=True, text=True).stdout == expected


def test_unknown_steps_and_versions_are_refused(project: Path) -> None:
    assert "there is no step images. Use: tree, version" in release(project, "0.2.0", "images", code=2)
    for version in ((), ("0.2",), ("0.2.0-dry",)):
        assert "give a version such as 1.1.0" in release(project, *version, code=2)


def test_the_workflow_runs_steps_that_exist() -> None:
    steps = [line.split()[0] for line in release(ROOT, "--list").splitlines()]
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "release.yml").read_text())["jobs"]
    runs = [step["run"] for job in jobs.values() for step in job.get("steps", ()) if "run" in step]
    [walked] = [run.split('"$GITHUB_REF_NAME" ')[1].split() for run in runs if "scripts/release " in run]
    assert {*LIGHT, "contract", "dist"} <= set(walked) <= set(steps)


def test_steps_make_targets_that_exist() -> None:
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert set(re.findall(r'shell\("make ([\w-]+)"\)', (ROOT / "scripts" / "release").read_text())) <= set(targets)


def test_a_new_version_is_set_wherever_people_copy_it(project: Path) -> None:
    command = [sys.executable, project / "scripts" / "set-version", "1.0.0"]
    subprocess.run(command, check=True, capture_output=True)
    assert (project / "src/waypost/version.py").read_text() == 'VERSION = "1.0.0"\n'
    assert "waypost/waypost:1.0.0" in (project / "docs/container.md").read_text()
