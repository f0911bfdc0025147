"""R26, R34: whom forwarding headers are believed, and how far."""

import tracemalloc
from ipaddress import ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from waypost.kit.proxies import ForwardingHeaders, is_trusted, read_forwarded, visitor_address, visitor_scheme

TRUSTED = [ip_network("10.0.0.0/8"), ip_network("2001:db8::/32")]
PROXY = "10.0.0.1"
VISITOR = "192.0.2.7"


def test_finds_the_visitor_behind_trusted_proxies() -> None:
    assert visitor_address(PROXY, ForwardingHeaders(VISITOR), TRUSTED) == VISITOR
    assert visitor_address(VISITOR, ForwardingHeaders("198.51.100.1"), TRUSTED) == VISITOR
    assert visitor_address(PROXY, ForwardingHeaders(VISITOR), []) == PROXY


@pytest.mark.parametrize(
    ("forwarded_for", "address"),
    [
        ("", PROXY),
        ("6.6.6.6, 192.0.2.7", VISITOR),  # the visitor wrote the first one
        ("6.6.6.6, 192.0.2.7, 10.0.0.2, 10.0.0.3", VISITOR),
        ("10.0.0.9, 10.0.0.2", "10.0.0.9"),
        ("192.0.2.7, 2001:db8::1", VISITOR),
        ("::ffff:192.0.2.7", VISITOR),
        ("192.0.2.7, ::ffff:10.0.0.2", VISITOR),
        ("[2001:db9::1]:443", "2001:db9::1"),
        ("192.0.2.7:8080", VISITOR),
        ('"192.0.2.7"', VISITOR),
        ("192.0.2.7, garbage", PROXY),
        ("192.0.2.7,", VISITOR),
        ("192.0.2.7, ", VISITOR),
        (" ,192.0.2.7 ,\t, ", VISITOR),
        ("6.6.6.6, 192.0.2.7:8080,,10.0.0.2,", VISITOR),
        ("6.6.6.6,,[2001:db9::1]:443 ,", "2001:db9::1"),
        ("[2001:db9::1],", "2001:db9::1"),
        ("192.0.2.7, unknown,", PROXY),
        (",", PROXY),
        (", ,", PROXY),
        ("unknown", PROXY),
        ("fe80::1%<script>", PROXY),
        ("192.0.2.7, 10.0.0.2, _hidden, 10.0.0.3", "10.0.0.3"),
        (", ".join(["6.6.6.6"] * 200 + [VISITOR]), VISITOR),
        (", ".join([VISITOR] + ["10.0.0.2"] * 200), "10.0.0.2"),
    ],
)
def test_reads_the_chain_from_the_right(forwarded_for: str, address: str) -> None:
    assert visitor_address(PROXY, ForwardingHeaders(forwarded_for), TRUSTED) == address


def test_long_texts_of_visitors_are_not_kept() -> None:
    tracemalloc.start()
    for number in range(100):
        assert visitor_address(PROXY, ForwardingHeaders(f"{number}" + "a" * 60_000), TRUSTED) == PROXY
    kept = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert kept < 1 << 20


def test_unwraps_the_addresses_of_peers() -> None:
    assert visitor_address("::ffff:192.0.2.7", ForwardingHeaders(""), []) == VISITOR
    assert visitor_address("::ffff:10.0.0.1", ForwardingHeaders(VISITOR), TRUSTED) == VISITOR
    assert visitor_address("", ForwardingHeaders(VISITOR), TRUSTED) == ""
    assert is_trusted("::ffff:10.0.0.1", TRUSTED)
    assert not is_trusted("unix", TRUSTED)


@pytest.mark.parametrize(
    ("peer", "forwarded_for", "proto", "scheme"),
    [
        (PROXY, VISITOR, "https", "https"),
        (PROXY, VISITOR, "HTTPS", "https"),
        (PROXY, "", "https", "https"),
        (VISITOR, "", "https", "http"),
        (PROXY, VISITOR, "", "http"),
        (PROXY, VISITOR, "gopher", "http"),
        (PROXY, f"{VISITOR}, 10.0.0.2", "https, http", "https"),
        (PROXY, f"6.6.6.6, {VISITOR}", "https, http", "http"),  # the visitor wrote the first of each
        (PROXY, f"{VISITOR}, 10.0.0.2", "https", "https"),
    ],
)
def test_finds_the_scheme_of_the_visitor(peer: str, forwarded_for: str, proto: str, scheme: str) -> None:
    assert visitor_scheme("http", peer, ForwardingHeaders(forwarded_for, proto), TRUSTED) == scheme


@pytest.mark.parametrize(
    ("forwarded_for", "forwarded", "address"),
    [
        ("", f"for={VISITOR}", VISITOR),
        (VISITOR, f"for={VISITOR}", VISITOR),
        (f"6.6.6.6, {VISITOR}", f'for="{VISITOR}:4711"', VISITOR),  # the same address, written differently
        (f"{VISITOR}, 10.0.0.2", f"for={VISITOR}", VISITOR),
        (VISITOR, "proto=https", VISITOR),
        (VISITOR, ",", VISITOR),
        (",", f"for={VISITOR},", VISITOR),
        ("", f"for=6.6.6.6, , for={VISITOR}:80 ,", VISITOR),
        ("", 'for="[2001:db9::1]:4711",', "2001:db9::1"),
        ("", "for=6.6.6.6, for=", PROXY),
        ("", 'for=6.6.6.6, for=" "', PROXY),
        (VISITOR, "for=6.6.6.6", PROXY),
        ("6.6.6.6", f"for={VISITOR}", PROXY),
        (VISITOR, "for=unknown", PROXY),
        (VISITOR, f"for={VISITOR}, for=6.6.6.6", PROXY),
    ],
)
def test_ignores_conflicting_headers(forwarded_for: str, forwarded: str, address: str) -> None:
    assert visitor_address(PROXY, ForwardingHeaders(forwarded_for, forwarded=forwarded), TRUSTED) == address


@pytest.mark.parametrize("forged", ['for=6.6.6.6;by="', 'for=6.6.6.6;proto="', 'for=6.6.6.6;x=";proto="', 'for="', '"'])
@pytest.mark.parametrize("forwarded_for", ["", "6.6.6.6"])
def test_a_quote_left_open_does_not_hide_what_a_proxy_adds(forged: str, forwarded_for: str) -> None:
    """The proxy does not read what it adds to."""
    forwarded = f'{forged}, for="{VISITOR}:4711";proto=https'
    headers = ForwardingHeaders(forwarded_for, forwarded=forwarded)
    assert visitor_address(PROXY, headers, TRUSTED) in {VISITOR, PROXY}
    assert visitor_scheme("http", PROXY, ForwardingHeaders(VISITOR, "http", forwarded), TRUSTED) == "http"


@pytest.mark.parametrize(
    ("proto", "forwarded", "scheme"),
    [
        ("", f"for={VISITOR};proto=https", "https"),
        ("https", f"for={VISITOR};proto=HTTPS", "https"),
        ("https", f"for={VISITOR}", "https"),
        ("https", f"for={VISITOR};proto=http", "http"),
        ("http", f"for={VISITOR};proto=https", "http"),
        ("https", f"for={VISITOR};proto=gopher", "http"),
        ("https,", "", "https"),
        (",", f"for={VISITOR};proto=https,", "https"),
        (", ", "", "http"),
    ],
)
def test_ignores_conflicting_schemes(proto: str, forwarded: str, scheme: str) -> None:
    assert visitor_scheme("http", PROXY, ForwardingHeaders(VISITOR, proto, forwarded), TRUSTED) == scheme


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("", ("", "")),
        ("for=192.0.2.7;proto=https;by=10.0.0.1", ("192.0.2.7", "https")),
        ('For="[2001:db9::1]:4711"', ("[2001:db9::1]:4711", "")),
        ("for=6.6.6.6, for=192.0.2.7;proto=http", ("6.6.6.6, 192.0.2.7", "http")),
        ('for="a, b"', ("a b", "")),
        ("xfor=1.1.1.1", ("", "")),
        ("for=;proto=, for=192.0.2.7,", ("unknown, 192.0.2.7", "unknown")),
    ],
)
def test_reads_the_forwarded_header(header: str, expected: tuple[str, str]) -> None:
    assert read_forwarded(header) == expected


@given(st.text(), st.text(), st.text())
def test_never_fails_on_arbitrary_text(peer: str, header: str, proto: str) -> None:
    assert isinstance(visitor_address(peer, ForwardingHeaders(header, proto, header), TRUSTED), str)
    assert visitor_scheme("http", PROXY, ForwardingHeaders(header, proto, header), TRUSTED) in {"http", "https"}
    assert len(read_forwarded(header)) == 2
