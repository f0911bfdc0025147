"""What a page says of itself, whatever the page is made of."""

import codecs
from functools import partial

import pytest
from w3lib.encoding import http_content_type_encoding

from waypost.kit.urls import canonical
from waypost.outbound.page import _DECODED_BYTES, ENCODINGS, MAX_TAG, PageMetadata, decode_page, read_metadata

URL = canonical("https://example.com/dir/page")
SIZE = 512 * 1024


def read(page: str | bytes, content_type: str | None = "text/html; charset=utf-8") -> PageMetadata:
    return read_metadata(page if isinstance(page, bytes) else page.encode(), content_type, URL)


def test_reads_title_and_open_graph_tags() -> None:
    seen = read(
        "<!DOCTYPE html><html><head><title>Title</title>"
        "<meta property='og:title' content='OG title'><meta name=og:description content=Words>"
        '<META CONTENT="https://cdn.example.com/i.png" PROPERTY="OG:Image" /></head>'
    )
    assert seen == PageMetadata("Title", "OG title", "Words", "https://cdn.example.com/i.png")


class TestText:
    @pytest.mark.parametrize(
        ("html", "title"),
        [
            ("<title>a\n\t  b</title>", "a b"),
            ("<title>Tom &amp; Jerry &#8211; caf&eacute;</title>", "Tom & Jerry \u2013 café"),
            ("<TITLE lang=en>up</TITLE>", "up"),
            ("<title></title><title>second</title>", "second"),
            ("<title>first</title><title>second</title>", "first"),
            ("<title>a<b>c</title>", "a<b>c"),
            ("<!-- <title>no</title> --><title>yes</title>", "yes"),
            ("<!--><title>yes</title>", "yes"),
            ("<script>'<title>no</title>'</script><title>yes</title>", "yes"),
            ("<div title='<title>no</title>'><title>yes</title>", "yes"),
            ("<title>bell\x07 nul\x00 \u202edrawkcab</title>", "bell nul drawkcab"),
            ("<title>&#0;&#x110000;&#99999999999999;</title>", "\ufffd\ufffd\ufffd;"),
            (f"<title>&#{'9' * 6000};x</title>", "\ufffd;x"),
            ("<title>never closed", None),
            ("<svg viewBox='0'><title>no</title></svg><title>yes</title>", "yes"),
            ("<SVG><Title>no</Title></SVG><title>yes</title>", "yes"),
            (
                "<svg><g><title>no</title><svg><title>no</title></svg><title>no</title></g></svg><title>yes</title>",
                "yes",
            ),
            ("<svg><title>no<path></svg><title>yes</title>", "yes"),
            ("<svg><style>a > b</style><title>no</title></svg><title>yes</title>", "yes"),
            ("<svg><script><title>no</title></svg><title>yes</title>", "yes"),
            ("<svg><foreignObject><div><title>no</title></div></foreignObject></svg><title>yes</title>", "yes"),
            ("<svg><desc><p><title>no</title></desc><title>no</title></svg><title>yes</title>", "yes"),
            ("<math><title>no</title></math><title>yes</title>", "yes"),
            ("<svg/><title>yes</title>", "yes"),
            ("<svg><path d='M0'><div><title>yes</title>", "yes"),
            ("<svg><title>no</title>", None),
            ("<svg><![CDATA[</svg><title>no</title>]]></svg><title>yes</title>", "yes"),
            ("</svg></template><title>yes</title>", "yes"),
            ("<template><svg></template><title>yes</title>", "yes"),
            ("<template></svg><template></template><title>no</title></template><title>yes</title>", "yes"),
            ("<template/><title>no</title>", None),
            ("<!-- a -- b --!><title>yes</title>", "yes"),
            ("<!--- <title>no</title> ---><title>yes</title>", "yes"),
            ("<!-- --! > <title>no</title> --><title>yes</title>", "yes"),
            ("<!x <title>no</title><title>yes</title>", "yes"),
            ("<?php '<title>no</title>' ?><title>yes</title>", "yes"),
            ("</ <title>no</title><title>yes</title>", "yes"),
            ("<title>   </title>", None),
            ("no markup", None),
            ("", None),
        ],
    )
    def test_title(self, html: str, title: str | None) -> None:
        assert read(html).title == title

    @pytest.mark.parametrize("title", ["", "<title></title>", "<title> &nbsp; </title>", "<svg><title>a</title></svg>"])
    @pytest.mark.parametrize("name", ["og:title", "twitter:title"])
    def test_other_titles_stand_in_for_a_missing_one(self, title: str, name: str) -> None:
        assert read(f"{title}<meta property={name} content=x>") == PageMetadata(title="x", og_title="x")

    @pytest.mark.parametrize(
        ("html", "og_title", "og_description"),
        [
            ("<meta name=twitter:title content=a><meta name=description content=b>", "a", "b"),
            ("<meta name=twitter:title content=a><meta property=og:title content=b>", "b", None),
            ("<meta name=Description content=a><meta name=twitter:description content=b>", None, "b"),
            ("<meta name=twitter:description content=a><meta name=og:description content=b>", None, "b"),
            ("<meta name=description property='x OG:Description' content=a>", None, "a"),
            ("<meta property='og:title twitter:title' content=a>", "a", None),
            ("<meta property=og:title content=' '><meta name=twitter:title content=a>", "a", None),
            ("<meta name=title content=a><meta name=og content=b><meta itemprop=description content=c>", None, None),
            ("<template><meta property=og:title content=a></template>", None, None),
            ("<svg><meta property=og:title content=a></svg>", "a", None),
        ],
    )
    def test_what_other_networks_read_stands_in(
        self, html: str, og_title: str | None, og_description: str | None
    ) -> None:
        seen = read(html)
        assert (seen.og_title, seen.og_description) == (og_title, og_description)

    def test_it_is_trimmed_to_the_limits(self) -> None:
        seen = read(
            f"<title>{'t' * 300}</title><meta property=og:title content={'o' * 300}>"
            f"<meta property=og:description content='{'d' * 6000}'>"
        )
        assert (len(seen.title or ""), len(seen.og_title or ""), len(seen.og_description or "")) == (255, 255, 5000)

    def test_the_first_tag_with_a_value_counts(self) -> None:
        seen = read(
            '<meta property="og:title"><meta property="og:title" content="a"><meta property="og:title" content="b">'
        )
        assert seen.og_title == "a"


class TestImage:
    @pytest.mark.parametrize(
        ("sent", "image"),
        [
            ("https://cdn.example.com/i.png", "https://cdn.example.com/i.png"),
            ("//cdn.example.com/i.png", "https://cdn.example.com/i.png"),
            ("/i.png", "https://example.com/i.png"),
            ("i.png?a=1&amp;b=2", "https://example.com/dir/i.png?a=1&b=2"),
            ("/ü.png", "https://example.com/%C3%BC.png"),
            ("javascript:alert(1)", None),
            ("data:image/png;base64,AAAA", None),
            ("http://[::1", None),
            ("http://localhost/i.png", None),
            ("/" + "x" * 2048, None),
        ],
    )
    def test_it_is_absolute_or_nothing(self, sent: str, image: str | None) -> None:
        assert read(f'<meta property="og:image" content="{sent}">').og_image == image

    @pytest.mark.parametrize(
        ("names", "image"),
        [
            (["og:image:url"], 0),
            (["og:image:secure_url"], 0),
            (["twitter:image"], 0),
            (["twitter:image:src"], 0),
            (["twitter:image", "og:image"], 1),
            (["og:image:secure_url", "og:image:url"], 1),
            (["og:image:width", "og:image:alt", "og:image:type"], None),
            (["og:image:url twitter:image"], 0),
        ],
    )
    def test_other_names_stand_in(self, names: list[str], image: int | None) -> None:
        tags = (f'<meta property="{name}" content="https://example.com/{n}">' for n, name in enumerate(names))
        assert read("".join(tags)).og_image == (None if image is None else f"https://example.com/{image}")

    def test_the_first_that_can_be_used(self) -> None:
        tags = '<meta property=og:image content="data:,"><meta property=og:image:secure_url content="/i.png">'
        assert read(tags).og_image == "https://example.com/i.png"


class TestEncoding:
    @pytest.mark.parametrize(
        ("page", "content_type", "title"),
        [
            ("<title>é</title>".encode("cp1252"), "text/html; charset=iso-8859-1", "é"),
            ("<title>é</title>".encode("cp1252"), "text/html", "é"),
            ("<title>é</title>".encode(), None, "é"),
            ("<meta charset=koi8-r><title>Ж</title>".encode("koi8-r"), "text/html", "Ж"),
            ("<title>漢字</title>".encode("shift_jis"), "text/html; charset=Shift_JIS", "漢字"),
            ("\ufeff<title>é</title>".encode("utf-16"), "text/html; charset=utf-8", "é"),
            ("<title>é</title>".encode(), "text/html; charset=nonsense", "é"),
            ("<meta charset=utf-16><title>日本</title>".encode(), "text/html", "日本"),
            ("<meta charset=UTF-16LE><title>é</title>".encode(), None, "é"),
            ("<meta charset=utf-16be><title>é</title>".encode(), "text/html; charset=utf-8", "é"),
            ("<meta http-equiv=content-type content='text/html; charset=utf-16'><title>é</title>".encode(), None, "é"),
            ("<?xml version='1.0' encoding='utf-16'?><title>é</title>".encode(), "application/xhtml+xml", "é"),
            ("<title>é</title>".encode("utf-16-be"), "text/html; charset=utf-16be", "é"),
            ("<title>é</title>".encode("utf-16-le"), "text/html; charset=utf-16", "é"),
            (b"<title>a</title>" + b"\xc3", "text/html", "a"),
            ("<title>é</title>".encode() + b"\xe6\xbc", "text/html", "é"),
        ],
    )
    def test_it_is_read_as_meant(self, page: bytes, content_type: str | None, title: str) -> None:
        assert read(page, content_type).title == title


HOSTILE = {
    "nested formatting": "".join(f"<p><font a{n}>" for n in range(SIZE // 16)),  # a tree of it takes gigabytes
    "nested blocks": "<div>" * (SIZE // 5),  # a tree of it takes minutes
    "links in links": "<a><b>" * (SIZE // 6),
    "open tags": "<a " * (SIZE // 3),
    "open quotes": '<a ="' * (SIZE // 5),
    "mixed quotes": "<a ='\">" * (SIZE // 7),
    "equals signs": "<meta " + "=" * SIZE,
    "blanks": "<meta a" + " " * SIZE + ">",
    "blanks at equals signs": "<meta " + "a = " * (SIZE // 4) + ">",
    "open comments": "<!--" * (SIZE // 4),
    "comments": "<!---->" * (SIZE // 7),
    "open titles": "<title>" * (SIZE // 7),
    "open scripts": "<script></scrip" * (SIZE // 15),
    "references": "<title>" + "&#" * (SIZE // 2) + "</title>",
    "attributes": "<meta " + " ".join(f"a{n}=b" for n in range(SIZE // 9)) + ">",
    "less-than signs": "<" * SIZE,
    "drawings": "<svg><desc>" * (SIZE // 22) + "</title>" * (SIZE // 16),
    "templates": "<template>" * (SIZE // 20) + "</svg>" * (SIZE // 12),
    "declarations": "<!" * (SIZE // 2),
    "open ends": "</" * (SIZE // 2),
}


def test_a_tag_that_is_too_long_is_skipped() -> None:
    """R28: while a regular expression works through it, no other thread runs."""
    assert read(f"<a {'b ' * MAX_TAG}><title>yes</title>").title == "yes"
    assert read(f"<meta {'b ' * MAX_TAG} property=og:title content=no><title>yes</title>").og_title is None


def test_a_page_is_decoded_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """R28: no other thread runs while a piece is decoded; half a megabyte of 0x81 in cp1252 takes half a second."""
    sizes, new_decoder = list[int](), codecs.getincrementaldecoder

    class Watched:
        def __init__(self, name: str, errors: str) -> None:
            self._decoder = new_decoder(name)(errors)

        def decode(self, piece: bytes, *, final: bool = False) -> str:
            sizes.append(len(piece))
            return self._decoder.decode(piece, final=final)

    monkeypatch.setattr(codecs, "getincrementaldecoder", lambda name: partial(Watched, name))
    assert read(b"<title>x</title>" + b"\x81" * SIZE, "text/html; charset=windows-1252").title == "x"
    assert len(sizes) > SIZE // _DECODED_BYTES
    assert max(sizes) == _DECODED_BYTES


@pytest.mark.parametrize("name", sorted(ENCODINGS - {"iso8859-12"}))  # which there is not
def test_pieces_are_decoded_as_the_whole_is(name: str) -> None:
    body = bytes(range(256)) * (_DECODED_BYTES // 128) + b"\xe6\xbc"
    content_type = f"text/html; charset={name}"
    whole = body.decode(http_content_type_encoding(content_type) or "", errors="replace")
    assert decode_page(body, content_type) == whole


@pytest.mark.timeout(20)  # each takes some hundredths of a second; what grows by the square takes minutes
@pytest.mark.parametrize("page", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_html_takes_no_longer_than_any_other(page: str) -> None:
    assert read("<title>x</title>" + page).title == "x"


@pytest.mark.timeout(20)
@pytest.mark.parametrize("name", ["punycode", "idna", "utf-7", "unicode_escape", "zlib", "undefined", "utf-32"])
def test_encodings_that_are_not_of_the_web_are_not_used(name: str) -> None:
    page = b"<title>x</title>" + b"a-9" * (SIZE // 3)
    assert read(page, f"text/html; charset={name}").title == "x"
    assert read(f"<meta charset={name}>".encode() + page, "text/html").title == "x"
