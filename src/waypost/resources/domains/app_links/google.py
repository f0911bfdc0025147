"""Checks an assetlinks.json document, as Google describes Digital Asset Links."""

from collections.abc import Mapping, Sequence
from typing import Any

from waypost.resources.domains.app_links.findings import Findings, Shape, text

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
_RELATION = text(r"[a-z0-9_.]+/[a-z0-9_.]+", RELATION)
_TARGETS: Mapping[str, Mapping[str, Shape]] = {
    "android_app": {
        "package_name": text(r"[A-Za-z][A-Za-z0-9_]*(\.[A-Za-z][A-Za-z0-9_]*)+", PACKAGE),
        "sha256_cert_fingerprints": [text(r"[0-9A-F]{2}(:[0-9A-F]{2}){31}", FINGERPRINT)],
    },
    "web": {"site": text(r"https?://[A-Za-z0-9.-]+(:[0-9]{1,5})?/?", SITE)},
}
"""By namespace."""
_INCLUDE = text(r"https://[^\s/]+/\S*", INCLUDE)


def check(document: Sequence[Any]) -> Findings:
    findings = Findings()
    for index, statement in enumerate(document):
        _check_statement(findings, statement, str(index))
    return findings


def _check_statement(findings: Findings, statement: Any, place: str) -> None:
    keys: Mapping[str, Shape] = dict.fromkeys(("relation", "target", "include", "relation_extensions"), object)
    if isinstance(statement, dict) and "include" in statement:
        findings.check(statement, {**keys, "include": _INCLUDE}, place)
    else:
        findings.check(statement, {**keys, "relation": [_check_relation], "target": _check_target}, place)
        findings.require(statement, place, "relation", "target")


def _check_relation(findings: Findings, relation: Any, place: str) -> None:
    findings.check(relation, _RELATION, place)
    if isinstance(relation, str) and place not in findings.errors and relation not in _RELATIONS:
        findings.hint(place, UNKNOWN_RELATION)


def _check_target(findings: Findings, target: Any, place: str) -> None:
    namespace = target.get("namespace") if isinstance(target, dict) else None
    if isinstance(target, dict) and not isinstance(namespace, str):
        findings.add(f"{place}.namespace", NO_NAMESPACE)
    elif isinstance(namespace, str) and namespace not in _TARGETS:
        findings.hint(f"{place}.namespace", UNKNOWN_NAMESPACE)
    else:
        keys = _TARGETS.get(namespace or "", {})
        findings.check(target, {"namespace": str, **keys}, place)
        findings.require(target, place, *keys)
