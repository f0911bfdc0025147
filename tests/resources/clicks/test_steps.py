"""What is made of a raw visit."""

from ipaddress import ip_network

import pytest

from waypost.redirect.spool import Visit
from waypost.resources.clicks.steps import Rules, click_of

PEER = "198.51.100.7"
BLANK = Visit(b"01" * 16, b"1763690000000000", b"ab" * 16, peer=PEER.encode())
PROXIES = (ip_network("198.51.100.0/24"),)


def test_it_works() -> None:
    click = click_of(BLANK._replace(user_agent=b"curl/8"), Rules())
    assert (click.ip, click.user_agent, click.kind, click.is_scan) == ("198.51.100.7", "curl/8", "human", False)


@pytest.mark.parametrize(
    ("trusted", "forwarded_for", "expected"),
    [
        ((), b"192.0.2.1", "198.51.100.7"),
        (PROXIES, b"192.0.2.1", "192.0.2.1"),
        (PROXIES, b"spoofed, 192.0.2.1, 198.51.100.9", "192.0.2.1"),
        (PROXIES, b"::ffff:192.0.2.1", "192.0.2.1"),
        (PROXIES, b", ".join(b"192.0.2.%d" % n for n in range(200)), "192.0.2.199"),
        (PROXIES, b"for=203.0.113.66, 192.0.2.1", "192.0.2.1"),
        (PROXIES, b"\xff\x00rubbish", "198.51.100.7"),
    ],
)
def test_whose_address(trusted: tuple, forwarded_for: bytes, expected: str) -> None:
    assert click_of(BLANK._replace(forwarded_for=forwarded_for), Rules(trusted_proxies=trusted)).ip == expected


@pytest.mark.parametrize(
    ("forwarded_for", "expected"), [(b"", "2001:db8::1"), (b"192.0.2.1", "192.0.2.1"), (b"for=192.0.2.1", PEER)]
)
def test_forwarded_is_asked_when_there_is_no_x_forwarded_for(forwarded_for: bytes, expected: str) -> None:
    visit = BLANK._replace(forwarded_for=forwarded_for, forwarded=b'for="[2001:db8::1]:4711";proto=https')
    assert click_of(visit, Rules(trusted_proxies=PROXIES)).ip == expected


@pytest.mark.parametrize(
    ("peer", "privacy", "asked", "expected"),
    [
        (b"192.0.2.77", "full", b"", "192.0.2.77"),
        (b"192.0.2.77", "truncated", b"", "192.0.2.0"),
        (b"2001:db8:1:2:3::4", "truncated", b"", "2001:db8:1::"),
        (b"192.0.2.77", "none", b"", ""),
        (b"192.0.2.77", "full", b"1", "192.0.2.0"),
        (b"192.0.2.77", "none", b"1", ""),
        (b"", "truncated", b"", ""),
        (b"/run/socket", "truncated", b"", ""),
    ],
)
def test_how_much_of_the_address_is_kept(peer: bytes, privacy: str, asked: bytes, expected: str) -> None:
    assert click_of(BLANK._replace(peer=peer, privacy=asked), Rules(ip_privacy=privacy)).ip == expected


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        (b"https://from.example/a?b=c#d", "https://from.example/a"),
        (b"https://user:secret@from.example/", "https://from.example/"),
        (b"android-app://com.example", ""),
        (b"javascript:alert(1)", ""),
        (b"https://[broken", ""),
        (b"\xff\xfe", ""),
        (b"", ""),
    ],
)
def test_referrer(sent: bytes, expected: str) -> None:
    assert click_of(BLANK._replace(referrer=sent), Rules()).referrer == expected


@pytest.mark.parametrize(
    ("purpose", "kind"),
    [(b"prefetch", "prefetch"), (b"prefetch;prerender", "prefetch"), (b"preview", "prefetch"), (b"x", "human")],
)
def test_kind(purpose: bytes, kind: str) -> None:
    assert click_of(BLANK._replace(purpose=purpose), Rules()).kind == kind


@pytest.mark.parametrize(("query", "is_scan"), [(b"r=qr", True), (b"a=b&r=qr", True), (b"r=qrx", False), (b"", False)])
def test_scan(query: bytes, is_scan: bool) -> None:
    assert click_of(BLANK._replace(query=query), Rules()).is_scan is is_scan


def test_nothing_binary_reaches_the_database() -> None:
    click = click_of(BLANK._replace(user_agent=b"a\0b\xff", peer=b"192.0.2.1\0\xff"), Rules())
    assert (click.user_agent, click.ip) == ("ab\ufffd", "192.0.2.1\ufffd")
