"""Search in the documentation, section by section."""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

_FENCE = re.compile(r"^ *```")
_HEADING = re.compile(r"^#{1,6} (.*)")
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_NAME = re.compile(r"^\| *`([^`]+)` *\|")
"""The first cell of a row that explains a name, such as a setting."""
_MARKUP = re.compile(r"[`*|]|-{3,}|<[^>]*>")
_WORD = re.compile(r"[^\W_]+")
_EXCERPT = 160
_BEFORE = 50
_SHORTEST_WORD = 2
_MAX_WORDS = 8
_MAX_FOUND = 20
_LAST = ("adr/", "design/", "comparison")
_IN_HEADING, _IN_TITLE, _IN_NAME, _IN_TEXT = 8, 4, 3, 1
_UNHELPFUL = {"an", "and", "do", "for", "how", "in", "is", "it", "my", "of", "on", "or", "the", "to", "with"}


class Passage(NamedTuple):
    """A heading of a page, with the text below it. The words have a space before and after each of them."""

    page: str
    title: str
    heading: str
    title_words: str
    heading_words: str
    names: str
    text: str
    text_words: str

    @property
    def anchor(self) -> str:
        """Return the `id` of the heading. The page's title needs none."""
        return "" if self.heading == self.title else anchor_of(self.heading)


class FoundPassage(NamedTuple):
    passage: Passage
    excerpt: str


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
            text = " ".join(_MARKUP.sub(" ", _LINK.sub(r"\1", " ".join(lines))).split())
            names = " ".join(found[1] for found in map(_NAME.match, lines) if found)
            words = map(_spaced, (title, heading, names, text))
            title_words, heading_words, name_words, text_words = words
            yield Passage(page, title, heading, title_words, heading_words, name_words, text, text_words)
        heading, lines = _LINK.sub(r"\1", found[1]).replace("`", ""), []
        title = title or heading


def search(text: str, found_in: Iterable[Passage]) -> list[FoundPassage]:
    """Return the passages that have the most words of `text`, or the beginnings of words, best first.

    Those that compare Waypost, or say how it is built, come after all others.
    """
    typed = (_spaced(word).strip() for word in re.findall(r"\w+", text))  # of a name with underscores, all of its words
    words = [word for word in typed if len(word) >= _SHORTEST_WORD and word not in _UNHELPFUL][:_MAX_WORDS]
    if not words:
        return []
    rated = [(*_rate(section, words), section) for section in found_in]
    most = max((count for count, _, _ in rated), default=0)
    best = [(rate, section) for count, rate, section in rated if count == most > 0]
    best.sort(key=lambda pair: (pair[1].page.startswith(_LAST), -pair[0]))
    return [FoundPassage(section, _excerpt(section.text, words)) for _, section in best[:_MAX_FOUND]]


def _rate(section: Passage, words: list[str]) -> tuple[int, int]:
    """Return how many of the words the passage has, and how well they fit: whole words better than beginnings."""
    parts = (
        (section.heading_words, _IN_HEADING),
        (section.title_words, _IN_TITLE),
        (section.names, _IN_NAME),
        (section.text_words, _IN_TEXT),
    )
    rates = [sum(weight * ((f" {word}" in part) + (f" {word} " in part)) for part, weight in parts) for word in words]
    return len(rates) - rates.count(0), sum(rates)


def _excerpt(text: str, words: list[str]) -> str:
    """Return the text around the first of the words."""
    patterns = "|".join(r"[\W_]+".join(word.split()) for word in words)
    first = re.search(rf"(?<![^\W_])(?:{patterns})", text, re.IGNORECASE)
    start = text.rfind(" ", 0, max(first.start() - _BEFORE, 0)) + 1 if first else 0
    shown = text[start : start + _EXCERPT].rpartition(" ")[0] if len(text) > start + _EXCERPT else text[start:]
    return "… " * (start > 0) + shown + " …" * (start + len(shown) < len(text))


def _spaced(text: str) -> str:
    return f" {' '.join(_WORD.findall(text.lower()))} "
