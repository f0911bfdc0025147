"""Is a host name its claimant's? The token in TXT `_waypost.<hostname>`, or a CNAME that reaches our own name, unless
another account has verified the name before.

Refuses to take silence for a no: where one of the two look-ups got no answer, the proof may stand just there.
"""

import asyncio
from dataclasses import replace

from waypost.outbound import DnsLookup, DnsRecords
from waypost.resources.domains.checks.astray import advice_for
from waypost.resources.domains.checks.findings import Claim, Proof, Seen
from waypost.resources.domains.checks.telling import told

DEADLINE = 10.0  # seconds in all


async def prove(records: DnsRecords, claim: Claim) -> Proof:
    """Both ways side by side, within 10 seconds."""
    loop = asyncio.get_running_loop()
    until = loop.time() + DEADLINE
    seen = await _look(records, claim, until)
    if claim.is_proven(seen):
        return Proof("proven")
    if not claim.is_answered(seen):
        return Proof("unclear", told(claim, seen))
    try:
        async with asyncio.timeout_at(until):
            seen = await _look_around(records, claim, seen)
    except TimeoutError:
        pass  # then without the advice
    return Proof("unproven", told(claim, seen))


async def _look(records: DnsRecords, claim: Claim, until: float) -> Seen:
    """Until one of the two is a proof, or both have ended, or the time has."""
    txt = asyncio.create_task(records.find(claim.txt_name, "TXT"))
    chain = asyncio.create_task(records.aliases(claim.hostname, until=claim.target))
    seen = Seen(DnsLookup(claim.txt_name, problem="timed_out"), [DnsLookup(claim.hostname, problem="timed_out")])
    try:
        for when in (asyncio.FIRST_COMPLETED, asyncio.ALL_COMPLETED):
            left = until - asyncio.get_running_loop().time()
            await asyncio.wait((txt, chain), timeout=left, return_when=when)
            seen = Seen(txt.result() if txt.done() else seen.txt, chain.result() if chain.done() else seen.chain)
            if claim.is_proven(seen):
                break
    finally:
        txt.cancel()
        chain.cancel()
    return seen


async def _look_around(records: DnsRecords, claim: Claim, seen: Seen) -> Seen:
    addresses, advice = await asyncio.gather(records.addresses(claim.hostname), advice_for(records, claim))
    return replace(seen, addresses=addresses, advice=advice)
