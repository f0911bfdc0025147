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
            ("<title>   </title>", None),
            ("no markup", None),
            ("", None),
        ],
    )
    def test_title(self, html: str, title: str | None) -> None:
        assert read(html).title == title

    def test_og_title_stands_in_for_a_missing_title(self) -> None:
        assert read("<meta property=og:title content=x>") == PageMetadata(title="x", og_title="x")

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
