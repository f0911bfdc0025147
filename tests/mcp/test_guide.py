"""docs/guides/mcp.md says what there is."""

import json
import re
import tomllib

import pytest
from architecture.code import ROOT
from architecture.facts import ENDPOINTS

from waypost.mcp.definitions import DEFINITIONS

PAGE = (ROOT / "docs" / "guides" / "mcp.md").read_text()


@pytest.mark.parametrize(("kind", "parse"), [("json", json.loads), ("toml", tomllib.loads)])
def test_configurations_can_be_read(kind: str, parse: type) -> None:
    found = re.findall(rf"^```{kind}\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    assert found
    for each in found:
        assert "go.example.com" in str(parse(each))


def test_lists_every_tool_with_its_scope() -> None:
    rows = re.findall(r"^\| (`[a-z_`, ]+`) \| `([a-z:]+)`[ ;]", PAGE, re.MULTILINE)
    listed = {(name, scope) for names, scope in rows for name in re.findall(r"`(\w+)`", names)}
    assert listed == {(each.name, ENDPOINTS[each.operation].scope) for each in DEFINITIONS}


def test_explains_messages_that_exist() -> None:
    package = ROOT / "src" / "waypost"
    files = [*(package / "mcp").glob("*.py"), package / "web" / "guard.py", package / "kit" / "errors.py"]
    source = "".join(path.read_text() for path in files)
    messages = re.findall(r"^\| `([^`]+)` \|", PAGE.partition("## Troubleshooting")[2], re.MULTILINE)
    assert len(messages) > 5
    for message in messages:
        assert all(part.strip() in source for part in message.split("…"))
