"""Code, templates and docs use plain English, without the words listed in language.py."""

from itertools import chain

from architecture.language import PATTERN, VAGUE, found, of_code, of_docs, vague


def test_pattern_finds_words_in_text_and_in_names() -> None:
    hits = "open anew; told_of, clicks.Figures, recommend, ClickHouse, for every link, leads nowhere"
    assert [hit[0] for hit in PATTERN.finditer(hits)] == ["anew", "told", "Figures", "leads nowhere"]


def test_code_and_templates_use_plain_words() -> None:
    assert list(chain.from_iterable(map(found, of_code()))) == []


def test_documentation_uses_plain_words() -> None:
    assert list(chain.from_iterable(map(found, of_docs()))) == []


def test_pages_and_messages_name_what_they_mean() -> None:
    assert VAGUE.search("It appears here")
    assert VAGUE.search("Remove it there.")
    assert not VAGUE.search("There is no link, and there are no clicks where others were.")
    assert list(vague()) == []
