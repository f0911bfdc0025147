"""Find a correct record at a wrong name: the places where DNS providers' forms put it."""

import asyncio

from waypost.outbound import DnsRecords
from waypost.resources.domains.checks import messages
from waypost.resources.domains.checks.evidence import ExpectedRecords

_MAX_ZONES = 3


async def find_misplaced(records: DnsRecords, expected: ExpectedRecords) -> str:
    """Advice on the misplaced record; empty when there is none."""
    searches = [_txt_at_hostname(records, expected)]
    for zone in zones(expected.hostname):
        searches.append(_txt_with_doubled_zone(records, expected, zone))
        if not expected.needs_txt:
            searches.append(_cname_with_doubled_zone(records, expected, zone))
    return next((advice for advice in await asyncio.gather(*searches) if advice), "")


def zones(hostname: str) -> list[str]:
    """Zones that a provider may append to every name: `go.brand.com`, `brand.com`."""
    labels = hostname.split(".")
    return [".".join(labels[start:]) for start in range(len(labels) - 1)][-_MAX_ZONES:]


async def _txt_at_hostname(records: DnsRecords, expected: ExpectedRecords) -> str:
    if not expected.has_token(await records.find(expected.hostname, "TXT")):
        return ""
    return messages.AT_HOSTNAME.format(hostname=expected.hostname, txt_name=expected.txt_name)


async def _txt_with_doubled_zone(records: DnsRecords, expected: ExpectedRecords, zone: str) -> str:
    lookup = await records.find(f"{expected.txt_name}.{zone}", "TXT")
    return _doubled("TXT", expected.txt_name, zone) if expected.has_token(lookup) else ""


async def _cname_with_doubled_zone(records: DnsRecords, expected: ExpectedRecords, zone: str) -> str:
    lookup = await records.find(f"{expected.hostname}.{zone}", "CNAME")
    return _doubled("CNAME", expected.hostname, zone) if expected.has_target(lookup) else ""


def _doubled(kind: str, name: str, zone: str) -> str:
    short = name.removesuffix(zone).rstrip(".") or "@"
    return messages.DOUBLED.format(kind=kind, found=f"{name}.{zone}", zone=zone, short=short)
