"""No version breaks what a release before it promised, until the next major one removes what was deprecated."""

import copy
from collections.abc import Callable
from typing import Any

import pytest
from release.comparison import breaks
from release.contract import announced, contract, numbers, stored, versions

from docs_site.api_pages import deprecated, openapi
from waypost.version import VERSION

Change = Callable[[dict[str, Any]], Any]


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    return openapi()


@pytest.fixture(scope="module")
def promised(document: dict[str, Any]) -> dict[str, Any]:
    return contract(document)


@pytest.mark.parametrize("version", versions()[-2:])
def test_nothing_breaks_that_a_release_promised(promised: dict[str, Any], version: str) -> None:
    """Two releases: the newest may still be in preparation, and be stored again."""
    found = breaks(stored(version), promised, is_major=numbers(VERSION)[0] > numbers(version)[0])
    assert not found, (
        f"These break programs written for {version}: {found}. Keep what they use, and deprecate it if it must go"
        f" (docs/reference/stability.md). While {version} has no tag: scripts/write-release-fixture {version}"
    )


def test_the_changelog_names_what_is_deprecated(document: dict[str, Any]) -> None:
    texts = announced()
    assert [each for each in deprecated(document) if each.partition(":")[0] not in texts] == []


def api(path: str, method: str = "get") -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda each: each["api"]["paths"][f"/api/v1{path}"][method]


def schema(name: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda each: each["api"]["components"]["schemas"][name]


def parameter(each: dict[str, Any], path: str, name: str) -> dict[str, Any]:
    (found,) = [one for one in api(path)(each)["parameters"] if one["name"] == name]
    return found


LINKS, LINK, CREATE = api("/links"), schema("Link"), schema("LinkCreate")
BREAKING: dict[str, Change] = {
    "GET /api/v1/me is gone": lambda each: each["api"]["paths"].pop("/api/v1/me"),
    "DELETE /api/v1/links/{id} is gone": lambda each: each["api"]["paths"]["/api/v1/links/{id}"].pop("delete"),
    "GET /api/v1/links has another operation id": lambda each: LINKS(each).update(operationId="links_all"),
    "GET /api/v1/links needs another scope": lambda each: LINKS(each).update(security=[{"bearer": ["links:write"]}]),
    "GET /api/v1/links parameter tag is gone": lambda each: LINKS(each)["parameters"].remove(
        parameter(each, "/links", "tag")
    ),
    "GET /api/v1/links requires the parameter tag": lambda each: parameter(each, "/links", "tag").update(required=True),
    "parameter per_page has another default: 15": lambda each: parameter(each, "/links", "per_page")["schema"].update(
        default=20
    ),
    "body.slug has the maxLength 3": lambda each: CREATE(each)["properties"]["slug"].update(maxLength=3),
    "body.slug has another pattern": lambda each: CREATE(each)["properties"]["slug"].update(pattern="^a$"),
    "body.slug is required": lambda each: CREATE(each).update(required=["destination_url", "slug"]),
    "body.tags is gone": lambda each: CREATE(each)["properties"].pop("tags"),
    "body.tags may no longer be array": lambda each: CREATE(each)["properties"].update(tags={"type": "string"}),
    "body may no longer have other fields": lambda each: CREATE(each).update(additionalProperties=False),
    "body.event_types[] no longer accepts link.created": lambda each: schema("EventType")(each)["enum"].remove(
        "link.created"
    ),
    "GET /api/v1/links 200.data[].clicks is gone": lambda each: LINK(each)["properties"].pop("clicks"),
    "data[].slug may also be null": lambda each: LINK(each)["properties"]["slug"].update(type=["string", "null"]),
    "data[].status is no longer inactive": lambda each: schema("LinkStatus")(each)["enum"].remove("inactive"),
    "data[].id has another format": lambda each: LINK(each)["properties"]["id"].pop("format"),
    "data[].id may be missing": lambda each: LINK(each)["required"].remove("id"),
    "GET /api/v1/links no longer answers 200": lambda each: LINKS(each)["responses"].pop("200"),
    "POST /api/v1/links may also answer 202": lambda each: api("/links", "post")(each)["responses"].update({"202": {}}),
    "GET /api/v1/links/{id} 200 lacks the header ETag": lambda each: api("/links/{id}")(each)["responses"]["200"][
        "headers"
    ].pop("ETag"),
    "POST /api/v1/links no longer accepts multipart/form-data": lambda each: api("/links", "post")(each)["requestBody"][
        "content"
    ].pop("multipart/form-data"),
    "event link.created is gone": lambda each: each["api"]["webhooks"].pop("link.created"),
    "event link.clicked.data is gone": lambda each: schema("LinkClickedEvent")(each)["properties"].pop("data"),
    "event link.clicked lacks the header X-Signature": lambda each: each["api"]["webhooks"]["link.clicked"]["post"][
        "parameters"
    ].pop(0),
    "setting.base_url is gone": lambda each: each["settings"]["properties"].pop("base_url"),
    "setting.destination_check no longer accepts lenient": lambda each: each["settings"]["properties"][
        "destination_check"
    ]["enum"].remove("lenient"),
    "commands: waypost serve is gone": lambda each: each["commands"].pop("waypost serve"),
    "commands: waypost serve.--port is gone": lambda each: each["commands"]["waypost serve"]["properties"].pop(
        "--port"
    ),
    "commands: waypost import.--url is required": lambda each: each["commands"]["waypost import"]["required"].append(
        "--url"
    ),
    "commands: waypost serve.--role no longer accepts worker": lambda each: each["commands"]["waypost serve"][
        "properties"
    ]["--role"]["enum"].remove("worker"),
    "tools: get_link is gone": lambda each: each["tools"].pop("get_link"),
    "file of the export: tags.ndjson is gone": lambda each: each["names"]["file of the export"].remove("tags.ndjson"),
    "metric: waypost_redirects_total is gone": lambda each: each["names"]["metric"].remove("waypost_redirects_total"),
}


@pytest.mark.parametrize("expected", BREAKING)
def test_finds_what_breaks(promised: dict[str, Any], expected: str) -> None:
    changed = copy.deepcopy(promised)
    BREAKING[expected](changed)
    found = breaks(promised, changed)
    assert [each for each in found if expected in each], found


COMPATIBLE: dict[str, Change] = {
    "an endpoint": lambda each: each["api"]["paths"].update({"/api/v1/new": {"get": {}}}),
    "a field of a response": lambda each: LINK(each)["properties"].update(new={"type": "string"}),
    "a field of a request": lambda each: CREATE(each)["properties"].update(new={"type": "string"}),
    "a parameter": lambda each: LINKS(each)["parameters"].append(
        {"name": "new", "in": "query", "required": False, "schema": {"type": "string"}}
    ),
    "an event": lambda each: schema("EventType")(each)["enum"].append("link.new"),
    "a longer text": lambda each: CREATE(each)["properties"]["slug"].update(maxLength=1000),
    "an error": lambda each: LINKS(each)["responses"].update({"418": {}}),
    "a setting": lambda each: each["settings"]["properties"].update(new={"type": "string"}),
    "an option": lambda each: each["commands"]["waypost serve"]["properties"].update({"--new": {}}),
    "a tool": lambda each: each["tools"].update(new={"type": "object"}),
    "a file": lambda each: each["names"]["file of the export"].append("new.ndjson"),
}


@pytest.mark.parametrize("change", COMPATIBLE)
def test_additions_break_nothing(promised: dict[str, Any], change: str) -> None:
    changed = copy.deepcopy(promised)
    COMPATIBLE[change](changed)
    assert changed != promised
    assert breaks(promised, changed) == []


def test_a_major_version_removes_what_was_deprecated(promised: dict[str, Any]) -> None:
    old, new = copy.deepcopy(promised), copy.deepcopy(promised)
    LINK(old)["properties"]["clicks"]["deprecated"] = True
    del LINK(new)["properties"]["clicks"]
    assert breaks(old, new) != []
    assert breaks(old, new, is_major=True) == []
    del LINK(new)["properties"]["slug"]
    assert breaks(old, new, is_major=True) != []
