"""What is made of a raw visit."""

from ipaddress import ip_network
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.user_agents import Agent
from waypost.redirect.spool import Visit
from waypost.resources.clicks.intake.build import IntakeSettings, build_click
from waypost.resources.clicks.model import Click

PEER = "198.51.100.7"
ACCOUNT, OTHER_ACCOUNT = b"\xaa" * 16, b"\xbb" * 16
AT = 1_763_690_000_000_000  # 2025-11-21 01:53:20
BLANK = Visit(b"01" * 16, b"%d" % AT, b"ab" * 16, peer=PEER.encode())
PROXIES = (ip_network("198.51.100.0/24"),)
COUNTRIES = {PEER: "NL", "192.0.2.1": "DE"}


def settings(**changes: Any) -> IntakeSettings:
    given = {
        "trusted_proxies": (),
        "ip_privacy": "full",
        "country_of_address": lambda ip: COUNTRIES.get(ip, ""),
        **changes,
    }
    return IntakeSettings(**{"visitor_key": b"key", **given})


def made_of(account: bytes = ACCOUNT, *, by: IntakeSettings | None = None, **fields: bytes) -> Click:
    return build_click(BLANK._replace(**fields), account, by or settings())


def test_makes_a_click_of_a_visit() -> None:
    click = made_of(
        user_agent=b"Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:140.0) Gecko/20100101 Firefox/140.0",
        referrer=b"https://news.example/a?b=c",
        query=b"r=qr",
        target="Grüße".encode(),
    )
    assert (click.id, click.account_id, click.link_id) == (b"\x01" * 16, ACCOUNT, b"\xab" * 16)
    assert (click.at, click.day, click.quarter) == (AT, 20_413, 7)
    assert (click.ip, click.country, click.referrer) == (PEER, "NL", "https://news.example/a")
    assert (click.browser, click.platform, click.device) == ("Firefox", "Windows", "desktop")
    assert (click.kind, click.bot, click.is_scan) == ("human", None, True)
    assert click.target == "Grüße"


def test_keeps_what_is_readable_of_a_damaged_target() -> None:
    assert made_of(target=b"A\x00\xff").target == "A\ufffd"
    assert made_of().target == ""


@pytest.mark.parametrize(
    ("trusted", "forwarded_for", "expected"),
    [
        ((), b"192.0.2.1", PEER),
        (PROXIES, b"192.0.2.1", "192.0.2.1"),
        (PROXIES, b"spoofed, 192.0.2.1, 198.51.100.9", "192.0.2.1"),
        (PROXIES, b"::ffff:192.0.2.1", "192.0.2.1"),
        (PROXIES, b", ".join(b"192.0.2.%d" % n for n in range(200)), "192.0.2.199"),
        (PROXIES, b"for=203.0.113.66, 192.0.2.1", "192.0.2.1"),
        (PROXIES, b"\xff\x00rubbish", PEER),
    ],
)
def test_finds_the_visitor_s_ip_address(trusted: tuple, forwarded_for: bytes, expected: str) -> None:
    assert made_of(forwarded_for=forwarded_for, by=settings(trusted_proxies=trusted)).ip == expected


@pytest.mark.parametrize(
    ("forwarded_for", "expected"),
    [(b"", "2001:db8::1"), (b"2001:db8:0::1", "2001:db8::1"), (b"192.0.2.1", PEER), (b"for=192.0.2.1", PEER)],
)
def test_trusts_forwarded_unless_x_forwarded_for_disagrees(forwarded_for: bytes, expected: str) -> None:
    forwarded = b'for="[2001:db8::1]:4711";proto=https'
    click = made_of(forwarded_for=forwarded_for, forwarded=forwarded, by=settings(trusted_proxies=PROXIES))
    assert click.ip == expected


@pytest.mark.parametrize(
    ("peer", "expected"), [(b"::ffff:192.0.2.1", "192.0.2.1"), (b"2001:0db8::0001", "2001:db8::1"), (b"", "")]
)
def test_normalizes_ip_addresses(peer: bytes, expected: str) -> None:
    assert made_of(peer=peer).ip == expected


@pytest.mark.parametrize(
    ("peer", "privacy", "asked", "expected"),
    [
        (b"192.0.2.77", "full", b"", "192.0.2.77"),
        (b"192.0.2.77", "truncated", b"", "192.0.2.0"),
        (b"2001:db8:1:2:3::4", "truncated", b"", "2001:db8:1::"),
        (b"::ffff:192.0.2.77", "truncated", b"", "192.0.2.0"),
        (b"::1", "truncated", b"", "::"),
        (b"192.0.2.77", "none", b"", ""),
        (b"192.0.2.77", "full", b"1", "192.0.2.0"),
        (b"192.0.2.77", "none", b"1", ""),
        (b"", "truncated", b"", ""),
        (b"/run/socket", "truncated", b"", ""),
        (b"192.0.2.1\0\xff", "truncated", b"", ""),
    ],
)
def test_masks_the_ip_address(peer: bytes, privacy: str, asked: bytes, expected: str) -> None:
    assert made_of(peer=peer, privacy=asked, by=settings(ip_privacy=privacy)).ip == expected


@pytest.mark.parametrize("privacy", ["full", "truncated", "none"])
def test_the_country_is_that_of_the_full_ip_address(privacy: str) -> None:
    assert made_of(by=settings(ip_privacy=privacy)).country == "NL"
    behind = settings(ip_privacy=privacy, trusted_proxies=PROXIES)
    assert made_of(forwarded_for=b"192.0.2.1", by=behind).country == "DE"


@pytest.mark.parametrize(
    ("fields", "kind", "bot"),
    [
        ({"purpose": b"prefetch"}, "prefetch", None),
        ({"purpose": b"prefetch;prerender"}, "prefetch", None),
        ({"purpose": b"Preview"}, "prefetch", None),
        ({"purpose": b"x"}, "human", None),
        ({"user_agent": b"Googlebot/2.1"}, "crawler", "Googlebot"),
        ({"user_agent": b"WhatsApp/2.23.20 A"}, "preview", "WhatsApp"),
        ({"user_agent": b"curl/8.5.0"}, "human", None),
        ({"user_agent": b"Googlebot/2.1", "purpose": b"prefetch"}, "prefetch", None),
        ({}, "human", None),
    ],
)
def test_recognizes_the_kind_of_a_visit(fields: dict[str, bytes], kind: str, bot: str | None) -> None:
    click = made_of(**fields)
    assert (click.kind, click.bot) == (kind, bot)


@pytest.mark.parametrize(
    ("query", "is_scan"),
    [(b"r=qr", True), (b"a=b&r=qr", True), (b"r=qrx", False), (b"xr=qr", False), (b"r=q", False), (b"", False)],
)
def test_recognizes_scans(query: bytes, is_scan: bool) -> None:
    assert made_of(query=query).is_scan is is_scan


def test_a_visitor_is_the_same_for_a_day() -> None:
    first = made_of(user_agent=b"Mozilla/5.0").visitor_id
    later = made_of(user_agent=b"Mozilla/5.0", id=b"02" * 16, link=b"cd" * 16, at=b"%d" % (AT + 22 * 3_600_000_000))
    assert later.visitor_id == first
    assert -(1 << 63) <= first < 1 << 63


@pytest.mark.parametrize(
    ("account", "changes", "key"),
    [
        (OTHER_ACCOUNT, {}, b"key"),
        (ACCOUNT, {"peer": b"198.51.100.8"}, b"key"),
        (ACCOUNT, {"user_agent": b"Mozilla/5.0 "}, b"key"),
        (ACCOUNT, {"at": b"%d" % (AT + 86_400_000_000)}, b"key"),
        (ACCOUNT, {}, b"another"),
    ],
)
def test_visitor_ids_differ_by_day_and_account(account: bytes, changes: dict[str, bytes], key: bytes) -> None:
    fields = {"user_agent": b"Mozilla/5.0", **changes}
    assert (
        made_of(account, by=settings(visitor_key=key), **fields).visitor_id
        != made_of(user_agent=b"Mozilla/5.0").visitor_id
    )


@pytest.mark.parametrize(
    ("privacy", "other", "is_same"),
    [("truncated", b"198.51.100.9", True), ("none", b"192.0.2.1", True), ("truncated", b"198.51.101.7", False)],
)
def test_the_visitor_id_depends_on_stored_data_only(privacy: str, other: bytes, is_same: bool) -> None:
    ids = {made_of(peer=peer, by=settings(ip_privacy=privacy)).visitor_id for peer in (PEER.encode(), other)}
    assert len(ids) == (1 if is_same else 2)


@pytest.mark.parametrize(
    ("at", "day", "quarter"),
    [(0, 0, 0), (899_999_999, 0, 0), (900_000_000, 0, 1), (86_399_999_999, 0, 95), (86_400_000_000, 1, 0)],
)
def test_splits_the_time_into_day_and_quarter(at: int, day: int, quarter: int) -> None:
    click = made_of(at=b"%d" % at)
    assert (click.at, click.day, click.quarter) == (at, day, quarter)


@pytest.mark.parametrize(
    "fields",
    [
        {"id": b"xy" * 16},
        {"link": b"0x" * 16},
        {"at": b"253402300800000000"},
        {"at": b"9" * 1_000},
        {"at": b"9" * 4_400},
    ],
)
def test_rejects_a_damaged_line(fields: dict[str, bytes]) -> None:
    with pytest.raises((ValueError, OverflowError)):
        made_of(**fields)


@given(
    st.builds(
        dict,
        **dict.fromkeys(
            ["peer", "user_agent", "referrer", "query", "purpose", "forwarded_for", "forwarded"],
            st.binary(max_size=9_000),
        ),
    )
)
def test_decodes_any_bytes_to_text(fields: dict[str, bytes]) -> None:
    click = made_of(by=settings(trusted_proxies=PROXIES), **fields)
    texts = (click.ip, click.country, click.referrer, click.browser, click.platform, click.bot or "")
    for text in texts:
        text.encode()
        assert "\0" not in text


def test_classifies_the_sample_mix(mix: list[Agent]) -> None:
    reported = [(agent, made_of(user_agent=agent.raw)) for agent in mix]
    assert [(agent.kind, agent.bot) for agent, _ in reported] == [(click.kind, click.bot) for _, click in reported]


def test_reads_the_fired_pixels() -> None:
    one, other = UUID(int=1), UUID(int=2)
    click = made_of(pixels=f"f{one.hex},g{other.hex}".encode(), user_agent=b"curl/8\0\xff")
    assert click.pixels == (("facebook", one), ("google_ads", other))
    assert click.user_agent == "curl/8\ufffd"
    assert (made_of(user_agent=b"curl/8").pixels, made_of(user_agent=b"curl/8").user_agent) == ((), "")


def test_truncates_a_long_user_agent() -> None:
    assert made_of(pixels=b"f" + b"0" * 32, user_agent=b"a" * 5_000).user_agent == "a" * 512


def test_a_bot_fires_no_pixels() -> None:
    assert made_of(pixels=b"f" + b"0" * 32, user_agent=b"Googlebot/2.1").pixels == ()
    assert made_of(pixels=b"f" + b"0" * 32, purpose=b"prefetch").pixels == ()


@pytest.mark.parametrize("torn", [b"f", b",", b"f" + b"0" * 31, b"x" + b"0" * 32, b"f" + b"G" * 32, b"f" + b"0" * 33])
def test_skips_a_partial_pixel(torn: bytes) -> None:
    assert made_of(pixels=b"t" + b"0" * 32 + b"," + torn).pixels == (("tiktok", UUID(int=0)),)
    assert made_of(pixels=torn).pixels == ()


def test_a_referrer_is_an_app_or_a_page() -> None:
    assert made_of(referrer=b"android-app://com.google.android.gm").referrer == "android-app://com.google.android.gm/"
    assert made_of(referrer=b"https://from.example/" + b"a" * 8_000).referrer == "https://from.example/" + "a" * 479
