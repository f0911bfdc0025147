"""`waypost --remote URL`, as a user runs it against a running service, and the completion of shells."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import forked
import pytest
from architecture.code import ROOT
from architecture.test_docs import commands, options
from journeys.service import Service, Website

from waypost.commands import remote

PAGE = (ROOT / "docs" / "guides" / "remote-commands.md").read_text()


@dataclass
class Remote:
    """The command line on a machine without the service."""

    directory: Path
    url: str
    site: str

    def __call__(self, *arguments: str, code: int = 0, by: Any = forked.run, stdin: str = "", **variables: str) -> Any:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("WAYPOST_")}
        done = by(arguments, cwd=self.directory, env=environment | variables, stdin=stdin)
        assert done.returncode == code, done.stdout + done.stderr
        return done

    def run(self, *arguments: str, code: int = 0, by: Any = forked.run) -> Any:
        return self("--remote", self.url, "--key-file", "key", *arguments, code=code, by=by)

    def json(self, *arguments: str) -> Any:
        return json.loads(self.run(*arguments, "--json").stdout)


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Remote]:
    directory = tmp_path_factory.mktemp("remote")
    with Website() as site, Service(tmp_path_factory.mktemp("service")) as service:
        (directory / "key").write_text(f"{service.key}\n")
        yield Remote(directory, service.base_url, site.url)


def test_creates_changes_and_deletes_a_link(here: Remote) -> None:
    made = here.run("link", "create", here.site, "--slug", "sale", "--tag", "a", "--tag", "b c", by=forked.alone)
    assert f"destination_url: {here.site}\n" in made.stdout
    assert "tags: a, b c\n" in made.stdout
    changed = here.json("link", "update", "sale", "--expires-at", "2999-01-01T00:00:00Z", "--title", "Spring")
    assert (changed["expires_at"], changed["title"], changed["tags"]) == (
        "2999-01-01T00:00:00.000000Z",
        "Spring",
        ["a", "b c"],
    )
    removed = here.json("link", "update", changed["id"], "--expires-at", "", "--tag", "", "--status", "inactive")
    assert (removed["expires_at"], removed["tags"], removed["status"]) == (None, [], "inactive")
    assert here.json("link", "get", f"{here.url}/sale") == removed
    assert here.json("link", "stats", "sale", "--interval", "week")["clicks"] == 0
    assert "clicks: 0\n" in here.run("link", "stats", "sale").stdout
    assert here.run("link", "delete", "sale").stderr.startswith("Deleted ")
    assert here.run("link", "get", "sale", code=1).stderr == "The account has no link sale.\n"


def test_lists_links(here: Remote) -> None:
    for slug in ("one", "two", "three"):
        here.run("link", "create", here.site, "--slug", slug, "--tag", "listed")
    shown = here.run("link", "list", "--tag", "listed", "--limit", "2")
    assert [slug for slug in ("one", "two", "three") if f"/{slug} " in shown.stdout] == ["two", "three"]
    assert shown.stderr == "There are more than 2 links: use --limit.\n"
    assert [each["slug"] for each in here.json("link", "list", "--tag", "listed")] == ["three", "two", "one"]
    assert here.json("link", "list", "--search", "nothing") == []


def test_manages_domains(here: Remote) -> None:
    assert "type=TXT name=_waypost.go.brand.test" in here.run("domain", "create", "go.brand.test").stdout
    assert "│ go.brand.test │ pending │" in here.run("domain", "list").stdout
    assert here.json("domain", "verify", "go.brand.test")["status"] == "verifying"
    assert here.json("domain", "get", "GO.brand.test")["hostname"] == "go.brand.test"
    assert here.run("domain", "delete", "go.brand.test").stderr == "Deleted go.brand.test.\n"
    assert here.run("domain", "get", "go.brand.test", code=1).stderr == "The account has no domain go.brand.test.\n"


def test_names_what_is_wrong(here: Remote) -> None:
    refused = here.run("link", "create", "ftp://a.b", "--slug", "a b", code=2).stderr
    assert re.findall(r"^[^:]*", refused, re.MULTILINE) == ["--slug", "URL", ""]
    own = ("link", "list")
    assert "--key-file" in here("--remote", here.url, *own, code=2).stderr
    assert "missing" in here("--remote", here.url, "--key-file", "missing", *own, code=2).stderr
    assert "--remote is the origin" in here("--remote", "go.example", "--key-file", "key", *own, code=2).stderr
    assert "Check --remote" in here("--remote", here.site, "--key-file", "key", *own, code=1).stderr
    assert "--remote URL" in here(*own, code=2).stderr
    assert here("--remote", here.url, *own, code=1, WAYPOST_API_KEY="wp_live_wrong").stderr
    here(f"--remote={here.url}", "--key-file", "-", *own, stdin=(here.directory / "key").read_text())
    assert "link create" in here.run("link", "create", "--help").stdout
    assert "update" in here.run("link", code=2).stderr


def test_says_how_to_install_the_client(
    here: Remote, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "waypost_client", None)
    arguments = ["--remote", here.url, "--key-file", "key", "link", "list"]
    assert remote.app.meta(arguments, exit_on_error=False, result_action="return_value") == 1
    assert "pip install 'waypost[remote]'" in capfd.readouterr().err


def test_every_remote_command_and_option_is_explained() -> None:
    for name, command in commands(remote.app):
        assert f"| `{name.removeprefix('waypost ')}" in PAGE
        assert {option for option in options(command) if option not in PAGE and "client" not in option} == set()


def test_shells_complete_local_and_remote_commands(here: Remote) -> None:
    scripts = {shell: here("completion", shell).stdout for shell in ("bash", "zsh", "fish")}
    typed = ["waypost", "--remote", "https", ":", "//a", "--key-file", "key"]
    for words, expected in (
        ([*typed, "link", ""], "create list get update delete stats"),
        (["waypost", "domain", ""], "list release create get verify delete"),
        ([*typed, "link", "list", "--status", ""], "active inactive"),
    ):
        call = 'source /dev/stdin; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _waypost; echo "${COMPREPLY[@]}"'
        assert _shell("bash", "-c", call, "-", *words, stdin=scripts["bash"]).strip() == expected
    (here.directory / "a.fish").write_text(scripts["fish"])
    completed = "source a.fish; complete -C 'waypost --remote https://a --key-file key link list --status '"
    assert re.findall(r"^(\w+)\t", _shell("fish", "-c", completed, cwd=here.directory), re.MULTILINE) == [
        "active",
        "inactive",
    ]
    assert _shell("zsh", "-n", "/dev/stdin", stdin=scripts["zsh"]) == ""
    assert scripts["zsh"].startswith("#compdef waypost\n")


def _shell(*command: str, stdin: str = "", cwd: Path | None = None) -> str:
    return subprocess.run(command, input=stdin, cwd=cwd, capture_output=True, text=True, check=True).stdout
