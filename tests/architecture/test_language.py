"""Code, templates and docs use plain English, without the words listed in language.py."""

from itertools import chain

from architecture.language import PATTERN, found, of_code, of_docs


def test_pattern_finds_words_in_text_and_in_names() -> None:
    hits = "open anew; told_of, clicks.Figures, recommend, ClickHouse, for every link, leads nowhere"
    assert [hit[0] for hit in PATTERN.finditer(hits)] == ["anew", "told", "Figures", "leads nowhere"]


def test_code_and_templates_use_plain_words() -> None:
    assert list(chain.from_iterable(map(found, of_code()))) == []


def test_documentation_uses_plain_words() -> None:
    assert list(chain.from_iterable(map(found, of_docs()))) == []
