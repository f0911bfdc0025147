"""Read a page's title and Open Graph tags in one pass, in time linear to its size.

Builds no tree: for half a megabyte of hostile nesting a tree builder takes minutes, or all memory. Each step looks at a
bounded part of the page, because a running regular expression blocks all other threads.
"""

import codecs
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import ada_url
from w3lib.encoding import html_body_declared_encoding, http_content_type_encoding, read_bom

from waypost.kit.urls import Url, canonical

_DECODED_BYTES = 4_096
# Python knows more encodings, and hostile bytes in some of them (punycode) take minutes to decode
ENCODINGS = frozenset(
    {"utf-8", "utf-16", "utf-16-le", "utf-16-be", "ascii", "koi8-r", "koi8-u", "mac-roman", "mac-cyrillic", "cp866"}
    | {"gb18030", "big5hkscs", "cp950", "euc_jp", "iso2022_jp", "cp932", "cp949", "cp874"}
    | {f"cp{number}" for number in range(1250, 1259)}
    | {f"iso8859-{number}" for number in range(1, 17)}
)
MAX_TAGS = 10_000  # a page describes itself near its start
MAX_TAG = 32_768  # characters; a longer one is skipped
MAX_RAW = 20_000  # characters of a value before its entities are resolved: 5000 are kept

_TAG = re.compile(r"<(?:(!--)|([!?]|/(?![a-zA-Z]))|(/?)([a-zA-Z][^\s/>]*+))")
_COMMENT_END = re.compile("--!?>")
_TAG_END = re.compile(">")
# to the tag's end; a quote counts only behind an equals sign. Possessive throughout: it never backtracks.
_REST = re.compile(r"""(?:[^>"'=]++|=\s*+(?:"[^"]*+"|'[^']*+')?+|["'])*+>""")
_ATTRIBUTE = re.compile(r"""([^\s"'>/=][^\s/>=]*+)(?:\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'|([^\s>]*+)))?+""")
_RAW_TEXT = frozenset({"title", "script", "style", "textarea", "xmp", "iframe", "noembed", "noframes"})
_FOREIGN = frozenset({"svg", "math"})
# elements of drawings and formulas that contain HTML
_CONTAIN_HTML = frozenset({"foreignobject", "desc", "title", "annotation-xml", "mi", "mo", "mn", "ms", "mtext"})
# elements that end a drawing or formula that was not closed: https://html.spec.whatwg.org/#parsing-main-inforeign
_END_FOREIGN = frozenset(
    """
    b big blockquote body br center code dd div dl dt em embed h1 h2 h3 h4 h5 h6 head hr i img li listing menu meta nobr
    ol p pre ruby s small span strong strike sub sup table tt u ul var
    """.split()  # noqa: SIM905  # as a list literal it would take fifty lines
)
_MAX_DEPTH = 64
_END_TAGS = {name: re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE) for name in _RAW_TEXT}
_LONG_REFERENCE = re.compile(r"&#[0-9]{8,}")  # html.unescape would make a huge integer of it
# control characters, lone surrogates, and marks that reverse the reading direction
_INVISIBLE = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069\ufeff\ufffe\uffff]")


@dataclass(frozen=True, slots=True)
class PageMetadata:
    """Title and Open Graph tags."""

    title: str | None = None
    og_title: str | None = None
    og_description: str | None = None
    og_image: str | None = None
    """Absolute and canonical."""


# in the order of preference
_TITLES = ("og:title", "twitter:title")
_DESCRIPTIONS = ("og:description", "twitter:description", "description")
_IMAGES = ("og:image", "og:image:url", "og:image:secure_url", "twitter:image", "twitter:image:src")
_NAMES = frozenset({*_TITLES, *_DESCRIPTIONS, *_IMAGES})


def read_metadata(body: bytes, content_type: str | None, url: Url) -> PageMetadata:
    """Read the metadata, trimmed to the limits of a link."""
    values: dict[str, str] = {}
    for name, value in _find_metadata(decode_page(body, content_type)):
        if text := _clean(value):
            values.setdefault(name, text)  # the first one applies, as in a browser
    og_title = _trimmed(_first(values, _TITLES), 255)
    images = (_absolute(values[name], url) for name in _IMAGES if name in values)
    return PageMetadata(
        title=_trimmed(values.get("title"), 255) or og_title,
        og_title=og_title,
        og_description=_trimmed(_first(values, _DESCRIPTIONS), 5000),
        og_image=next(filter(None, images), None),
    )


def _first(values: Mapping[str, str], names: Sequence[str]) -> str | None:
    return next((values[name] for name in names if name in values), None)


def _find_metadata(text: str) -> Iterator[tuple[str, str]]:
    """Yield (`title` or a name of the meta tag, raw value) in the order of the page."""
    for name, rest, content in _elements(text):
        if name == "title":
            yield "title", content
        elif name == "meta":
            attributes = _attributes(rest)
            names = {*attributes.get("property", "").lower().split(), attributes.get("name", "").strip().lower()}
            for key in names & _NAMES:
                yield key, attributes.get("content", "")


def _elements(text: str) -> Iterator[tuple[str, str, str]]:
    """Yield (name, attributes, content if it is only text) of the page's own elements.

    An unclosed element extends to the page's end.
    """
    position, enclosing = 0, _Enclosing()
    for _ in range(MAX_TAGS):
        position = text.find("<", position)
        if position < 0:
            return
        tag = _TAG.match(text, position, position + MAX_TAG)
        if not tag:
            position += 1
            continue
        if tag[1] or tag[2]:
            position = _end_of_comment(text, tag)
            continue
        rest = _REST.match(text, tag.end(), tag.end() + MAX_TAG)
        if not rest:
            position = tag.end() + MAX_TAG
            continue
        name, position, content = tag[4].lower(), rest.end(), ""
        if tag[3]:
            enclosing.end(name)
            continue
        is_html = enclosing.start(name, is_closed=rest[0].endswith("/>"))
        if is_html and name in _RAW_TEXT:
            content, position = _text_of(name, text, position)
        if not enclosing.names:
            yield name, rest[0], content


class _Enclosing:
    """Open drawings, formulas and templates: what they contain says nothing about the page."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def start(self, name: str, *, is_closed: bool) -> bool:
        """Return whether it is an element of HTML, and not of a drawing or formula. `is_closed`: `<svg/>`."""
        while name in _END_FOREIGN and self._is_foreign():
            self.names.pop()
        is_html = not self._is_foreign() and name not in _FOREIGN
        encloses = name == "template" if is_html else name in _FOREIGN | _CONTAIN_HTML and not is_closed
        if encloses and len(self.names) < _MAX_DEPTH:
            self.names.append(name)
        return is_html

    def _is_foreign(self) -> bool:
        return bool(self.names) and self.names[-1] in _FOREIGN

    def end(self, name: str) -> None:
        for place in reversed(range(len(self.names))):
            if self.names[place] == name:
                del self.names[place:]
                return
            if self.names[place] == "template":
                return


def _end_of_comment(text: str, start: re.Match[str]) -> int:
    """Return where a comment, a declaration or what browsers take for one ends."""
    # `<!-->` is a whole comment
    end = _COMMENT_END.search(text, start.start() + 2) if start[1] else _TAG_END.search(text, start.end())
    return end.end() if end else len(text)


def _text_of(name: str, text: str, start: int) -> tuple[str, int]:
    """Return the content of an element with only text, and where it is closed. Without a closing tag it has none."""
    position = start
    while (position := text.find("</", position)) >= 0:
        if _END_TAGS[name].match(text, position):
            return text[start:position], position
        position += 2
    return "", len(text)


def _attributes(rest: str) -> Mapping[str, str]:
    attributes: dict[str, str] = {}
    for match in _ATTRIBUTE.finditer(rest):
        name, double, single, bare = match.groups("")
        attributes.setdefault(name.lower(), double or single or bare)
    return attributes


def _clean(raw: str) -> str:
    from html import unescape  # noqa: PLC0415  # half a megabyte of entities

    text = unescape(_LONG_REFERENCE.sub("\ufffd", raw[:MAX_RAW]))
    return " ".join(_INVISIBLE.sub("", " ".join(text.split())).split())


def _trimmed(text: str | None, limit: int) -> str | None:
    return text[:limit].rstrip() if text else None


def _absolute(image: str, page: Url) -> str | None:
    try:
        text = canonical(ada_url.join_url(page.text, image)).text
    except ValueError:
        return None
    return text if len(text) <= 2048 else None


def decode_page(body: bytes, content_type: str | None) -> str:
    """Decode by the byte order mark, else by the header, the page's declaration, or a guess, in this order."""
    named, mark = read_bom(body)
    name = named or http_content_type_encoding(content_type) or _declared_encoding(body)
    if name not in ENCODINGS:
        name = _guess_encoding(body)
    return _decode_in_pieces(body.removeprefix(mark or b""), "utf-16-le" if name == "utf-16" else name)


def _declared_encoding(body: bytes) -> str | None:
    """Return what the page says. It is not UTF-16 if this can be read: browsers take that for UTF-8."""
    name = html_body_declared_encoding(body)
    return "utf-8" if name and name.startswith("utf-16") else name


def _decode_in_pieces(body: bytes, name: str) -> str:
    """Decode in pieces, so that other threads can run: half a megabyte that is not cp1252 takes half a second."""
    decoder = codecs.getincrementaldecoder(name)(errors="replace")
    starts = range(0, len(body), _DECODED_BYTES)
    pieces = [decoder.decode(body[start : start + _DECODED_BYTES]) for start in starts]
    return "".join([*pieces, decoder.decode(b"", final=True)])


def _guess_encoding(body: bytes) -> str:
    try:
        body.decode()
    except UnicodeDecodeError as error:
        is_cut_off = error.start > len(body) - 4  # a page over the limit ends within a character
        return "utf-8" if is_cut_off else "cp1252"
    return "utf-8"
