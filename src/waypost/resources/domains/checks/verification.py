"""Verifies a domain by its DNS: the token in TXT `_waypost.<hostname>`, or a CNAME record that points to this service.

If one of the two lookups got no response, its record may exist: the result is then unclear.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from waypost.outbound import DnsLookup, DnsRecords, printable
from waypost.resources.domains import names
from waypost.resources.domains.checks import messages

DEADLINE = 10.0  # seconds in total
_MAX_ZONES = 3
_MISSING = {
    "no_name": messages.NO_NAME,
    "no_record": messages.NO_RECORD,
    "loop": messages.LOOP,
    "timed_out": messages.TIMED_OUT,
    "unreachable": messages.UNREACHABLE,
}
_QUOTES = "\"'“”\u2018\u2019 \t"  # and blanks: often copied along with a value


@dataclass(frozen=True, slots=True)
class DnsEvidence:
    txt: DnsLookup
    chain: Sequence[DnsLookup]
    """The CNAME lookups from the hostname on, at least one."""
    addresses: Sequence[str] = ()
    advice: str = ""
    """What to do if the record was found at a wrong name."""


@dataclass(frozen=True, slots=True)
class ExpectedRecords:
    hostname: str
    token: str
    target: str
    """Required target of the CNAME record."""
    needs_txt: bool = False
    """A CNAME record is not accepted: another account has verified the hostname before."""

    @property
    def txt_name(self) -> str:
        return f"_waypost.{self.hostname}"

    def are_in(self, evidence: DnsEvidence) -> bool:
        return self.has_token(evidence.txt) or (not self.needs_txt and self.has_target(*evidence.chain))

    def are_answered_by(self, evidence: DnsEvidence) -> bool:
        return evidence.txt.is_conclusive and (self.needs_txt or evidence.chain[-1].is_conclusive)

    def has_token(self, lookup: DnsLookup) -> bool:
        return any(value.strip(_QUOTES) == self.token for value in lookup.values)

    def has_target(self, *chain: DnsLookup) -> bool:
        return any(self.target in hop.values for hop in chain)


@dataclass(frozen=True, slots=True)
class DnsVerdict:
    outcome: Literal["verified", "unverified", "unclear"]
    """unclear: no name server responded."""
    error: str | None = None
    """Text for the owner; None if verified."""


async def verify(records: DnsRecords, expected: ExpectedRecords) -> DnsVerdict:
    loop = asyncio.get_running_loop()
    until = loop.time() + DEADLINE
    evidence = await _look_up(records, expected, until)
    if expected.are_in(evidence):
        return DnsVerdict("verified")
    if not expected.are_answered_by(evidence):
        return DnsVerdict("unclear", _explain(expected, evidence))
    try:
        async with asyncio.timeout_at(until):
            addresses, advice = await asyncio.gather(
                records.addresses(expected.hostname), _find_misplaced(records, expected)
            )
            evidence = replace(evidence, addresses=addresses, advice=advice)
    except TimeoutError:
        pass  # the error text does without them
    return DnsVerdict("unverified", _explain(expected, evidence))


async def _look_up(records: DnsRecords, expected: ExpectedRecords, until: float) -> DnsEvidence:
    """Look up both records concurrently, until one verifies the domain, both have results, or the time is over."""
    txt = asyncio.create_task(records.find(expected.txt_name, "TXT"))
    chain = asyncio.create_task(records.aliases(expected.hostname, until=expected.target))
    evidence = DnsEvidence(
        DnsLookup(expected.txt_name, problem="timed_out"), [DnsLookup(expected.hostname, problem="timed_out")]
    )
    try:
        for when in (asyncio.FIRST_COMPLETED, asyncio.ALL_COMPLETED):
            timeout = until - asyncio.get_running_loop().time()
            await asyncio.wait((txt, chain), timeout=timeout, return_when=when)
            evidence = DnsEvidence(
                txt.result() if txt.done() else evidence.txt, chain.result() if chain.done() else evidence.chain
            )
            if expected.are_in(evidence):
                break
    finally:
        txt.cancel()
        chain.cancel()
    return evidence


async def _find_misplaced(records: DnsRecords, expected: ExpectedRecords) -> str:
    """Return advice on a correct record at a wrong name, as forms of DNS providers create it; empty if none."""
    searches = [_txt_at_hostname(records, expected)]
    for zone in zones(expected.hostname):
        searches.append(_with_doubled_zone(records, expected, "TXT", zone))
        if not expected.needs_txt:
            searches.append(_with_doubled_zone(records, expected, "CNAME", zone))
    return next((advice for advice in await asyncio.gather(*searches) if advice), "")


def zones(hostname: str) -> list[str]:
    """Return the zones that a provider may append to every name: `go.brand.com`, `brand.com`."""
    labels = hostname.split(".")
    return [".".join(labels[start:]) for start in range(len(labels) - 1)][-_MAX_ZONES:]


async def _txt_at_hostname(records: DnsRecords, expected: ExpectedRecords) -> str:
    if not expected.has_token(await records.find(expected.hostname, "TXT")):
        return ""
    return messages.AT_HOSTNAME.format(hostname=expected.hostname, txt_name=expected.txt_name)


async def _with_doubled_zone(
    records: DnsRecords, expected: ExpectedRecords, kind: Literal["TXT", "CNAME"], zone: str
) -> str:
    name = expected.txt_name if kind == "TXT" else expected.hostname
    lookup = await records.find(f"{name}.{zone}", kind)
    if not (expected.has_token(lookup) if kind == "TXT" else expected.has_target(lookup)):
        return ""
    short = name.removesuffix(zone).rstrip(".") or "@"
    return messages.DOUBLED.format(kind=kind, found=lookup.name, zone=zone, short=short)


def _explain(expected: ExpectedRecords, evidence: DnsEvidence) -> str:
    """Return why the domain is not verified, and what to do."""
    fields = {
        "hostname": expected.hostname,
        "txt_name": expected.txt_name,
        "token": expected.token,
        "target": expected.target,
    }
    template = messages.NOT_VERIFIED if expected.are_answered_by(evidence) else messages.UNCLEAR
    advice = evidence.advice or _advice(expected, evidence).format(**fields)
    return template.format(txt=_txt(expected, evidence.txt), cname=_cname(expected, evidence), advice=advice, **fields)


def _txt(expected: ExpectedRecords, lookup: DnsLookup) -> str:
    if not lookup.values:
        return _missing(lookup)
    value, count = printable(lookup.values[0]), len(lookup.values)
    template = messages.TXT_OTHER if count == 1 else messages.TXT_OTHERS
    return template.format(value=value, count=count, token=expected.token)


def _cname(expected: ExpectedRecords, evidence: DnsEvidence) -> str:
    if expected.needs_txt:
        return messages.CNAME_NOT_ACCEPTED
    if names.is_local(expected.target):
        return messages.CNAME_IMPOSSIBLE
    *hops, last = evidence.chain
    if not last.is_conclusive or last.problem == "loop":
        return _missing(last)
    if hops:  # the end of the chain is not an alias, but its target
        return messages.CNAME_OTHER.format(found=printable(last.name), target=expected.target)
    if evidence.addresses:
        return messages.CNAME_ADDRESS.format(address=evidence.addresses[0])
    return _missing(last)


def _missing(lookup: DnsLookup) -> str:
    if lookup.problem == "server_failed":
        return messages.SERVER_FAILED.format(code=f" ({lookup.code})" if lookup.code else "")
    return _MISSING[lookup.problem or "no_record"]


def _advice(expected: ExpectedRecords, evidence: DnsEvidence) -> str:
    problems = {evidence.txt.problem, None if expected.needs_txt else evidence.chain[-1].problem}
    if "unreachable" in problems:
        return messages.ASK_OPERATOR
    if problems & {"server_failed", "timed_out"}:
        return messages.ASK_PROVIDER
    if "loop" in problems:
        return messages.BREAK_LOOP
    return _advice_on_records(expected, evidence)


def _advice_on_records(expected: ExpectedRecords, evidence: DnsEvidence) -> str:
    if evidence.txt.values:
        return messages.CHANGE_TXT
    if expected.needs_txt or names.is_local(expected.target):
        return messages.SET_TXT
    if len(evidence.chain) > 1:
        return messages.CHANGE_CNAME
    return messages.USE_TXT if evidence.addresses else messages.SET_EITHER
