"""Rules of imports, without I/O."""

import tracemalloc
from uuid import UUID

import pytest
from people import START

from waypost.resources.imports import hosts, rules
from waypost.resources.imports.source import SourceLink


@pytest.mark.parametrize(
    "text", ["\ufeffhttps://example.com/a", " \u200b https://example.com/a\u200e ", "https://example.com/a\u2060"]
)
def test_a_destination_has_no_characters_without_width_at_its_ends(text: str) -> None:
    assert rules.destination(text, own_hosts=[]).text == "https://example.com/a"


def test_long_texts_of_a_source_are_not_kept() -> None:
    id_, host = UUID(int=1), rules.Host(None, "app.test")
    url = rules.destination("https://example.com", own_hosts=[])
    tracemalloc.start()
    for number in range(20):
        text = f"{number}" + "a" * 200_000
        hosts.canonical(text)
        source = SourceLink("1", None, url.text, note=text)
        rules.draft(id_, source, url, host, key=id_, link_id=id_, now=START, reserved=[], pixels={})
    del text, source
    kept = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert kept < 1 << 20
