"""What a name's TXT and CNAME records say right now: asked anew each time, within seconds, and never an exception.

What comes back was written by strangers: whoever shows a value shows `printable` of it.
"""

import asyncio
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import dns.exception
import dns.message
import dns.name
import dns.rdata
import dns.resolver

from waypost.outbound.name_servers import resolver

RecordType = Literal["TXT", "CNAME", "A", "AAAA"]
LookupProblem = Literal["no_name", "no_record", "server_failed", "timed_out", "unreachable", "loop"]
MAX_HOPS = 8
MAX_SHOWN = 200  # characters


@dataclass(frozen=True, slots=True)
class DnsLookup:
    """What was found; without values, `problem` says why."""

    name: str
    values: tuple[str, ...] = ()
    """Of TXT: the text, its pieces joined. Else names or addresses, without a trailing dot, in lower case."""
    problem: LookupProblem | None = None
    code: str = ""
    """How the name servers failed, in their own word: SERVFAIL, REFUSED."""

    @property
    def is_answer(self) -> bool:
        """False when nobody could tell: that proves nothing, neither way."""
        return self.problem not in {"server_failed", "timed_out", "unreachable"}


class DnsRecords:
    def __init__(self, servers: Sequence[str] = ()) -> None:
        """`servers` as in WAYPOST_DNS_SERVERS; without them the system's. Raises SettingsError."""
        self._resolver = resolver(servers)

    async def find(self, name: str, kind: RecordType) -> DnsLookup:
        """Aliases on the way are followed, except for CNAME itself."""
        try:
            answer = await self._resolver.resolve(dns.name.from_text(name), kind, search=False)
        except (dns.exception.DNSException, OSError) as error:
            problem, code = _why(error)
            return DnsLookup(name, problem=problem, code=code)
        return DnsLookup(name, tuple(_text(record) for record in answer))

    async def aliases(self, name: str, *, until: str = "") -> tuple[DnsLookup, ...]:
        """The chain of CNAMEs from here: the last look-up is the one that ended it, by `until` or without a value."""
        chain: list[DnsLookup] = []
        while len(chain) < MAX_HOPS:
            chain.append(await self.find(name, "CNAME"))
            name = next(iter(chain[-1].values), "")
            if not name or name == until:
                return tuple(chain)
            if name in {hop.name for hop in chain}:
                break
        return (*chain, DnsLookup(name, problem="loop"))

    async def addresses(self, name: str) -> tuple[str, ...]:
        found = await asyncio.gather(self.find(name, "A"), self.find(name, "AAAA"))
        return tuple(value for each in found for value in each.values)


def printable(text: str) -> str:
    """Fit to be shown and stored: no control characters, no line breaks, not endless."""
    clean = "".join(" " if unicodedata.category(char)[0] in "CZ" else char for char in text[:MAX_SHOWN])
    return clean.strip() if len(text) <= MAX_SHOWN else f"{clean[:-1].strip()}…"


def _text(record: dns.rdata.Rdata) -> str:
    pieces: Sequence[bytes] = getattr(record, "strings", ())
    if pieces:
        return b"".join(pieces).decode(errors="replace")
    return record.to_text().removesuffix(".").lower()


def _why(error: Exception) -> tuple[LookupProblem, str]:
    match error:
        case dns.resolver.NXDOMAIN() | dns.resolver.YXDOMAIN() | dns.name.NameTooLong() | dns.name.LabelTooLong():
            return "no_name", ""
        case dns.resolver.NoAnswer():
            return "no_record", ""
        case dns.exception.Timeout():
            return "timed_out", ""
        case dns.resolver.NoNameservers():
            return _why_none([tried[3] for tried in error.kwargs.get("errors", [])])
        case OSError():
            return "unreachable", ""
    return "server_failed", ""


def _why_none(errors: Sequence[object]) -> tuple[LookupProblem, str]:
    if any(isinstance(error, dns.message.ChainTooLong) for error in errors):
        return "loop", ""
    if all(isinstance(error, OSError) for error in errors):
        return "unreachable", ""
    return "server_failed", next((printable(error) for error in errors if isinstance(error, str)), "")
