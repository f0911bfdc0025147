"""What proves a name, what does not, and what its owner is told of each."""

import pytest
from servers import NameServer, name_server

from waypost.outbound import DnsRecords
from waypost.resources.domains.checks import proof, words
from waypost.resources.domains.checks.astray import zones
from waypost.resources.domains.checks.findings import Claim, Proof

NAME, TXT, TOKEN, TARGET = "go.brand.test", "_waypost.go.brand.test", "waypost-0123456789abcdef", "cname.waypost.test"
CLAIM = Claim(NAME, TOKEN, TARGET)


@pytest.fixture
async def names():
    async with name_server() as server:
        yield server


@pytest.fixture
def records(names: NameServer) -> DnsRecords:
    return DnsRecords([names.address])


async def prove(records: DnsRecords) -> Proof:
    found = await proof.prove(records, CLAIM)
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
async def test_the_token_proves(names: NameServer, records: DnsRecords, values: list[str]) -> None:
    names.has(TXT, values, kind="TXT")
    names.silent_about.add(NAME)  # who has one proof does not wait for the other
    assert await prove(records) == Proof("proven")


async def test_a_chain_of_aliases_proves(names: NameServer, records: DnsRecords) -> None:
    names.has(NAME, ["a.test"], kind="CNAME")
    names.has("a.test", [TARGET.upper()], kind="CNAME")
    names.silent_about.add(TXT)
    assert await prove(records) == Proof("proven")


@pytest.mark.parametrize("value", [f"{TOKEN}x", TOKEN.upper(), TOKEN[:-1], f"{TOKEN} {TOKEN}", f"v={TOKEN}", ""])
async def test_nothing_else_proves(names: NameServer, records: DnsRecords, value: str) -> None:
    names.has(TXT, [f'"{value}"'], kind="TXT")
    found = await prove(records)
    assert found.outcome == "unproven"
    assert found.error == words.LOOKED.format(
        hostname=NAME,
        txt_name=TXT,
        txt=words.TXT_OTHER.format(value=value, token=TOKEN),
        cname=words.NO_NAME,
        advice=words.CHANGE_TXT.format(token=TOKEN),
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


def has_a_circle(names: NameServer) -> None:
    names.has(NAME, ["b.test"], kind="CNAME")
    names.has("b.test", [NAME], kind="CNAME")


def has_many_wild_values(names: NameServer) -> None:
    names.has(TXT, [rf'"\027[2J{"x" * 200}" "{"y" * 200}"', rf'"\027[2J{"z" * 200}" "{"y" * 200}"'], kind="TXT")


def has_doubled_txt(names: NameServer) -> None:
    names.has(f"{TXT}.brand.test", [f'"{TOKEN}"'], kind="TXT")


def has_doubled_cname(names: NameServer) -> None:
    names.has(f"{NAME}.brand.test", [TARGET], kind="CNAME")


def has_token_at_the_name(names: NameServer) -> None:
    names.has(NAME, [f'"{TOKEN}"'], kind="TXT")


@pytest.mark.parametrize(
    ("script", "says"),
    [
        (has_nothing, [f"TXT {TXT}: there is no such name.", f"CNAME {NAME}: there is no such name.", TOKEN, TARGET]),
        (has_other_records, [f"TXT {TXT}: there is no such record. CNAME {NAME}: there is no such record. Set one"]),
        (has_an_address, ["only the address 8.8.8.8.", f"set a TXT record at {TXT} with the value {TOKEN}"]),
        (has_another_alias, [f"it leads to other.test, not to {TARGET}.", f"Let the CNAME record lead to {TARGET}"]),
        (has_a_circle, ["it leads in a circle", "Look for a CNAME record that leads back to itself"]),
        (has_many_wild_values, ["none of its 2 values, the first of them “[2J", "…”, is “" + TOKEN]),
        (has_doubled_txt, [f"stands at {TXT}.brand.test:", "the zone brand.test by itself", "as _waypost.go there"]),
        (has_doubled_cname, [f"stands at {NAME}.brand.test:", "the zone brand.test by itself", "as go there"]),
        (has_token_at_the_name, [f"The value stands at {NAME} itself: move the TXT record to {TXT}"]),
    ],
)
async def test_each_failure_is_told(names: NameServer, records: DnsRecords, script, says: list[str]) -> None:
    script(names)
    found = await prove(records)
    assert found.outcome == "unproven"
    assert [text for text in says if text not in (found.error or "")] == []
    assert len(found.error or "") < 1000


@pytest.mark.parametrize("silent", [True, False], ids=["silence", "SERVFAIL"])
@pytest.mark.parametrize("about", [[TXT], [NAME], [TXT, NAME]], ids=["txt", "cname", "both"])
async def test_no_answer_is_no_no(
    names: NameServer, records: DnsRecords, about: list[str], silent: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proof, "DEADLINE", 0.3)
    for name in about:
        names.silent_about.add(name) if silent else names.fails(name)
    found = await prove(records)
    assert found.outcome == "unclear"
    reason = words.TIMED_OUT if silent else words.SERVER_FAILED.format(code=" (SERVFAIL)")
    assert found.error == words.UNCLEAR.format(
        hostname=NAME,
        txt_name=TXT,
        txt=reason if TXT in about else words.NO_NAME,
        cname=reason if NAME in about else words.NO_NAME,
        advice=words.ASK_PROVIDER,
    )


async def test_advice_is_not_waited_for(
    names: NameServer, records: DnsRecords, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proof, "DEADLINE", 0.5)
    names.silent_about.add(f"{TXT}.brand.test")
    assert (await prove(records)).outcome == "unproven"


def test_zones_that_a_provider_may_add() -> None:
    assert zones("brand.test") == ["brand.test"]
    assert zones("go.brand.test") == ["go.brand.test", "brand.test"]
    assert zones("a.b.c.brand.test") == ["b.c.brand.test", "c.brand.test", "brand.test"]


@pytest.mark.parametrize(
    ("script", "says"),
    [
        (has_nothing, "Set a TXT record at"),
        (has_a_circle, "Set a TXT record at"),
        (has_an_address, "Set a TXT record at"),
        (has_doubled_cname, "Set a TXT record at"),
        (has_doubled_txt, "the zone brand.test by itself"),
        (has_token_at_the_name, "move the TXT record to"),
        (has_other_records, "Set a TXT record at"),
    ],
)
async def test_where_only_txt_proves_only_txt_is_asked_for(
    names: NameServer, records: DnsRecords, script, says: str
) -> None:
    script(names)
    found = await proof.prove(records, Claim(NAME, TOKEN, TARGET, needs_txt=True))
    assert found.outcome == "unproven"
    assert f"CNAME {NAME}: {words.CNAME_NO_PROOF}" in (found.error or "")
    assert says in (found.error or "")
    assert TARGET not in (found.error or "")


async def test_where_only_txt_proves_no_alias_does(names: NameServer, records: DnsRecords) -> None:
    names.has(NAME, [TARGET], kind="CNAME")
    claim = Claim(NAME, TOKEN, TARGET, needs_txt=True)
    assert (await proof.prove(records, claim)).outcome == "unproven"
    names.fails(NAME)  # its alias is not asked about
    assert (await proof.prove(records, claim)).outcome == "unproven"
    names.fails(TXT)
    assert (await proof.prove(records, claim)).outcome == "unclear"
    names.forgets(TXT)
    names.has(TXT, [f'"{TOKEN}"'], kind="TXT")
    assert await proof.prove(records, claim) == Proof("proven")
