from ipaddress import ip_address, ip_network
from pathlib import Path

import pytest

from waypost.outbound.addresses import AllowedAddresses, is_public, own_addresses


def test_public_and_private_addresses() -> None:
    assert is_public(ip_address("93.184.215.14"))
    assert is_public(ip_address("2606:4700::1111"))
    assert not is_public(ip_address("127.0.0.1"))


NOT_PUBLIC = """
    0.0.0.0 0.1.2.3 10.1.2.3 100.64.0.1 127.9.9.9 168.63.129.16 169.254.169.254 172.20.0.1 192.0.0.8 192.0.2.1
    192.88.99.1 192.168.0.1 198.19.0.1 198.51.100.9 203.0.113.9 224.0.0.1 233.252.0.1 240.0.0.1 255.255.255.255
    :: ::1 ::7f00:1 ::ffff:10.0.0.1 ::ffff:0:a00:1 64:ff9b::a00:1 64:ff9b::808:808 100::1
    2001::1 2001:2::1 2001:10::1 2001:db8::1 2002:7f00:1:: 2002:808:808:: 3fff::1 5f00::1
    fc00::1 fe80::1 fec0::1 ff02::1 ff0e::1 2606:4700::1111%eth0
"""


@pytest.mark.parametrize("text", NOT_PUBLIC.split())
def test_not_public(text: str) -> None:
    assert not is_public(ip_address(text))


@pytest.mark.parametrize("text", ["1.1.1.1", "100.128.0.1", "172.32.0.1", "223.255.255.1", "::ffff:8.8.8.8", "2a00::1"])
def test_public(text: str) -> None:
    assert is_public(ip_address(text))


def test_an_allowed_network_is_reachable_mapped_or_not() -> None:
    reachable = AllowedAddresses([ip_network("10.0.0.0/24")])
    assert ip_address("10.0.0.7") in reachable
    assert ip_address("::ffff:10.0.0.7") in reachable
    assert ip_address("10.0.1.7") not in reachable


def test_own_addresses_are_not_reachable_though_public() -> None:
    own = frozenset({ip_address("8.8.8.8")})
    assert ip_address("8.8.8.8") not in AllowedAddresses((), own)
    assert ip_address("::ffff:8.8.8.8") not in AllowedAddresses((), own)
    assert ip_address("8.8.8.8") in AllowedAddresses([ip_network("8.8.8.8/32")], own)


def test_own_addresses_are_those_of_the_interfaces(tmp_path: Path) -> None:
    (tmp_path / "if_inet6").write_text("20010db8000000000000000000000007 02 40 00 80     eth0\n")
    (tmp_path / "fib_trie").write_text(
        "     |-- 8.8.4.0\n        /24 link UNICAST\n     |-- 8.8.4.4\n        /32 host LOCAL\n"
    )
    assert own_addresses(tmp_path) == {ip_address("2001:db8::7"), ip_address("8.8.4.4")}


def test_own_addresses_of_this_machine() -> None:
    assert ip_address("127.0.0.1") in own_addresses()


def test_without_linux_no_own_address_is_known(tmp_path: Path) -> None:
    assert own_addresses(tmp_path) == frozenset()
