"""Checks of assetlinks.json."""

from typing import Any

import pytest

from waypost.kit.fields import REQUIRED
from waypost.resources.domains.app_links import google
from waypost.resources.domains.app_links.findings import EMPTY_LIST, NO_LIST, NO_OBJECT, NO_TEXT, UNKNOWN_KEY
from waypost.resources.domains.app_links.schemas import GOOGLE_EXAMPLE

RELATION = "delegate_permission/common.handle_all_urls"
FINGERPRINT = ":".join(["0A"] * 32)


def statement(**rest: Any) -> list[Any]:
    return [{"relation": [RELATION], "target": app()} | rest]


def app(**rest: Any) -> dict[str, Any]:
    target = {"namespace": "android_app", "package_name": "com.example.app"}
    return target | {"sha256_cert_fingerprints": [FINGERPRINT]} | rest


def web(site: Any) -> list[Any]:
    return statement(target={"namespace": "web", "site": site})


GOOD = [
    [],
    GOOGLE_EXAMPLE,
    statement(relation=[RELATION, "delegate_permission/common.get_login_creds"]),
    statement(target=app(sha256_cert_fingerprints=[FINGERPRINT, ":".join(["FF"] * 32)])),
    statement(relation_extensions={RELATION: {"dynamic_app_link_components": [{"/": "/a"}]}}),
    web("https://www.example.com"),
    web("http://www.example.com:8080/"),
    [{"include": "https://example.com/links.json"}],
]


@pytest.mark.parametrize("document", GOOD)
def test_a_good_document_has_no_findings(document: list[Any]) -> None:
    findings = google.check(document)
    assert (findings.errors.errors, findings.hints.errors) == ({}, {})


PRINTS = "0.target.sha256_cert_fingerprints"
BAD: list[tuple[list[Any], str, str]] = [
    ([RELATION], "0", NO_OBJECT),
    ([*GOOGLE_EXAMPLE, None], "1", NO_OBJECT),
    ([{"target": app()}], "0.relation", REQUIRED),
    ([{"relation": [RELATION]}], "0.target", REQUIRED),
    (statement(relation=RELATION), "0.relation", NO_LIST),
    (statement(relation=[]), "0.relation", EMPTY_LIST),
    (statement(relation=[RELATION, "handle_all_urls"]), "0.relation.1", google.RELATION),
    (statement(relation=[None]), "0.relation.0", NO_TEXT),
    (statement(target=[]), "0.target", NO_OBJECT),
    (statement(target={}), "0.target.namespace", google.NO_NAMESPACE),
    (statement(target={"namespace": ["web"]}), "0.target.namespace", google.NO_NAMESPACE),
    (statement(target=app(package_name="app")), "0.target.package_name", google.PACKAGE),
    (statement(target=app(package_name=None)), "0.target.package_name", NO_TEXT),
    (statement(target=app(sha256_cert_fingerprints=[])), PRINTS, EMPTY_LIST),
    (statement(target=app(sha256_cert_fingerprints=FINGERPRINT)), PRINTS, NO_LIST),
    (statement(target=app(sha256_cert_fingerprints=[FINGERPRINT[:-3]])), f"{PRINTS}.0", google.FINGERPRINT),
    (statement(target=app(sha256_cert_fingerprints=[FINGERPRINT.lower()])), f"{PRINTS}.0", google.FINGERPRINT),
    (statement(target=app(sha256_cert_fingerprints=[FINGERPRINT.replace(":", "")])), f"{PRINTS}.0", google.FINGERPRINT),
    (web("www.example.com"), "0.target.site", google.SITE),
    (web("https://www.example.com/shop"), "0.target.site", google.SITE),
    (web(5), "0.target.site", NO_TEXT),
    ([{"include": "http://example.com/links.json"}], "0.include", google.INCLUDE),
]


@pytest.mark.parametrize(("document", "place", "message"), BAD)
def test_names_the_place_of_an_error(document: list[Any], place: str, message: str) -> None:
    assert google.check(document).errors.errors == {place: [message]}


HINTS: list[tuple[list[Any], str, str]] = [
    (statement(relation=["delegate_permission/common.new"]), "0.relation.0", google.UNKNOWN_RELATION),
    (statement(target={"namespace": "ios_app", "appid": "x"}), "0.target.namespace", google.UNKNOWN_NAMESPACE),
    (statement(relations=[]), "0.relations", UNKNOWN_KEY),
    (statement(target=app(sha256=[])), "0.target.sha256", UNKNOWN_KEY),
]


@pytest.mark.parametrize(("document", "place", "message"), HINTS)
def test_hints_refuse_nothing(document: list[Any], place: str, message: str) -> None:
    findings = google.check(document)
    assert (findings.errors.errors, findings.hints.errors) == ({}, {place: [message]})
