"""Whether the DNS of a host name still leads here: for whoever deletes its domain."""

import asyncio

from waypost.outbound import DnsRecords

DEADLINE = 3.0  # seconds: somebody waits for a page


async def points_here(records: DnsRecords, target: str, hostname: str) -> bool:
    """By a CNAME that reaches `target`, or by one of its addresses. False also when nobody can tell in time."""
    try:
        async with asyncio.timeout(DEADLINE):
            chain, its, ours = await asyncio.gather(
                records.aliases(hostname, until=target), records.addresses(hostname), records.addresses(target)
            )
    except TimeoutError:
        return False
    return any(target in hop.values for hop in chain) or not set(its).isdisjoint(ours)
