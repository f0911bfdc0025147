"""Checks of apple-app-site-association."""

from typing import Any

import pytest

from waypost.kit.fields import REQUIRED
from waypost.resources.domains.app_links import apple
from waypost.resources.domains.app_links.findings import (
    EMPTY,
    EMPTY_LIST,
    MAX_FINDINGS,
    NO_BOOLEAN,
    NO_LIST,
    NO_OBJECT,
    NO_TEXT,
    UNKNOWN_KEY,
)

APP = "ABCDE12345.com.example.app"


def detail(**rest: Any) -> dict[str, Any]:
    return {"applinks": {"details": [{"appIDs": [APP], "components": [{"/": "/*"}]} | rest]}}


def component(**rest: Any) -> dict[str, Any]:
    return detail(components=[rest])


GOOD = {
    "components": detail(
        appIDs=[APP, "ABCDE12345.com.example.app-2"],
        components=[
            {"#": "no_universal_links", "exclude": True, "comment": "Stays in the browser"},
            {"/": "/help/*", "?": {"articleNumber": "????"}, "caseSensitive": False},
            {"/": "$(lang)/*", "?": "a=?*", "percentEncoded": True},
            {},
        ],
        defaults={"caseSensitive": False, "percentEncoded": True},
    ),
    "the older form": {"applinks": {"apps": [], "details": [{"appID": APP, "paths": ["NOT /a", "/b?", "*", "?"]}]}},
    "every service": detail()
    | {name: {"apps": [APP]} for name in ("webcredentials", "appclips", "activitycontinuation")},
    "variables": {
        "applinks": {**detail()["applinks"], "substitutionVariables": {"lang": ["de", "en"]}, "defaults": {}}
    },
    "nothing": {},
}


@pytest.mark.parametrize("name", GOOD)
def test_a_good_document_has_no_findings(name: str) -> None:
    findings = apple.check(GOOD[name])
    assert (findings.errors.errors, findings.hints.errors) == ({}, {})


D = "applinks.details.0"
BAD: list[tuple[dict[str, Any], str, str]] = [
    ({"applinks": []}, "applinks", NO_OBJECT),
    ({"applinks": {"apps": [APP]}}, "applinks.apps", apple.NOT_EMPTY),
    ({"applinks": {"details": {APP: {"paths": ["*"]}}}}, "applinks.details", NO_LIST),
    ({"applinks": {"details": [APP]}}, D, NO_OBJECT),
    ({"applinks": {"details": [{}]}}, f"{D}.appIDs", apple.NO_APP),
    (detail(appIDs=[]), f"{D}.appIDs", EMPTY_LIST),
    (detail(appIDs=APP), f"{D}.appIDs", NO_LIST),
    (detail(appIDs=[APP, 5]), f"{D}.appIDs.1", NO_TEXT),
    (detail(appIDs=[APP, "com example"]), f"{D}.appIDs.1", apple.APP_ID),
    (detail(appIDs=[f"{APP}\n"]), f"{D}.appIDs.0", apple.APP_ID),
    (detail(appID="ABCDE12345"), f"{D}.appID", apple.APP_ID),
    (detail(paths=[]), f"{D}.paths", EMPTY_LIST),
    (detail(paths=["/a", "b/*"]), f"{D}.paths.1", apple.PATTERN),
    (detail(components={"/": "/*"}), f"{D}.components", NO_LIST),
    (detail(components=["/*"]), f"{D}.components.0", NO_OBJECT),
    (component(**{"/": "buy/*"}), f"{D}.components.0./", apple.PATTERN),
    (component(**{"/": ["/*"]}), f"{D}.components.0./", NO_TEXT),
    (component(**{"?": {"a": 1}}), f"{D}.components.0.?", apple.QUERY),
    (component(**{"?": []}), f"{D}.components.0.?", apple.QUERY),
    (component(**{"#": None}), f"{D}.components.0.#", NO_TEXT),
    (component(comment=1), f"{D}.components.0.comment", NO_TEXT),
    (component(exclude="true"), f"{D}.components.0.exclude", NO_BOOLEAN),
    (detail(defaults={"caseSensitive": 1}), f"{D}.defaults.caseSensitive", NO_BOOLEAN),
    ({"applinks": {"defaults": []}}, "applinks.defaults", NO_OBJECT),
    ({"applinks": {"substitutionVariables": []}}, "applinks.substitutionVariables", NO_OBJECT),
    ({"applinks": {"substitutionVariables": {"a": "b"}}}, "applinks.substitutionVariables.a", NO_LIST),
    ({"applinks": {"substitutionVariables": {"a": [""]}}}, "applinks.substitutionVariables.a.0", EMPTY),
    ({"webcredentials": {}}, "webcredentials.apps", REQUIRED),
    ({"appclips": {"apps": ["x"]}}, "appclips.apps.0", apple.APP_ID),
    ({"activitycontinuation": None}, "activitycontinuation", NO_OBJECT),
]


@pytest.mark.parametrize(("document", "place", "message"), BAD)
def test_names_the_place_of_an_error(document: dict[str, Any], place: str, message: str) -> None:
    assert apple.check(document).errors.errors == {place: [message]}


HINTS: list[tuple[dict[str, Any], str, str]] = [
    ({"applinks": {}}, "applinks.details", apple.NO_DETAILS),
    ({"applinks": {"apps": [], "details": []}}, "applinks.details", apple.NO_DETAILS),
    ({"applinks": {"details": [{"appIDs": [APP]}]}}, D, apple.NO_COMPONENTS),
    (detail(appIDs=["TEAMID.com.example.app"]), f"{D}.appIDs.0", apple.PREFIX),
    ({"appLinks": {}}, "appLinks", UNKNOWN_KEY),
    ({"webcredentials": {"apps": [APP], "details": []}}, "webcredentials.details", UNKNOWN_KEY),
    (detail(path=["*"]), f"{D}.path", UNKNOWN_KEY),
    (component(excluded=True), f"{D}.components.0.excluded", UNKNOWN_KEY),
]


@pytest.mark.parametrize(("document", "place", "message"), HINTS)
def test_hints_refuse_nothing(document: dict[str, Any], place: str, message: str) -> None:
    findings = apple.check(document)
    assert (findings.errors.errors, findings.hints.errors) == ({}, {place: [message]})


def test_reports_a_limited_number() -> None:
    findings = apple.check(detail(appIDs=["x", 5] * 500) | {f"key{number}": 1 for number in range(1_000)})
    assert len(findings.errors.errors) == len(findings.hints.errors) == MAX_FINDINGS
    places = apple.check({"applinks": {"substitutionVariables": {"x" * 60_000: [1] * 1_000}}}).errors.errors
    assert sum(map(len, places)) < 10_000
