"""Reads a page's title and Open Graph tags in one pass, linear in its size whatever the page holds.

Builds no tree: for half a megabyte of hostile nesting a tree builder takes minutes, or all memory there is. Each step
looks at a bounded part of the page, because a regular expression at work lets no other thread run.
"""

import html
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import ada_url

from waypost.kit.urls import Url, canonical
from waypost.outbound.encodings import decoded

MAX_TAGS = 10_000  # a page describes itself near its start
MAX_TAG = 32_768  # characters; a longer one is skipped
MAX_RAW = 20_000  # characters of a value before its entities are resolved: 5000 may be wanted

_TAG = re.compile(r"<(?:(!--)|(/?)([a-zA-Z][^\s/>]*+))")
# to the tag's end; a quote counts only behind an equals sign. Possessive throughout: it never backtracks.
_REST = re.compile(r"""(?:[^>"'=]++|=\s*+(?:"[^"]*+"|'[^']*+')?+|["'])*+>""")
_ATTRIBUTE = re.compile(r"""([^\s"'>/=][^\s/>=]*+)(?:\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'|([^\s>]*+)))?+""")
_RAW_TEXT = frozenset({"title", "script", "style", "textarea", "xmp", "iframe", "noembed", "noframes"})
_END_OF = {name: re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE) for name in _RAW_TEXT}
_LONG_REFERENCE = re.compile(r"&#[0-9]{8,}")  # html.unescape would make a huge integer of it
# controls, lone surrogates, and the marks that make text read backwards
_UNSHOWN = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069\ufeff\ufffe\uffff]")


@dataclass(frozen=True, slots=True)
class PagePreview:
    title: str | None = None
    og_title: str | None = None
    og_description: str | None = None
    og_image: str | None = None
    """Absolute and canonical."""


def read_preview(body: bytes, content_type: str | None, url: Url) -> PagePreview:
    """What the page at `url` says of itself, trimmed to a link's limits."""
    found: dict[str, str] = {}
    for name, value in _facts(decoded(body, content_type)):
        if text := _shown(value):
            found.setdefault(name, text)  # the first one counts, as in a browser
    og_title = _trimmed(found.get("og:title"), 255)
    return PagePreview(
        title=_trimmed(found.get("title"), 255) or og_title,
        og_title=og_title,
        og_description=_trimmed(found.get("og:description"), 5000),
        og_image=_absolute(found.get("og:image"), url),
    )


def _facts(text: str) -> Iterator[tuple[str, str]]:
    """(`title` or the meta tag's name, raw value) in the order of the page."""
    for name, rest, content in _elements(text):
        if name == "title":
            yield "title", content
        elif name == "meta":
            attributes = _attributes(rest)
            key = (attributes.get("property") or attributes.get("name") or "").strip().lower()
            if key.startswith("og:"):
                yield key, attributes.get("content", "")


def _elements(text: str) -> Iterator[tuple[str, str, str]]:
    """(name, attributes, text of an element that holds only text). What is left open reaches to the page's end."""
    position = 0
    for _ in range(MAX_TAGS):
        position = text.find("<", position)
        if position < 0:
            return
        tag = _TAG.match(text, position, position + MAX_TAG)
        if not tag:
            position += 1
            continue
        if tag[1]:
            position = text.find("-->", tag.start() + 2) + 3  # `<!-->` is a whole comment
            if position == 2:
                return
            continue
        rest = _REST.match(text, tag.end(), tag.end() + MAX_TAG)
        if not rest:
            position = tag.end() + MAX_TAG
            continue
        name, position, content = tag[3].lower(), rest.end(), ""
        if not tag[2] and name in _RAW_TEXT:
            end = _end_of(name, text, position)
            if end < 0:
                return
            content, position = text[position:end], end
        if not tag[2]:
            yield name, rest[0], content


def _end_of(name: str, text: str, position: int) -> int:
    """Where an element that holds only text is closed; -1 if it is not."""
    while (position := text.find("</", position)) >= 0:
        if _END_OF[name].match(text, position):
            return position
        position += 2
    return -1


def _attributes(rest: str) -> Mapping[str, str]:
    attributes: dict[str, str] = {}
    for found in _ATTRIBUTE.finditer(rest):
        name, double, single, bare = found.groups("")
        attributes.setdefault(name.lower(), double or single or bare)
    return attributes


def _shown(raw: str) -> str:
    text = html.unescape(_LONG_REFERENCE.sub("\ufffd", raw[:MAX_RAW]))
    return " ".join(_UNSHOWN.sub("", " ".join(text.split())).split())


def _trimmed(text: str | None, limit: int) -> str | None:
    return text[:limit].rstrip() if text else None


def _absolute(image: str | None, page: Url) -> str | None:
    if not image:
        return None
    try:
        text = canonical(ada_url.join_url(page.text, image)).text
    except ValueError:
        return None
    return text if len(text) <= 2048 else None
