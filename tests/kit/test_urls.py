"""Canonical URLs, and UTM parameters in their query."""

import sys
import unicodedata
from urllib.parse import urlsplit

import ada_url
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from waypost.kit import urls
from waypost.kit.urls import UTM_KEYS, BadUrl, Url, canonical, with_query, without_query_keys


def test_parses_a_url() -> None:
    url = canonical("https://Example.com:8443/Path?q=1#Top")
    assert url == Url("https://Example.com:8443/Path?q=1#Top", "https", "example.com", 8443, is_ip=False)


@pytest.mark.parametrize(
    "text",
    [
        "http://example.com",
        "HTTPS://EXAMPLE.com/a/../b",
        "https://example.com:443/",
        "https://example.com/a%zz?x=[1]&y=%41#f",
        "https://my_site.example.com/-",
        "http://8.8.8.8:8080/",
        "http://[2606:4700::1111]/",
        "https://xn--mnchen-3ya.de/",
        "https://foo.example/",
        "https://foo.test/",
    ],
)
def test_keeps_a_clean_url_unchanged(text: str) -> None:
    assert canonical(text).text == text


@pytest.mark.parametrize(
    ("sent", "stored"),
    [
        ("https://münchen.de/straße?ä=ö#ü", "https://xn--mnchen-3ya.de/stra%C3%9Fe?%C3%A4=%C3%B6#%C3%BC"),
        ("https://例え.jp", "https://xn--r8jz45g.jp/"),
        ("https://example.com/{id}|<b>", "https://example.com/%7Bid%7D|%3Cb%3E"),
        ("http://[2606:4700:0:0::1111]/", "http://[2606:4700::1111]/"),
        ("https://\uff25xample\uff0ecom/", "https://example.com/"),
    ],
)
def test_stores_other_urls_as_a_browser_writes_them(sent: str, stored: str) -> None:
    assert canonical(sent).text == stored


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "\u200b"),
        ("\ufeff", ""),
        ("\u200e\u2068", "\u2069"),
        ("", "\u200d\u2060\u00ad"),
        ("\u202a", "\u202c"),
        ("\u200b \t\u200b", " \u200b "),
    ],
)
@pytest.mark.parametrize("url", ["https://example.com/p%20q", "https://example.com"])
def test_cuts_characters_without_width_at_both_ends(before: str, after: str, url: str) -> None:
    assert canonical(f"{before}{url}{after}").text == url


@pytest.mark.parametrize(
    ("sent", "stored"),
    [
        ("https://example.com/a\u200bb", "https://example.com/a%E2%80%8Bb"),
        ("https://example.com/a%E2%80%8B", "https://example.com/a%E2%80%8B"),
        ("https://example.com/\u2764\ufe0f", "https://example.com/%E2%9D%A4%EF%B8%8F"),
    ],
)
def test_keeps_other_characters_without_width(sent: str, stored: str) -> None:
    assert canonical(sent).text == stored


def test_ipv6_host_has_no_brackets() -> None:
    url = canonical("http://[2606:4700::1111]:8080/")
    assert (url.host, url.port, url.is_ip) == ("2606:4700::1111", 8080, True)


def test_schemes_can_be_narrowed() -> None:
    with pytest.raises(BadUrl, match="must start with https://"):
        canonical("http://example.com/", schemes=("https",))


def test_an_error_says_what_to_do() -> None:
    with pytest.raises(BadUrl, match="four decimal numbers"):
        canonical("http://0x7f.1/")


def test_refuses_control_and_space_characters() -> None:
    for number in range(sys.maxunicode + 1):
        is_seen = unicodedata.category(chr(number)) not in {"Cc", "Cs", "Zs", "Zl", "Zp"}
        assert bool(urls._INVISIBLE.search(chr(number))) != is_seen


# URLs composed of parts that parsers disagree about
_PIECES = st.sampled_from(
    r"""
    http:// https:// HTTP: // / \ @ : # ? % [ ] . 0x7f 127.0.0.1 ::1 1 0 example example.com com localhost a 80 xn--
    %2e %40 & ; = - _ é | {
    """.split()  # noqa: SIM905  # one a line would fill a page
) | st.sampled_from(" \t\n\u3002\uff0e\uff11\u00df\u00ad\u200d")
URLS = st.one_of(
    st.builds("".join, st.lists(_PIECES, max_size=12)),
    st.builds("{}{}{}".format, st.sampled_from(["http://", "https://"]), st.lists(_PIECES).map("".join), st.text()),
    st.builds("http://{}/{}".format, st.text(max_size=12), st.text(max_size=8)),
    st.builds("http://{}.com:{}/".format, st.text(min_size=1, max_size=5), st.integers(0, 70_000)),
    st.builds("http://{}".format, st.ip_addresses()),
)


@given(URLS)
@example("http://exämple.com/ü?ü#ü")
def test_python_and_a_browser_read_the_same_host_and_port(text: str) -> None:
    try:
        url = canonical(text)
    except BadUrl:
        return
    python, browser = urlsplit(url.text), ada_url.URL(url.text)
    assert python.hostname == browser.hostname.strip("[]") == url.host
    assert (python.port or {"http": 80, "https": 443}[url.scheme]) == url.port == int(browser.port or url.port)
    assert url.text.isascii()
    assert not any(character <= " " or character in '\\"<>^`{}\x7f' for character in url.text.partition("?")[0])
    assert python.username is None


@given(URLS)
def test_canonical_form_is_stable(text: str) -> None:
    try:
        url = canonical(text)
    except BadUrl:
        return
    assert canonical(url.text).host == url.host


class TestWithQuery:
    @pytest.mark.parametrize(
        ("url", "expected"),
        [
            ("https://example.com/pricing", "https://example.com/pricing/?utm_source=x"),
            ("HTTPS://Example.COM", "https://example.com/?utm_source=x"),
            ("https://example.com/guide.pdf", "https://example.com/guide.pdf?utm_source=x"),
            ("https://example.com/a.b/c", "https://example.com/a.b/c/?utm_source=x"),
            ("https://example.com/a/", "https://example.com/a/?utm_source=x"),
            ("https://example.com/a/#top?x", "https://example.com/a/?utm_source=x#top?x"),
            ("https://example.com/?b=%41&a&b=", "https://example.com/?b=%41&a&b=&utm_source=x"),
            ("https://example.com/?utm_source=old&a=1&utm%5Fsource=o", "https://example.com/?a=1&utm_source=x"),
            ("https://example.com/?UTM_SOURCE=kept", "https://example.com/?UTM_SOURCE=kept&utm_source=x"),
            ("https://Example.com:8443/Path/?", "https://example.com:8443/Path/?utm_source=x"),
            ("http://[2606:4700::1111]/", "http://[2606:4700::1111]/?utm_source=x"),
        ],
    )
    def test_parses_a_url(self, url: str, expected: str) -> None:
        assert with_query(url, {"utm_source": "x"}) == expected

    def test_parameters_come_in_the_order_of_the_specification(self) -> None:
        written = with_query("https://example.com/", dict.fromkeys(reversed(UTM_KEYS), "v"))
        assert written.partition("?")[2] == "&".join(f"{key}=v" for key in UTM_KEYS)

    def test_values_are_percent_encoded(self) -> None:
        written = with_query("https://example.com/", {"utm_source": "a b&c=d#é/+"})
        assert written == "https://example.com/?utm_source=a%20b%26c%3Dd%23%C3%A9%2F%2B"

    def test_without_parameters_nothing_is_normalised(self) -> None:
        assert with_query("HTTPS://Example.com", {}) == "HTTPS://Example.com"


class TestWithoutQueryKeys:
    @pytest.mark.parametrize(
        ("url", "expected"),
        [
            ("https://example.com/?utm_source=a", "https://example.com/"),
            ("https://example.com/?a=%41&utm_term=x&b#f", "https://example.com/?a=%41&b#f"),
            ("https://example.com?a&&b", "https://example.com?a&&b"),
            ("https://example.com/?", "https://example.com/?"),
            ("https://example.com/#?utm_source=a", "https://example.com/#?utm_source=a"),
        ],
    )
    def test_parses_a_url(self, url: str, expected: str) -> None:
        assert without_query_keys(url, UTM_KEYS) == expected
