"""Checks an apple-app-site-association document, as Apple describes it for iOS 13 and later, and the older form."""

import re
from collections.abc import Mapping
from typing import Any

from waypost.resources.domains.app_links.findings import EMPTY, Findings, Shape, text

APP_ID = (
    "This must be an app ID: its prefix, which is usually the team ID, a dot, and the bundle ID, such as"
    " ABCDE12345.com.example.app."
)
PREFIX = "The prefix of an app ID has 10 capital letters and digits. Check the part before the first dot."
NO_APP = "Add appIDs: the apps that open the links."
NO_DETAILS = "The list has no app, so no link opens an app."
NO_COMPONENTS = "Add components, which say what URLs open the app."
NOT_EMPTY = "This must be an empty list, or be left out. List the apps in details."
PATTERN = "This must start with / or *, because it is compared with the path of the URL."
QUERY = "This must be a string, or an object whose values are strings."

_APP_ID = text(r"[A-Za-z0-9]+(\.[A-Za-z0-9_-]+)+", APP_ID)
_PREFIX = re.compile(r"[A-Z0-9]{10}\.")


def check(document: Mapping[str, Any]) -> Findings:
    findings = Findings()
    findings.check(document, _DOCUMENT)
    return findings


def _applinks(findings: Findings, value: Any, place: str) -> None:
    findings.check(value, _APPLINKS, place)
    if isinstance(value, dict) and value.get("details", []) == []:
        findings.hint(f"{place}.details", NO_DETAILS)


def _apps(findings: Findings, value: Any, place: str) -> None:
    if value != []:
        findings.add(place, NOT_EMPTY)


def _details(findings: Findings, value: Any, place: str) -> None:
    if value != []:
        findings.check(value, [_detail], place)


def _detail(findings: Findings, value: Any, place: str) -> None:
    findings.check(value, _DETAIL, place)
    if isinstance(value, dict) and not value.keys() & {"appID", "appIDs"}:
        findings.add(f"{place}.appIDs", NO_APP)
    if isinstance(value, dict) and not value.keys() & {"paths", "components"}:
        findings.hint(place, NO_COMPONENTS)


def _query(findings: Findings, value: Any, place: str) -> None:
    values = value.values() if isinstance(value, dict) else [value]
    if not all(isinstance(each, str) for each in values):
        findings.add(place, QUERY)


def _variables(findings: Findings, value: Any, place: str) -> None:
    """Any keys are names of variables."""
    texts: list[Shape] = [text(r"(?s).+", EMPTY)]
    findings.check(value, dict.fromkeys(value, texts) if isinstance(value, dict) else {}, place)


def _app_id(findings: Findings, value: Any, place: str) -> None:
    findings.check(value, _APP_ID, place)
    if isinstance(value, str) and place not in findings.errors and not _PREFIX.match(value):
        findings.hint(place, PREFIX)


def _service(findings: Findings, value: Any, place: str) -> None:
    findings.check(value, {"apps": [_app_id]}, place)
    findings.require(value, place, "apps")


_FLAGS: Mapping[str, Shape] = {"caseSensitive": bool, "percentEncoded": bool}
_PATTERN = r"([/*?]|\$\()(?s:.*)"
_DETAIL: Shape = {
    "appID": _app_id,
    "appIDs": [_app_id],
    "paths": [text(f"(NOT )?{_PATTERN}", PATTERN)],
    "components": [
        {"/": text(_PATTERN, PATTERN), "?": _query, "#": str, "exclude": bool, "comment": str, **_FLAGS},
    ],
    "defaults": _FLAGS,
}
_APPLINKS: Shape = {"apps": _apps, "details": _details, "defaults": _FLAGS, "substitutionVariables": _variables}
_DOCUMENT: Shape = {
    "applinks": _applinks,
    "webcredentials": _service,
    "appclips": _service,
    "activitycontinuation": _service,
}
