"""What this version promises (docs/reference/stability.md), as data: each release stores it for all later ones."""

import json
import lzma
import re
from pathlib import Path
from typing import Any

from architecture.code import ROOT
from architecture.test_docs import COMMANDS
from test_monitoring import METRIC
from test_monitoring import PAGE as METRICS_PAGE

from docs_site.api_pages import openapi
from waypost.accounts.data.archive.contents import README
from waypost.mcp.definitions import DEFINITIONS
from waypost.settings import Settings

DIRECTORY = Path(__file__).parent / "contracts"
_TEXTS = {"description", "summary", "title", "example", "examples", "x-codeSamples", "x-displayName"}
_NAMED = {"properties", "paths", "webhooks", "schemas", "responses", "headers", "content"}
"""Keywords below which keys are names."""

Contract = dict[str, Any]


def contract(document: Contract | None = None) -> Contract:
    """`document`: the OpenAPI document, if there is one already."""
    parts = {
        "api": document or openapi(),
        "settings": Settings.model_json_schema(),
        "commands": {name: _arguments(command) for name, command in COMMANDS.items()},
        "tools": {each.name: each.schema for each in DEFINITIONS},
        "names": {
            "file of the export": re.findall(r"^(\S+\.(?:ndjson|csv|json|tar)) ", README, re.MULTILINE),
            "metric": sorted(set(METRIC.findall(METRICS_PAGE.read_text()))),
        },
    }
    plain: Contract = json.loads(json.dumps(without_texts(parts)))
    for setting in plain["settings"]["properties"].values():
        setting.pop("default", None)  # defaults may change
    del plain["api"]["info"], plain["api"]["servers"], plain["api"]["tags"]
    return plain


def stored(version: str) -> Contract:
    content: Contract = json.loads(lzma.decompress((DIRECTORY / f"{version}.json.xz").read_bytes()))
    return content


def store(version: str) -> None:
    (DIRECTORY / f"{version}.json.xz").write_bytes(lzma.compress(json.dumps(contract(), sort_keys=True).encode()))


def versions() -> list[str]:
    """Versions with a stored contract, oldest first."""
    names = (path.name.removesuffix(".json.xz") for path in DIRECTORY.glob("*.json.xz"))
    return sorted(names, key=numbers)


def numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", version)))


def announced() -> str:
    """All that the changelog says below "Deprecated"."""
    changelog = (ROOT / "CHANGELOG.md").read_text()
    return "\n".join(re.findall(r"^### Deprecated\n(.*?)(?=^##|\Z)", changelog, re.MULTILINE | re.DOTALL))


def without_texts(value: Any, *, has_names: bool = False) -> Any:
    if isinstance(value, list):
        return [without_texts(each) for each in value]
    if not isinstance(value, dict):
        return value
    kept = {key: each for key, each in value.items() if has_names or key not in _TEXTS}
    return {key: without_texts(each, has_names=not has_names and key in _NAMED) for key, each in kept.items()}


def _arguments(command: Any) -> Contract:
    """Describe the arguments of a command as a schema of what it accepts."""
    arguments = command.assemble_argument_collection()
    described = {
        name: {"enum": list(argument.get_choices())} if argument.get_choices() else {}
        for argument in arguments
        for name in argument.names
    }
    required = [name for argument in arguments if argument.required for name in argument.names[:1]]
    return {"type": "object", "properties": described, "required": required, "additionalProperties": False}
