"""Where the right record is looked for when it is not where it belongs: in the places that providers' forms put it."""

import asyncio

from waypost.outbound import DnsRecords
from waypost.resources.domains.checks import words
from waypost.resources.domains.checks.findings import Claim

_MOST_ZONES = 3


async def advice_for(records: DnsRecords, claim: Claim) -> str:
    """Empty when it is in none of them."""
    places = [_at_the_name(records, claim)]
    looks = (_doubled_txt,) if claim.needs_txt else (_doubled_txt, _doubled_cname)
    places += [look(records, claim, zone) for zone in zones(claim.hostname) for look in looks]
    return next((advice for advice in await asyncio.gather(*places) if advice), "")


def zones(hostname: str) -> list[str]:
    """What the zone may be that a provider adds to every name: `go.brand.com`, `brand.com`."""
    labels = hostname.split(".")
    return [".".join(labels[start:]) for start in range(len(labels) - 1)][-_MOST_ZONES:]


async def _at_the_name(records: DnsRecords, claim: Claim) -> str:
    if not claim.has_token(await records.find(claim.hostname, "TXT")):
        return ""
    return words.AT_THE_NAME.format(hostname=claim.hostname, txt_name=claim.txt_name)


async def _doubled_txt(records: DnsRecords, claim: Claim, zone: str) -> str:
    found = f"{claim.txt_name}.{zone}"
    return _doubled("TXT", found, claim.txt_name, zone) if claim.has_token(await records.find(found, "TXT")) else ""


async def _doubled_cname(records: DnsRecords, claim: Claim, zone: str) -> str:
    found = f"{claim.hostname}.{zone}"
    lookup = await records.find(found, "CNAME")
    return _doubled("CNAME", found, claim.hostname, zone) if claim.has_target(lookup) else ""


def _doubled(kind: str, found: str, wanted: str, zone: str) -> str:
    return words.DOUBLED.format(kind=kind, found=found, zone=zone, short=wanted.removesuffix(zone).rstrip(".") or "@")
