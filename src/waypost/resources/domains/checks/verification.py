"""Verify a domain by its DNS: the token in TXT `_waypost.<hostname>`, or a CNAME record that points to this service.

A missing answer is not a failure: if one of the two lookups got none, its record may exist.
"""

import asyncio
from dataclasses import replace

from waypost.outbound import DnsLookup, DnsRecords
from waypost.resources.domains.checks.evidence import DnsEvidence, DnsVerdict, ExpectedRecords
from waypost.resources.domains.checks.messages import explain
from waypost.resources.domains.checks.misplaced_records import find_misplaced

DEADLINE = 10.0  # seconds in total


async def verify(records: DnsRecords, expected: ExpectedRecords) -> DnsVerdict:
    loop = asyncio.get_running_loop()
    until = loop.time() + DEADLINE
    evidence = await _look_up(records, expected, until)
    if expected.are_in(evidence):
        return DnsVerdict("verified")
    if not expected.are_answered_by(evidence):
        return DnsVerdict("unclear", explain(expected, evidence))
    try:
        async with asyncio.timeout_at(until):
            addresses, advice = await asyncio.gather(
                records.addresses(expected.hostname), find_misplaced(records, expected)
            )
            evidence = replace(evidence, addresses=addresses, advice=advice)
    except TimeoutError:
        pass  # explained without them
    return DnsVerdict("unverified", explain(expected, evidence))


async def _look_up(records: DnsRecords, expected: ExpectedRecords, until: float) -> DnsEvidence:
    """Both records side by side, until one of them verifies the domain, both are answered, or the time is over."""
    txt = asyncio.create_task(records.find(expected.txt_name, "TXT"))
    chain = asyncio.create_task(records.aliases(expected.hostname, until=expected.target))
    evidence = DnsEvidence(
        DnsLookup(expected.txt_name, problem="timed_out"), [DnsLookup(expected.hostname, problem="timed_out")]
    )
    try:
        for when in (asyncio.FIRST_COMPLETED, asyncio.ALL_COMPLETED):
            left = until - asyncio.get_running_loop().time()
            await asyncio.wait((txt, chain), timeout=left, return_when=when)
            evidence = DnsEvidence(
                txt.result() if txt.done() else evidence.txt, chain.result() if chain.done() else evidence.chain
            )
            if expected.are_in(evidence):
                break
    finally:
        txt.cancel()
        chain.cancel()
    return evidence
