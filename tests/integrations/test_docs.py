"""The guides of docs/guides/integrations say what the code of integrations/ needs, and with what it was tried."""

import json
import re

import pytest
from architecture.code import ROOT

from integrations.programs import INTEGRATIONS

yaml = pytest.importorskip("yaml", reason="yaml is missing: make test installs it")
PAGES = {path.stem: path.read_text() for path in (ROOT / "docs" / "guides" / "integrations").glob("*.md")}
GUIDES = {name: text for name, text in PAGES.items() if name != "index"}
SCOPE = re.compile(r"`(links:(?:read|write))`")


def test_each_guide_says_with_what_it_was_tried() -> None:
    for name, text in GUIDES.items():
        assert re.search(r"^\*[^*]*\btried (with|in)\b[^*]*\*$", text, re.MULTILINE | re.IGNORECASE), name
        assert f"]({name}.md)" in PAGES["index"]


def test_all_code_is_in_a_guide() -> None:
    """A package is named by its folder, other code by its file."""
    text = "".join(GUIDES.values())
    packages = {path.parent for name in ("package.json", "manifest.json") for path in INTEGRATIONS.glob(f"*/{name}")}
    for path in INTEGRATIONS.rglob("*"):
        named = next((package for package in packages if package in path.parents), path)
        if path.is_file() and path.name != "shorten.mjs":
            assert named.relative_to(ROOT).as_posix() in text


def test_code_to_copy_is_that_of_the_files() -> None:
    shown = re.findall(r"^<!-- (\S+) -->\n```js\n(.*?)^```", GUIDES["zapier"], re.DOTALL | re.MULTILINE)
    assert shown
    assert [(path, (ROOT / path).read_text()) for path, _ in shown] == shown


def test_the_workflow_uses_inputs_and_outputs_of_the_action() -> None:
    action = yaml.safe_load((INTEGRATIONS / "github-action" / "action.yml").read_text())
    page = GUIDES["github-actions"]
    [workflow] = re.findall(r"^```yaml\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    [shorten, _] = yaml.safe_load(workflow)["jobs"]["shorten"]["steps"]
    required = {name for name, each in action["inputs"].items() if each.get("required")}
    assert required <= shorten["with"].keys() <= action["inputs"].keys()
    documented = re.findall(r"^\| `([\w-]+)` \|", page, re.MULTILINE)
    assert documented == [*action["inputs"], *action["outputs"]]
    used = re.findall(r"steps\.waypost\.outputs\.([\w-]+)", workflow)
    assert set(used) <= action["outputs"].keys()
    assert (INTEGRATIONS / "github-action" / action["runs"]["main"]).is_file()


def test_the_plugin_reads_the_constants_of_the_guide() -> None:
    named = re.compile(r"define\('(\w+)'")
    plugin = (INTEGRATIONS / "wordpress" / "waypost-short-links.php").read_text()
    assert named.findall(GUIDES["wordpress"]) == named.findall(plugin)


def test_the_workflows_of_n8n_have_the_nodes_that_the_guide_names() -> None:
    files = [json.loads(path.read_text()) for path in (INTEGRATIONS / "n8n").glob("*.json")]
    names = {node["name"] for workflow in files for node in workflow["nodes"]}
    named = set(re.findall(r"\*\*([^*]+)\*\*", GUIDES["n8n"]))
    assert {
        "Webhook",
        "Sign it",
        "Is it genuine?",
        "Your next step",
        "Create the link",
        "URLs to shorten",
    } <= named & names
    for workflow in files:
        assert "pinData" not in workflow  # no data of a run
        assert all("credentials" not in node for node in workflow["nodes"])


def test_guides_name_the_scopes_that_are_needed() -> None:
    needed = {name: set(SCOPE.findall(text)) for name, text in GUIDES.items() if "API key with" in text}
    both = {"links:read", "links:write"}
    assert [needed.pop(name) for name in ("github-actions", "n8n", "browser-extension")] == [both] * 3
    assert needed
    assert all(scopes == {"links:write"} for scopes in needed.values())
