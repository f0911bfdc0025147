"""What is written down is what there is: settings, commands, the API, dependencies, links from page to page."""

import json
import re
import tomllib
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import pytest
from architecture.code import ROOT, texts
from architecture.facts import BARE, CODES, ENDPOINTS, KIT_ERRORS, OTHER, SIGNED
from cyclopts import App

from waypost.cli import app
from waypost.settings import PREFIX, SECRETS, Settings

SETTINGS_PAGE = ROOT / "docs" / "operate" / "settings.md"
COMMANDS_PAGE = ROOT / "docs" / "operate" / "commands.md"
API_PAGE = ROOT / "docs" / "reference" / "api.md"
LINK = re.compile(r"\]\((?!\w+:|#)([^)#\s]+)")
FILES = {f"{name}_file" for name in SECRETS}
OF_CLIENTS = {"api_key", "url", "hostname"}  # the last two in the configuration of WordPress
CODE = re.compile(r"^```.*?^```|`[^`\n]+`", re.DOTALL | re.MULTILINE)


def commands(of: App = app, name: str = "waypost") -> Iterator[tuple[str, App]]:
    for each in of:
        if not each.startswith("-"):
            inner = of[each]
            nested = list(commands(inner, f"{name} {each}"))
            yield from nested or [(f"{name} {each}", inner)]


def options(command: App) -> set[str]:
    arguments = command.assemble_argument_collection()
    return {name for argument in arguments for name in argument.names if name.startswith("--")}


COMMANDS = dict(commands())


def test_finds_the_commands_and_their_options() -> None:
    assert {"waypost serve", "waypost account create", "waypost key revoke"} <= set(COMMANDS)
    assert {"--workers", "--data-dir"} <= options(COMMANDS["waypost serve"])
    assert "--json" in options(COMMANDS["waypost key list"])


def test_every_setting_is_explained() -> None:
    rows = re.findall(rf"`{PREFIX}(\w+)`", SETTINGS_PAGE.read_text())
    assert {name.lower() for name in rows} - FILES == set(Settings.model_fields)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_is_explained(command: str) -> None:
    page = COMMANDS_PAGE.read_text()
    assert f"`{command}" in page
    assert {option for option in options(COMMANDS[command]) if option not in page} == set()


@pytest.mark.parametrize("path", texts(), ids=lambda path: str(path.relative_to(ROOT)))
def test_no_unknown_command_or_setting_is_mentioned(path: Path) -> None:
    code = "\n".join(CODE.findall(path.read_text()))
    named = set(  # not of `docker compose exec waypost` and `helm install waypost`, where it is something else
        re.findall(
            r"(?<!exec )(?<!install )(?<!upgrade )(?<!namespace )\bwaypost"
            r" ((?:account|member|key|audit|operator|clicks|stats|report|export|webhook|secrets|domain|spool) [\w-]+"
            r"|[a-z]+)",
            code,
        )
    )
    assert {f"waypost {each}" for each in named} <= set(COMMANDS)
    settings = FILES | OF_CLIENTS | set(Settings.model_fields)
    assert {name.lower() for name in re.findall(rf"\b{PREFIX}(\w+)", code)} <= settings


def test_api_page_lists_endpoints_with_scopes() -> None:
    reported = {
        (method, f"/v1{path}", scope)
        for endpoints, scope in re.findall(r"^\| (`[A-Z]+ /.*?) \| (.*?) \|$", API_PAGE.read_text(), re.MULTILINE)
        for method, path in re.findall(r"`([A-Z]+) (/[^`]*)`", endpoints)
    }
    keyed = {(each.method, each.path, f"`{each.scope}`" if each.scope else "any key") for each in ENDPOINTS.values()}
    assert reported == keyed | {(SIGNED.method, SIGNED.path, "none: the URL is signed")}


def test_api_page_lists_errors_with_codes() -> None:
    rows = re.findall(r"^\| (\d{3}(?:, \d{3})*) \| `(\w+)` \|", API_PAGE.read_text(), re.MULTILINE)
    reported = {int(status): code for statuses, code in rows for status in statuses.split(", ")}
    assert reported == {status: CODES.get(status, OTHER) for status in {*CODES, *KIT_ERRORS.values()}}
    bare = re.findall(r"^\| (\d{3}) \| none \|", API_PAGE.read_text(), re.MULTILINE)
    assert sorted(map(int, bare)) == sorted(BARE.values())


def test_every_dependency_has_a_reason() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    expected = [*project["project"]["dependencies"], *chain.from_iterable(project["dependency-groups"].values())]
    names = {re.split(r"[\[<>=~! ]", each)[0] for each in expected}
    npm = json.loads((ROOT / "scripts" / "npm" / "package.json").read_text())
    names |= {*npm["devDependencies"], *npm["optionalDependencies"]}
    page = (ROOT / "CONTRIBUTING.md").read_text()
    rows = re.findall(r"^\| `(@?[\w-]+(?:/[\w-]+)?)` \| *(\S[^|]*)\|", page, re.MULTILINE)
    reported = {name for name, reason in rows if reason.strip()}
    assert names - reported == set()
    assert reported - names == set(), "these are not dependencies any more"


@pytest.mark.parametrize(
    "path",
    [path for path in texts() if "templates" not in path.parts],  # of app stores, whose links have placeholders
    ids=lambda path: str(path.relative_to(ROOT)),
)
def test_every_link_leads_somewhere(path: Path) -> None:
    assert [link for link in LINK.findall(path.read_text()) if not (path.parent / link).exists()] == []


def test_every_test_that_the_security_page_names_is_there() -> None:
    named = set(re.findall(r"`(tests/[^`]+)`", (ROOT / "docs" / "design" / "security.md").read_text()))
    assert len(named) > 20
    assert {path for path in named if not (ROOT / path).exists()} == set()
