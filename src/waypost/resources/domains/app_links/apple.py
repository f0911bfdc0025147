"""Checks an apple-app-site-association document, as Apple describes it for iOS 13 and later, and the older form."""

import re
from collections.abc import Mapping
from typing import Any

from waypost.resources.domains.app_links.findings import NO_BOOLEAN, NO_TEXT, Findings

APP_ID = (
    "This must be an app ID: its prefix, which is usually the team ID, a dot, and the bundle ID, such as"
    " ABCDE12345.com.example.app."
)
PREFIX = "The prefix of an app ID has 10 capital letters and digits. Check the part before the first dot."
NO_APP = "Add appIDs: the apps that open the links."
NO_DETAILS = "No app is listed here, so no link opens an app."
NO_COMPONENTS = "Add components, which say what URLs open the app."
NOT_EMPTY = "This must be an empty list, or be left out. List the apps in details."
PATTERN = "This must start with / or *, because it is compared with the path of the URL."
QUERY = "This must be a string, or an object whose values are strings."

_SERVICES = ("webcredentials", "appclips", "activitycontinuation")
_FLAGS = ("caseSensitive", "percentEncoded")
_DETAIL_KEYS = ("appID", "appIDs", "paths", "components", "defaults")
_COMPONENT_KEYS = ("/", "?", "#", "exclude", "comment", *_FLAGS)
_APP_ID = re.compile(r"[A-Za-z0-9]+(\.[A-Za-z0-9_-]+)+")
_PREFIX = re.compile(r"[A-Z0-9]{10}\.")
_PATTERN = re.compile(r"[/*?]|\$\(")


def check(document: Mapping[str, Any]) -> Findings:
    findings = Findings()
    findings.object_at(document, "", ("applinks", *_SERVICES))
    if "applinks" in document:
        _check_applinks(document["applinks"], findings)
    for name in _SERVICES:
        if name in document and (service := findings.object_at(document[name], name, ["apps"])) is not None:
            _check_app_ids(service, "apps", name, findings)
    return findings


def _check_applinks(value: Any, findings: Findings) -> None:
    place = "applinks"
    applinks = findings.object_at(value, place, ("apps", "details", "defaults", "substitutionVariables"))
    if applinks is None:
        return
    if applinks.get("apps", []) != []:
        findings.add(f"{place}.apps", NOT_EMPTY)
    if applinks.get("details", []) == []:
        findings.hint(f"{place}.details", NO_DETAILS)
    else:
        for at, entry in findings.entries(applinks, "details", place):
            if (detail := findings.object_at(entry, at, _DETAIL_KEYS)) is not None:
                _check_detail(detail, at, findings)
    _check_defaults(applinks, place, findings)
    if "substitutionVariables" in applinks:
        _check_variables(applinks["substitutionVariables"], f"{place}.substitutionVariables", findings)


def _check_variables(variables: Any, place: str, findings: Findings) -> None:
    names = variables if isinstance(variables, dict) else ()
    for name in findings.object_at(variables, place, names) or ():
        for at, text in findings.entries(variables, name, place):
            findings.text(text, at)


def _check_detail(detail: Mapping[str, Any], place: str, findings: Findings) -> None:
    if "appID" in detail:
        _check_app_id(detail["appID"], f"{place}.appID", findings)
    elif "appIDs" not in detail:
        findings.add(f"{place}.appIDs", NO_APP)
    if "appIDs" in detail:
        _check_app_ids(detail, "appIDs", place, findings)
    if "paths" in detail:
        for at, path in findings.entries(detail, "paths", place):
            findings.text(path, at, lambda text: _PATTERN.match(text.removeprefix("NOT ")), PATTERN)
    if "components" in detail:
        for at, entry in findings.entries(detail, "components", place):
            if (component := findings.object_at(entry, at, _COMPONENT_KEYS)) is not None:
                _check_component(component, at, findings)
    if "paths" not in detail and "components" not in detail:
        findings.hint(place, NO_COMPONENTS)
    _check_defaults(detail, place, findings)


def _check_component(component: Mapping[str, Any], place: str, findings: Findings) -> None:
    if "/" in component:
        findings.text(component["/"], f"{place}./", _PATTERN.match, PATTERN)
    query = component.get("?", "")
    values = query.values() if isinstance(query, dict) else [query]
    if not all(isinstance(value, str) for value in values):
        findings.add(f"{place}.?", QUERY)
    findings.types(component, ["#", "comment"], place, str, NO_TEXT)
    findings.types(component, ["exclude", *_FLAGS], place, bool, NO_BOOLEAN)


def _check_defaults(owner: Mapping[str, Any], place: str, findings: Findings) -> None:
    at = f"{place}.defaults"
    if "defaults" in owner and (defaults := findings.object_at(owner["defaults"], at, _FLAGS)) is not None:
        findings.types(defaults, _FLAGS, at, bool, NO_BOOLEAN)


def _check_app_ids(owner: Mapping[str, Any], key: str, place: str, findings: Findings) -> None:
    for at, app_id in findings.entries(owner, key, place):
        _check_app_id(app_id, at, findings)


def _check_app_id(app_id: Any, place: str, findings: Findings) -> None:
    findings.text(app_id, place, _APP_ID.fullmatch, APP_ID)
    if isinstance(app_id, str) and _APP_ID.fullmatch(app_id) and not _PREFIX.match(app_id):
        findings.hint(place, PREFIX)
