"""What assistants read about the tools: as short as agreed, and what the API accepts."""

import json
import re
from typing import get_args

import pytest
from architecture.facts import ENDPOINTS

from waypost.kit.urls import UTM_KEYS
from waypost.mcp.definitions import BY_NAME, DEFINITIONS, INSTRUCTIONS, ToolName
from waypost.mcp.server import _TOOLS
from waypost.resources.clicks.filters import ACCOUNT_FILTERS, DEVICES
from waypost.resources.clicks.model import KINDS
from waypost.resources.clicks.parameters import ALL
from waypost.resources.clicks.stats import query
from waypost.resources.links.lists import query as list_query
from waypost.resources.links.model import LinkStatus
from waypost.resources.links.schemas import LinkChange, LinkFields
from waypost.settings.reserved import API_SEGMENTS, RESERVED

MAX_TOKENS = 2_500


def count_tokens(text: str) -> int:
    """An estimate from above: words of more than six letters are two tokens or more, and so is each run of signs.

    It gave 1,659 where the tokenizers cl100k_base and o200k_base gave 1,498 and 1,551.
    """
    return sum(
        -(-len(part) // 6) if part.isalpha() else 1
        for part in re.findall(r"[a-z]+|\d{1,3}|[^\sa-z\d]+", text, re.IGNORECASE)
    )


def test_the_descriptions_are_short() -> None:
    tools = [each.model_dump(mode="json", by_alias=True, exclude_none=True) for each in _TOOLS.values()]
    described = json.dumps({"tools": tools, "instructions": INSTRUCTIONS}, separators=(",", ":"))
    assert 1_000 < count_tokens(described) < MAX_TOKENS


def test_has_the_agreed_tools() -> None:
    assert tuple(_TOOLS) == tuple(BY_NAME) == get_args(ToolName)
    assert len(DEFINITIONS) <= 10
    assert "mcp" in RESERVED & API_SEGMENTS


def test_annotates_what_tools_do() -> None:
    assert {each.name for each in DEFINITIONS if not each.is_read_only} == {
        "create_link",
        "update_link",
        "delete_link",
        "bulk_create_links",
        "qr_code",
    }
    assert {each.name for each in DEFINITIONS if each.is_destructive} == {"update_link", "delete_link"}
    assert {each.name for each in DEFINITIONS if not each.is_idempotent} == {"create_link", "bulk_create_links"}
    for each in DEFINITIONS:
        is_for_readers = each.is_read_only or each.name == "qr_code"  # which needs another scope to change something
        assert is_for_readers is ENDPOINTS[each.operation].scope.endswith(":read")
        annotations = _TOOLS[each.name].annotations
        assert (annotations.read_only_hint, annotations.destructive_hint) == (each.is_read_only, each.is_destructive)


def test_fields_are_those_of_the_api() -> None:
    creating = BY_NAME["create_link"].properties
    assert creating.keys() <= LinkFields.model_fields.keys()
    assert BY_NAME["bulk_create_links"].properties["links"]["items"]["properties"].keys() == creating.keys()
    assert BY_NAME["update_link"].properties.keys() - {"link", "external_id"} <= LinkChange.model_fields.keys()
    assert creating["utm_params"]["description"] == ", ".join(UTM_KEYS)


@pytest.mark.parametrize(
    ("tool", "accepted"),
    [
        ("find_links", {*list_query.FILTERS, "page", "limit"}),
        ("link_stats", {*query.NAMES, "filters", "link"}),
        ("list_clicks", {*ACCOUNT_FILTERS, "filters", "from", "to", "kind", "link", "page", "limit"}),
    ],
)
def test_filters_are_those_of_the_api(tool: str, accepted: set[str]) -> None:
    assert BY_NAME[tool].properties.keys() <= accepted


def test_describes_all_filters_of_the_api() -> None:
    text = BY_NAME["link_stats"].properties["filters"]["description"]
    assert [name for name in re.findall(r"[a-z_]+", text) if name in ACCOUNT_FILTERS] == [
        name for name in ACCOUNT_FILTERS if name != "link_id"
    ]


def test_choices_are_those_of_the_api() -> None:
    clicks = BY_NAME["list_clicks"].properties
    assert tuple(clicks["kind"]["enum"]) == (*KINDS, ALL)
    assert tuple(clicks["device"]["enum"]) == DEVICES
    statistics = BY_NAME["link_stats"].properties
    assert tuple(statistics["interval"]["enum"]) == get_args(query.Interval)
    assert tuple(statistics["compare"]["enum"]) == query.COMPARISONS
    assert tuple(BY_NAME["find_links"].properties["status"]["enum"]) == get_args(LinkStatus)
