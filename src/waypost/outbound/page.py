"""Read a page's title and Open Graph tags in one pass, in time linear to its size.

Builds no tree: for half a megabyte of hostile nesting a tree builder takes minutes, or all memory. Each step looks at a
bounded part of the page, because a running regular expression blocks all other threads.
"""

import codecs
import re
from collections.abc import Iterator, Mapping
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

_TAG = re.compile(r"<(?:(!--)|(/?)([a-zA-Z][^\s/>]*+))")
# to the tag's end; a quote counts only behind an equals sign. Possessive throughout: it never backtracks.
_REST = re.compile(r"""(?:[^>"'=]++|=\s*+(?:"[^"]*+"|'[^']*+')?+|["'])*+>""")
_ATTRIBUTE = re.compile(r"""([^\s"'>/=][^\s/>=]*+)(?:\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'|([^\s>]*+)))?+""")
_RAW_TEXT = frozenset({"title", "script", "style", "textarea", "xmp", "iframe", "noembed", "noframes"})
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


def read_metadata(body: bytes, content_type: str | None, url: Url) -> PageMetadata:
    """Read the metadata, trimmed to the limits of a link."""
    values: dict[str, str] = {}
    for name, value in _find_metadata(decode_page(body, content_type)):
        if text := _clean(value):
            values.setdefault(name, text)  # the first one applies, as in a browser
    og_title = _trimmed(values.get("og:title"), 255)
    return PageMetadata(
        title=_trimmed(values.get("title"), 255) or og_title,
        og_title=og_title,
        og_description=_trimmed(values.get("og:description"), 5000),
        og_image=_absolute(values.get("og:image"), url),
    )


def _find_metadata(text: str) -> Iterator[tuple[str, str]]:
    """Yield (`title` or the meta tag's name, raw value) in the order of the page."""
    for name, rest, content in _elements(text):
        if name == "title":
            yield "title", content
        elif name == "meta":
            attributes = _attributes(rest)
            key = (attributes.get("property") or attributes.get("name") or "").strip().lower()
            if key.startswith("og:"):
                yield key, attributes.get("content", "")


def _elements(text: str) -> Iterator[tuple[str, str, str]]:
    """Yield (name, attributes, content if it is only text). An unclosed element extends to the page's end."""
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
            end = _find_end(name, text, position)
            if end < 0:
                return
            content, position = text[position:end], end
        if not tag[2]:
            yield name, rest[0], content


def _find_end(name: str, text: str, position: int) -> int:
    """Return where an element with only text is closed; -1 if it is not."""
    while (position := text.find("</", position)) >= 0:
        if _END_TAGS[name].match(text, position):
            return position
        position += 2
    return -1


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


def _absolute(image: str | None, page: Url) -> str | None:
    if not image:
        return None
    try:
        text = canonical(ada_url.join_url(page.text, image)).text
    except ValueError:
        return None
    return text if len(text) <= 2048 else None


def decode_page(body: bytes, content_type: str | None) -> str:
    """Decode by the byte order mark, else by the header, the page's declaration, or a guess, in this order."""
    named, mark = read_bom(body)
    name = named or http_content_type_encoding(content_type) or html_body_declared_encoding(body)
    if name not in ENCODINGS:
        name = _guess_encoding(body)
    return _decode_in_pieces(body.removeprefix(mark or b""), "utf-16-le" if name == "utf-16" else name)


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
