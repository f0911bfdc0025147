"""Search in the documentation, section by section."""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

_FENCE = re.compile(r"^ *```")
_HEADING = re.compile(r"^#{1,6} (.*)")
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_SHORTEST_WORD = 2
_MAX_WORDS = 8
_MAX_FOUND = 20
_LAST = ("adr/", "design/", "comparison")
_IN_HEADING, _IN_TITLE, _IN_TEXT = 8, 4, 1
_UNHELPFUL = {"an", "and", "do", "for", "how", "in", "is", "it", "my", "of", "on", "or", "the", "to", "with"}


class Passage(NamedTuple):
    """A heading of a page, with the text below it. The words have a space before each of them."""

    page: str
    title: str
    heading: str
    title_words: str
    heading_words: str
    text_words: str

    @property
    def anchor(self) -> str:
        """Return the `id` of the heading. The page's title needs none."""
        return "" if self.heading == self.title else anchor_of(self.heading)


def anchor_of(heading: str) -> str:
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", heading).strip().lower())


def passages(page: str, markdown: str) -> Iterator[Passage]:
    """Return the passages of a page, whose first line is its title. `page`: its path."""
    title, heading, lines, is_code = "", "", [], False
    for line in [*markdown.splitlines(), "# "]:
        is_code ^= bool(_FENCE.match(line))
        if is_code or not (found := _HEADING.match(line)):
            lines.append(line)
            continue
        if heading:
            yield Passage(page, title, heading, _spaced(title), _spaced(heading), _spaced(" ".join(lines)))
        heading, lines = _LINK.sub(r"\1", found[1]).replace("`", ""), []
        title = title or heading


def search(text: str, found_in: Iterable[Passage]) -> list[Passage]:
    """Return the passages that have all words of `text`, or the beginnings of words, best first.

    Those that compare Waypost, or say how it is built, come after all others.
    """
    words = [word for word in _words(text) if len(word) >= _SHORTEST_WORD and word not in _UNHELPFUL][:_MAX_WORDS]
    if not words:
        return []
    rated = [(_rate(section, words), section) for section in found_in]
    best = sorted((pair for pair in rated if pair[0]), key=lambda pair: (pair[1].page.startswith(_LAST), -pair[0]))
    return [section for _, section in best[:_MAX_FOUND]]


def _rate(section: Passage, words: list[str]) -> int:
    rates = [
        _IN_HEADING * (f" {word}" in section.heading_words)
        + _IN_TITLE * (f" {word}" in section.title_words)
        + _IN_TEXT * (f" {word}" in section.text_words)
        for word in words
    ]
    return sum(rates) if all(rates) else 0


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def _spaced(text: str) -> str:
    return " " + " ".join(_words(text))
