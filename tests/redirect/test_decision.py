"""What a visitor of a link gets, by route, request and checks alone."""

from uuid import UUID

import pytest
from wire import HOST, LINK, new_visitor_reader

from waypost.redirect import DISABLED, NEVER, ClickLimit, RouteOptions, new_route
from waypost.redirect.decision import (
    NO_LINK,
    NOT_FOUND,
    OWN_DESTINATION,
    PASSWORD_FORM,
    PIXEL_PAGE,
    PREVIEW,
    REDIRECT,
    UNDECIDED,
    Checks,
    decide_visit,
)
from waypost.redirect.request import VisitRequest
from waypost.redirect.route import MISSING, Route
from waypost.redirect.routing.compiled import compile_routing

NOW = 1_764_000_000.0
FALLBACK = b"https://example.com/fallback"
RULE = {
    "name": "a",
    "conditions": [{"type": "query", "operator": "in", "name": "to", "values": ["a"]}],
    "destination_url": "https://example.com/a",
}
BY_COUNTRY = {**RULE, "conditions": [{"type": "country", "operator": "in", "values": ["DE"]}]}
PIXELS = [(UUID(int=5), "facebook", "123")]
PASSED = Checks(has_password=True, is_used_up=False)
FAILED = Checks(has_password=False, is_used_up=False)


def link(
    expires_at: float = NEVER, *, pixels: bool = False, rules: list[dict[str, object]] | None = None, **options: object
) -> Route:
    of_link = None
    if rules or options:
        of_link = RouteOptions(compile_routing(rules, []) if rules else None, fallback=FALLBACK, **options)
    fired = PIXELS if pixels else []
    return new_route(HOST, "https://example.com/", UUID(LINK.decode()), expires_at, fired, of_link)


def request(query: bytes = b"", *, is_bot: bool = False, privacy: bytes = b"") -> VisitRequest:
    made = VisitRequest(new_visitor_reader)
    made.at, made.query, made.is_bot, made.privacy = NOW, query, is_bot, privacy
    return made


PROTECTED, LIMITED = {"password_version": 3}, {"click_limit": ClickLimit(2, 1)}
CASES = {
    "a plain link": (link(), request(), None, REDIRECT, "", None),
    "an expired link": (link(NOW), request(), None, NOT_FOUND, "", None),
    "an expired link with a fallback": (link(NOW, starts_at=1.0), request(), None, NOT_FOUND, "", FALLBACK),
    "a disabled link with a fallback": (link(DISABLED, starts_at=1.0), request(), None, NOT_FOUND, "", None),
    "a link before its start": (link(starts_at=NOW + 1), request(is_bot=True), None, NOT_FOUND, "", FALLBACK),
    "a bot": (link(), request(is_bot=True), None, PREVIEW, "", None),
    "a bot of a link with pixels": (link(pixels=True), request(is_bot=True), None, PREVIEW, "", None),
    "a bot of a link with rules": (link(rules=[RULE]), request(b"to=a", is_bot=True), None, PREVIEW, "default", None),
    "a link with pixels": (link(pixels=True), request(), None, PIXEL_PAGE, "", None),
    "who asks for privacy": (link(pixels=True), request(privacy=b"1"), None, REDIRECT, "", None),
    "a rule": (link(rules=[RULE]), request(b"to=a"), None, REDIRECT, "a", b"https://example.com/a"),
    "a rule of a link with pixels": (
        link(rules=[RULE], pixels=True),
        request(b"to=a"),
        None,
        PIXEL_PAGE,
        "a",
        b"https://example.com/a",
    ),
    "no rule": (link(rules=[RULE]), request(b"to=b"), None, REDIRECT, "default", None),
    "a rule whose data is not loaded": (link(rules=[BY_COUNTRY]), request(), None, UNDECIDED, "", None),
    "a protected link": (link(**PROTECTED), request(), None, UNDECIDED, "", None),
    "a protected link without the password": (
        link(**PROTECTED),
        request(),
        Checks(False, False),
        PASSWORD_FORM,
        "",
        None,
    ),
    "a protected link with the password": (link(**PROTECTED), request(), PASSED, REDIRECT, "", None),
    "a limited link": (link(**LIMITED), request(), None, UNDECIDED, "", None),
    "a limited link with clicks left": (link(**LIMITED), request(), PASSED, REDIRECT, "", None),
    "a limited link that is used up": (
        link(**LIMITED, **PROTECTED),
        request(),
        Checks(False, True),
        NOT_FOUND,
        "",
        FALLBACK,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_decides_what_a_visitor_gets(name: str) -> None:
    route, sent, checks, *expected = CASES[name]
    answer = decide_visit(route, sent, checks)
    assert [answer.kind, answer.target, answer.location] == expected
    assert (answer.pixel_page is not None) == (answer.kind == PIXEL_PAGE)


def test_plain_links_get_the_same_answer_without_a_new_object() -> None:
    assert decide_visit(link(), request()) is OWN_DESTINATION
    assert decide_visit(MISSING, request()) is NO_LINK
