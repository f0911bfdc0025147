"""The names that the patterns of ua-parser can find."""

import pytest
from ua_parser_builtins.lazy import MATCHERS

from waypost.visitors.agents import accepts_any_word, known_words

ROWS = [(row.regex, row.family) for row in (*MATCHERS[0], *MATCHERS[1])]


def test_lists_the_words_of_a_pattern() -> None:
    assert known_words("(Chromium|Chrome)/(.+)", "$1") == ["Chromium", "Chrome"]
    assert known_words(r"\(x[(] (?:a|b) (Free|Open)BSD (.+)", "$1BSD") == ["FreeBSD", "OpenBSD"]
    assert known_words("(.*)/", "Chrome") == ["Chrome"]
    assert not accepts_any_word("(Chromium|Chrome)/(.+)", "$1")
    assert not accepts_any_word("(.*)/", "Chrome")


@pytest.mark.parametrize(
    ("pattern", "known"),
    [("(.{0,200})/", []), ("([a-z]+)", []), ("(a|b*)", ["a"]), ("((?:a|b)|c{1,}|d)", ["(?:a", "b)", "d"])],
)
def test_patterns_that_accept_any_word(pattern: str, known: list[str]) -> None:
    assert accepts_any_word(pattern, "$1")
    assert known_words(pattern, "$1") == known


def test_open_ended_patterns_of_ua_parser() -> None:
    """An update with another one shows here."""
    assert len([row for row in ROWS if accepts_any_word(*row)]) == 10
    assert {"Chrome", "Instagram", "WhatsApp", "Firefox Mobile", "iOS"} <= {
        word for row in ROWS for word in known_words(*row)
    }
