"""Which records verify a domain, which do not, and what the owner reads in each case."""

import pytest
from servers import NameServer, name_server

from waypost.outbound import DnsRecords
from waypost.resources.domains.checks import messages, verification
from waypost.resources.domains.checks.verification import DnsVerdict, ExpectedRecords, zones

NAME, TXT, TOKEN, TARGET = "go.brand.test", "_waypost.go.brand.test", "waypost-0123456789abcdef", "cname.waypost.test"
EXPECTED = ExpectedRecords(NAME, TOKEN, TARGET)


@pytest.fixture
async def names():
    async with name_server() as server:
        yield server


@pytest.fixture
def records(names: NameServer) -> DnsRecords:
    return DnsRecords([names.address])


async def verify(records: DnsRecords) -> DnsVerdict:
    found = await verification.verify(records, EXPECTED)
    if found.error is not None:
        print(found.error)
        assert found.error.isprintable()
        assert "{" not in found.error
    return found


@pytest.mark.parametrize(
    "values",
    [
        [f'"{TOKEN}"'],
        ['"v=spf1 -all"', f'"{TOKEN}"', '"other"'],
        [f'"{TOKEN[:9]}" "{TOKEN[9:]}"'],
        [rf'" \"{TOKEN}\" "'],
        [f'"{n}"' for n in range(499)] + [f'"{TOKEN}"'],
    ],
    ids=["alone", "among-others", "in-pieces", "quoted", "five-hundred"],
)
async def test_the_token_verifies(names: NameServer, records: DnsRecords, values: list[str]) -> None:
    names.has(TXT, values, kind="TXT")
    names.silent_about.add(NAME)  # with one record found, the other is not waited for
    assert await verify(records) == DnsVerdict("verified")


async def test_a_chain_of_aliases_verifies(names: NameServer, records: DnsRecords) -> None:
    names.has(NAME, ["a.test"], kind="CNAME")
    names.has("a.test", [TARGET.upper()], kind="CNAME")
    names.silent_about.add(TXT)
    assert await verify(records) == DnsVerdict("verified")


@pytest.mark.parametrize("value", [f"{TOKEN}x", TOKEN.upper(), TOKEN[:-1], f"{TOKEN} {TOKEN}", f"v={TOKEN}", ""])
async def test_no_other_value_verifies(names: NameServer, records: DnsRecords, value: str) -> None:
    names.has(TXT, [f'"{value}"'], kind="TXT")
    found = await verify(records)
    assert found.outcome == "unverified"
    assert found.error == messages.NOT_VERIFIED.format(
        hostname=NAME,
        txt_name=TXT,
        txt=messages.TXT_OTHER.format(value=value, token=TOKEN),
        cname=messages.NO_NAME,
        advice=messages.CHANGE_TXT.format(token=TOKEN),
    )


def has_nothing(names: NameServer) -> None: ...


def has_other_records(names: NameServer) -> None:
    names.has(TXT, ["8.8.8.8"])
    names.has(NAME, ['"hello"'], kind="TXT")


def has_an_address(names: NameServer) -> None:
    names.has(NAME, ["8.8.8.8"])


def has_another_alias(names: NameServer) -> None:
    names.has(NAME, ["other.test"], kind="CNAME")
    names.has("other.test", ["8.8.8.8"])


def has_a_loop(names: NameServer) -> None:
    names.has(NAME, ["b.test"], kind="CNAME")
    names.has("b.test", [NAME], kind="CNAME")


def has_many_wild_values(names: NameServer) -> None:
    names.has(TXT, [rf'"\027[2J{"x" * 200}" "{"y" * 200}"', rf'"\027[2J{"z" * 200}" "{"y" * 200}"'], kind="TXT")


def has_doubled_txt(names: NameServer) -> None:
    names.has(f"{TXT}.brand.test", [f'"{TOKEN}"'], kind="TXT")


def has_doubled_cname(names: NameServer) -> None:
    names.has(f"{NAME}.brand.test", [TARGET], kind="CNAME")


def has_token_at_the_hostname(names: NameServer) -> None:
    names.has(NAME, [f'"{TOKEN}"'], kind="TXT")


@pytest.mark.parametrize(
    ("script", "says"),
    [
        (
            has_nothing,
            [
                f"TXT record {TXT}: the name does not exist.",
                f"CNAME record {NAME}: the name does not exist.",
                TOKEN,
                TARGET,
            ],
        ),
        (
            has_other_records,
            [f"{TXT}: there is no such record.", f"{NAME}: there is no such record. Create one"],
        ),
        (has_an_address, ["only the IP address 8.8.8.8.", f"Create a TXT record named {TXT} with the value {TOKEN}"]),
        (has_another_alias, [f"it points to other.test instead of {TARGET}.", f"Point the CNAME record to {TARGET}"]),
        (has_a_loop, ["form a loop", "Find the CNAME record that points back to itself"]),
        (has_many_wild_values, ["none of its 2 values is “" + TOKEN, "the first one is “[2J", "…”."]),
        (has_doubled_txt, [f"exists at {TXT}.brand.test,", "adds brand.test to every name", "Enter _waypost.go as"]),
        (has_doubled_cname, [f"exists at {NAME}.brand.test,", "adds brand.test to every name", "Enter go as"]),
        (has_token_at_the_hostname, [f"The TXT record exists at {NAME}. Move it to {TXT}"]),
    ],
)
async def test_explains_each_failure(names: NameServer, records: DnsRecords, script, says: list[str]) -> None:
    script(names)
    found = await verify(records)
    assert found.outcome == "unverified"
    assert [text for text in says if text not in (found.error or "")] == []
    assert len(found.error or "") < 1000


@pytest.mark.parametrize("silent", [True, False], ids=["silence", "SERVFAIL"])
@pytest.mark.parametrize("about", [[TXT], [NAME], [TXT, NAME]], ids=["txt", "cname", "both"])
async def test_no_answer_is_unclear(
    names: NameServer, records: DnsRecords, about: list[str], silent: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    await records.find("", "A")  # loads the library
    monkeypatch.setattr(verification, "DEADLINE", 0.3)
    for name in about:
        names.silent_about.add(name) if silent else names.fails(name)
    found = await verify(records)
    assert found.outcome == "unclear"
    reason = messages.TIMED_OUT if silent else messages.SERVER_FAILED.format(code=" (SERVFAIL)")
    assert found.error == messages.UNCLEAR.format(
        hostname=NAME,
        txt_name=TXT,
        txt=reason if TXT in about else messages.NO_NAME,
        cname=reason if NAME in about else messages.NO_NAME,
        advice=messages.ASK_PROVIDER,
    )


async def test_does_not_wait_for_advice(
    names: NameServer, records: DnsRecords, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verification, "DEADLINE", 0.5)
    names.silent_about.add(f"{TXT}.brand.test")
    assert (await verify(records)).outcome == "unverified"


def test_zones_that_a_provider_may_add() -> None:
    assert zones("brand.test") == ["brand.test"]
    assert zones("go.brand.test") == ["go.brand.test", "brand.test"]
    assert zones("a.b.c.brand.test") == ["b.c.brand.test", "c.brand.test", "brand.test"]


@pytest.mark.parametrize(
    ("script", "says"),
    [
        (has_nothing, "Create a TXT record named"),
        (has_a_loop, "Create a TXT record named"),
        (has_an_address, "Create a TXT record named"),
        (has_doubled_cname, "Create a TXT record named"),
        (has_doubled_txt, "adds brand.test to every name"),
        (has_token_at_the_hostname, "Move it to"),
        (has_other_records, "Create a TXT record named"),
    ],
)
async def test_asks_for_txt_only_when_a_cname_is_not_accepted(
    names: NameServer, records: DnsRecords, script, says: str
) -> None:
    script(names)
    found = await verification.verify(records, ExpectedRecords(NAME, TOKEN, TARGET, needs_txt=True))
    assert found.outcome == "unverified"
    assert f"CNAME record {NAME}: {messages.CNAME_NOT_ACCEPTED}" in (found.error or "")
    assert says in (found.error or "")
    assert TARGET not in (found.error or "")


async def test_a_cname_does_not_verify_when_txt_is_required(names: NameServer, records: DnsRecords) -> None:
    names.has(NAME, [TARGET], kind="CNAME")
    expected = ExpectedRecords(NAME, TOKEN, TARGET, needs_txt=True)
    assert (await verification.verify(records, expected)).outcome == "unverified"
    names.fails(NAME)  # its alias is not asked about
    assert (await verification.verify(records, expected)).outcome == "unverified"
    names.fails(TXT)
    assert (await verification.verify(records, expected)).outcome == "unclear"
    names.forgets(TXT)
    names.has(TXT, [f'"{TOKEN}"'], kind="TXT")
    assert await verification.verify(records, expected) == DnsVerdict("verified")


@pytest.mark.parametrize("script", [has_nothing, has_an_address, has_other_records])
async def test_asks_nobody_to_point_a_domain_to_localhost(names: NameServer, records: DnsRecords, script) -> None:
    script(names)
    error = (await verification.verify(records, ExpectedRecords(NAME, TOKEN, "localhost"))).error or ""
    assert f"CNAME record {NAME}: {messages.CNAME_IMPOSSIBLE}" in error
    assert ("Create a TXT record named" in error or "Change the TXT record's value" in error, "localhost" in error) == (
        True,
        False,
    )
