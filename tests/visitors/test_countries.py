"""Which country an address is in."""

import subprocess
import sys
from datetime import date
from pathlib import Path

import maxmind
import pytest

from waypost.kit.errors import SettingsError
from waypost.visitors.countries import (
    BUNDLED,
    COUNTRIES,
    Countries,
    data_date,
    open_countries,
    read_pack,
    write_pack,
)
from waypost.visitors.country_names import country_name


@pytest.fixture(scope="session")
def bundled() -> Countries:
    return open_countries(None)


@pytest.mark.parametrize(
    ("address", "country"),
    [("193.0.6.139", "NL"), ("2001:67c:2e8:22::c100:68b", "NL"), ("1.0.16.1", "JP"), ("2001:200::1", "JP")],
)
def test_finds_the_country_of_an_ip_address(bundled: Countries, address: str, country: str) -> None:
    assert bundled.of(address) == country
    assert bundled.day == data_date(None) >= date(2026, 6, 25)


NOWHERE = ["10.0.0.1", "192.168.1.1", "127.0.0.1", "::1", "fd00::1", "fe80::1%eth0", "255.255.255.255", "0.0.0.0", "::"]
NO_ADDRESS = [
    "",
    "x",
    "193.0.6",
    "193.0.6.139 ",
    "193.0.6.139\0",
    "0301.0.6.139",
    "/run/socket",
    "é",
    "\udcff",
    "1" * 5_000,
]


@pytest.mark.parametrize("address", [*NOWHERE, *NO_ADDRESS])
def test_unknown_addresses_have_no_country(bundled: Countries, address: str) -> None:
    assert bundled.of(address) == ""


def test_unwraps_mapped_ipv4_addresses(bundled: Countries) -> None:
    assert bundled.of("::ffff:193.0.6.139") == "NL"


def test_returns_iso_countries_only() -> None:
    pack = read_pack(BUNDLED.read_bytes())
    assert set(pack.countries) <= COUNTRIES | {""}
    assert len(pack.countries) > 230
    assert len(COUNTRIES) == 249


def test_each_country_has_a_name() -> None:
    assert {code for code in COUNTRIES if country_name(code) == code} == set()
    assert (country_name("DE"), country_name("XK")) == ("Germany", "XK")


def test_packing_keeps_range_boundaries() -> None:
    ranges4 = [(0, ""), (256, "NL"), (512, "DE"), (513, "")]
    ranges6 = [(0, ""), (0x2001_0DB8_0000_0000, "FR"), (0x2001_0DB8_0000_0001, "")]
    pack = read_pack(write_pack(date(2030, 1, 2), ranges4, ranges6))
    assert pack.day == date(2030, 1, 2)
    assert [pack.find(f"0.0.{a}.{b}") for a, b in ((0, 255), (1, 0), (1, 255), (2, 0), (2, 1))] == [
        "",
        "NL",
        "NL",
        "DE",
        "",
    ]
    assert [pack.find(text) for text in ("2001:db7::", "2001:db8::", "2001:db8::ffff:1:2:3", "2001:db8:0:1::")] == [
        "",
        "FR",
        "FR",
        "",
    ]


NETHERLANDS = {"country": {"iso_code": "NL"}, "registered_country": {"iso_code": "US"}}


def test_reads_a_maxmind_file(tmp_path: Path) -> None:
    networks = {
        "192.0.2.0/24": NETHERLANDS,
        "198.51.100.0/24": {"registered_country": {"iso_code": "BE"}},
        "203.0.113.0/25": {"country": {"iso_code": "EU"}},
        "203.0.113.128/25": {"country": {"iso_code": ["DE"]}},
        "2001:db8::/32": {"country": {"iso_code": "DE"}},
    }
    file = maxmind.write(tmp_path / "x.mmdb", networks, built=1_750_000_000)
    found = open_countries(file)
    found_countries = [
        found.of(f"{address}") for address in ("192.0.2.255", "::ffff:192.0.2.1", "198.51.100.1", "2001:db8::1")
    ]
    assert found_countries == ["NL", "NL", "BE", "DE"]
    assert {found.of(address) for address in ("203.0.113.1", "203.0.113.129", "192.0.3.1", "2001:db9::", "", "x")} == {
        ""
    }
    assert found.day == data_date(file) == date(2025, 6, 15)


def test_rejects_unusable_files(tmp_path: Path) -> None:
    networks = maxmind.write(tmp_path / "asn.mmdb", {"192.0.2.0/24": {"autonomous_system_number": 64496}}, kind="ASN")
    (tmp_path / "rubbish").write_bytes(b"rubbish" * 1_000)
    whole = maxmind.write(tmp_path / "whole", {"192.0.2.0/24": NETHERLANDS}).read_bytes()
    (tmp_path / "torn").write_bytes(whole[len(whole) // 2 :])
    for path in (networks, tmp_path / "rubbish", tmp_path / "torn", tmp_path / "missing", tmp_path):
        with pytest.raises(SettingsError, match=f"^WAYPOST_GEOIP_DATABASE: {path}: "):
            open_countries(path)


def test_importing_loads_no_data() -> None:
    """Processes that answer visitors import what stands beside it."""
    code = "import waypost.resources.clicks as c, sys; print([m for m in sys.modules if 'ua_parser_builtins' in m])"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"
