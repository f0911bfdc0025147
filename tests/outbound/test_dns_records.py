"""DnsRecords as they are right now, whatever name servers answer, and always within seconds."""

import threading
from typing import Any

import dns.message
import pytest
from servers import NameServer, name_server

from waypost.kit.errors import SettingsError
from waypost.outbound import DnsLookup, DnsRecords, dns_resolver, printable
from waypost.outbound.dns_records import MAX_HOPS


@pytest.fixture
def records(names: NameServer) -> DnsRecords:
    return DnsRecords([names.address])


async def test_finds_records(names: NameServer, records: DnsRecords) -> None:
    names.has("a.test", ['"one"', '"two pieces, " "joined"', '""', r'"\255\195\188"'], kind="TXT")
    names.has("b.test", ["a.test"], kind="CNAME")
    names.has("c.test", ["A.Test"], kind="CNAME")
    names.has("a.test", ["8.8.8.8"])
    found = await records.find("a.test", "TXT")
    assert set(found.values) == {"one", "two pieces, joined", "", "\ufffdü"}
    assert found.is_conclusive
    assert await records.find("c.test", "CNAME") == DnsLookup("c.test", ("a.test",))
    assert set((await records.find("b.test", "TXT")).values) == set(found.values)  # through the alias
    assert await records.addresses("b.test") == ("8.8.8.8",)


async def test_nothing_is_remembered(names: NameServer, records: DnsRecords) -> None:
    names.has("a.test", ['"old"'], ['"new"'], kind="TXT")
    assert [(await records.find("a.test", "TXT")).values for _ in "12"] == [("old",), ("new",)]


async def test_five_hundred_texts_come_over_tcp(names: NameServer, records: DnsRecords) -> None:
    names.has("a.test", [f'"text-{n}" "{"x" * 60}"' for n in range(500)], kind="TXT")
    found = await records.find("a.test", "TXT")
    assert len(found.values) == 500
    assert f"text-499{'x' * 60}" in found.values
    assert names.over_tcp == 1


async def test_what_comes_over_tcp_is_parsed_in_a_thread(
    names: NameServer, records: DnsRecords, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R28: 64 KiB of a hostile zone take seconds to parse."""
    parse, threads = dns.message.from_wire, list[threading.Thread]()

    def from_wire(wire: bytes, *args: Any, **options: Any) -> dns.message.Message:
        if len(wire) > 512:
            threads.append(threading.current_thread())
        return parse(wire, *args, **options)

    monkeypatch.setattr(dns.message, "from_wire", from_wire)
    names.has("a.test", [f'"{"x" * 200}{n}"' for n in range(100)], kind="TXT")
    assert len((await records.find("a.test", "TXT")).values) == 100
    assert len(threads) == 1
    assert threads[0] is not threading.current_thread()


async def test_more_than_a_thousand_records_are_not_parsed(names: NameServer, records: DnsRecords) -> None:
    names.has("a.test", [f"8.8.{n // 250}.{n % 250}" for n in range(1_001)])
    found = await records.find("a.test", "A")
    assert (found.problem, found.is_conclusive, names.over_tcp) == ("server_failed", False, 1)


@pytest.mark.parametrize("rcode", ["SERVFAIL", "REFUSED", "NOTIMP"])
async def test_failing_name_servers(names: NameServer, records: DnsRecords, rcode: str) -> None:
    names.fails("a.test", rcode)
    assert await records.find("a.test", "TXT") == DnsLookup("a.test", problem="server_failed", code=rcode)
    assert not (await records.find("a.test", "TXT")).is_conclusive


async def test_what_is_not_there(names: NameServer, records: DnsRecords) -> None:
    names.has("a.test", ["8.8.8.8"])
    assert (await records.find("a.test", "TXT")).problem == "no_record"
    assert (await records.find("b.test", "TXT")).problem == "no_name"
    assert (await records.find(f"_waypost.{'a.' * 123}test", "TXT")).problem == "no_name"  # too long to be a name
    assert await records.aliases("a.test") == (DnsLookup("a.test", problem="no_record"),)


async def test_silence_ends(names: NameServer, records: DnsRecords, monkeypatch: pytest.MonkeyPatch) -> None:
    names.silent_about.add("a.test")
    monkeypatch.setattr(dns_resolver, "LIFETIME", 0.2)
    assert await records.find("a.test", "CNAME") == DnsLookup("a.test", problem="timed_out")


async def test_nobody_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    async with name_server() as gone:
        records = DnsRecords([gone.address])
    monkeypatch.setattr(dns_resolver, "LIFETIME", 0.2)
    found = await records.find("a.test", "TXT")
    assert found.problem in {"unreachable", "timed_out"}
    assert not found.is_conclusive


async def test_chains(names: NameServer, records: DnsRecords) -> None:
    for n in range(MAX_HOPS + 1):
        names.has(f"h{n}.test", [f"h{n + 1}.test"], kind="CNAME")
    assert [hop.name for hop in await records.aliases("h5.test")] == [
        "h5.test",
        "h6.test",
        "h7.test",
        "h8.test",
        "h9.test",
    ]
    reached = await records.aliases("h1.test", until="h3.test")
    assert [hop.values for hop in reached] == [("h2.test",), ("h3.test",)]
    assert [hop.values for hop in await records.aliases("h0.test", until=f"h{MAX_HOPS}.test")][-1] == ("h8.test",)
    assert (await records.aliases("h0.test"))[-1].problem == "loop"  # one too many


async def test_circles(names: NameServer, records: DnsRecords) -> None:
    names.has("a.test", ["b.test"], kind="CNAME")
    names.has("b.test", ["a.test"], kind="CNAME")
    names.has("self.test", ["self.test"], kind="CNAME")
    assert [(hop.name, hop.problem) for hop in await records.aliases("a.test")] == [
        ("a.test", None),
        ("b.test", None),
        ("a.test", "loop"),
    ]
    assert (await records.aliases("self.test"))[-1].problem == "loop"
    assert (await records.find("a.test", "TXT")).problem == "loop"


def test_servers_are_addresses() -> None:
    with pytest.raises(SettingsError, match="WAYPOST_DNS_SERVERS"):
        DnsRecords(["dns.example.com"])


def test_what_is_shown_is_plain() -> None:
    assert printable("a\x1b[31m\r\nb\u202ec\ud800d") == "a [31m  b c d"
    assert printable("x" * 200) == "x" * 200
    assert printable("x" * 100_000) == "x" * 199 + "…"
