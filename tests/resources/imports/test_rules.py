"""Rules of imports, without I/O."""

import pytest

from waypost.resources.imports import rules


@pytest.mark.parametrize(
    "text", ["\ufeffhttps://example.com/a", " \u200b https://example.com/a\u200e ", "https://example.com/a\u2060"]
)
def test_a_destination_has_no_characters_without_width_at_its_ends(text: str) -> None:
    assert rules.destination(text, own_hosts=[]).text == "https://example.com/a"
