"""Which names ua-parser's patterns can find."""

import pytest
from ua_parser_builtins.lazy import MATCHERS

from waypost.resources.clicks.intake.families import takes_any, words

ROWS = [(row.regex, row.family) for row in (*MATCHERS[0], *MATCHERS[1])]


def test_lists_the_words_of_a_pattern() -> None:
    assert words("(Chromium|Chrome)/(.+)", "$1") == ["Chromium", "Chrome"]
    assert words(r"\(x[(] (?:a|b) (Free|Open)BSD (.+)", "$1BSD") == ["FreeBSD", "OpenBSD"]
    assert words("(.*)/", "Chrome") == ["Chrome"]
    assert not takes_any("(Chromium|Chrome)/(.+)", "$1")
    assert not takes_any("(.*)/", "Chrome")


@pytest.mark.parametrize(
    ("pattern", "known"),
    [("(.{0,200})/", []), ("([a-z]+)", []), ("(a|b*)", ["a"]), ("((?:a|b)|c{1,}|d)", ["(?:a", "b)", "d"])],
)
def test_patterns_that_accept_any_word(pattern: str, known: list[str]) -> None:
    assert takes_any(pattern, "$1")
    assert words(pattern, "$1") == known


def test_open_ended_patterns_of_ua_parser() -> None:
    """An update with another one shows here."""
    assert len([row for row in ROWS if takes_any(*row)]) == 10
    assert {"Chrome", "Instagram", "WhatsApp", "Firefox Mobile", "iOS"} <= {
        word for row in ROWS for word in words(*row)
    }
