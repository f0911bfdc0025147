"""Checks an assetlinks.json document: a list of statements of Digital Asset Links."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from waypost.kit.fields import REQUIRED
from waypost.resources.domains.app_links.findings import Findings

RELATION = "This must be a relation such as delegate_permission/common.handle_all_urls."
UNKNOWN_RELATION = "This relation is not known. It is served as it is: check its spelling."
UNKNOWN_NAMESPACE = "This namespace is not known, only android_app and web are. It is served as it is."
NO_NAMESPACE = "This must be android_app or web."
PACKAGE = "This must be the package name of the app, such as com.example.app."
FINGERPRINT = (
    "This must be the SHA-256 fingerprint of the app's signing certificate: 32 bytes in hexadecimal, with capital"
    " letters and colons."
)
SITE = "This must be http:// or https:// and a host, without a path, such as https://www.example.com."
INCLUDE = "This must be the https:// URL of another list of statements."

_RELATIONS = frozenset(
    f"delegate_permission/common.{name}"
    for name in ("handle_all_urls", "get_login_creds", "use_as_origin", "query_webapk")
)
_KEYS = {"android_app": ("package_name", "sha256_cert_fingerprints"), "web": ("site",)}
"""Keys of a target, by namespace."""
_RELATION = re.compile(r"[a-z0-9_.]+/[a-z0-9_.]+")
_PACKAGE = re.compile(r"[A-Za-z][A-Za-z0-9_]*(\.[A-Za-z][A-Za-z0-9_]*)+")
_FINGERPRINT = re.compile(r"[0-9A-F]{2}(:[0-9A-F]{2}){31}")
_SITE = re.compile(r"https?://[A-Za-z0-9.-]+(:[0-9]{1,5})?/?")
_INCLUDE = re.compile(r"https://[^\s/]+/\S*")


def check(document: Sequence[Any]) -> Findings:
    findings = Findings()
    for index, entry in enumerate(document):
        place = str(index)
        statement = findings.object_at(entry, place, ("relation", "target", "include", "relation_extensions"))
        if statement is None:
            continue
        if "include" in statement:
            findings.text(statement["include"], f"{place}.include", _INCLUDE.fullmatch, INCLUDE)
        else:
            _check_statement(statement, place, findings)
    return findings


def _check_statement(statement: Mapping[str, Any], place: str, findings: Findings) -> None:
    for at, relation in findings.entries(statement, "relation", place):
        findings.text(relation, at, _RELATION.fullmatch, RELATION)
        if isinstance(relation, str) and _RELATION.fullmatch(relation) and relation not in _RELATIONS:
            findings.hint(at, UNKNOWN_RELATION)
    if "target" in statement:
        _check_target(statement["target"], f"{place}.target", findings)
    else:
        findings.add(f"{place}.target", REQUIRED)


def _check_target(target: Any, place: str, findings: Findings) -> None:
    namespace = target.get("namespace") if isinstance(target, dict) else None
    known = _KEYS.get(namespace) if isinstance(namespace, str) else ()
    if findings.object_at(target, place, target if known is None else ("namespace", *known)) is None:
        return
    if namespace == "android_app":
        findings.text(target.get("package_name", ""), f"{place}.package_name", _PACKAGE.fullmatch, PACKAGE)
        for at, fingerprint in findings.entries(target, "sha256_cert_fingerprints", place):
            findings.text(fingerprint, at, _FINGERPRINT.fullmatch, FINGERPRINT)
    elif namespace == "web":
        findings.text(target.get("site", ""), f"{place}.site", _SITE.fullmatch, SITE)
    elif isinstance(namespace, str):
        findings.hint(f"{place}.namespace", UNKNOWN_NAMESPACE)
    else:
        findings.add(f"{place}.namespace", NO_NAMESPACE)
