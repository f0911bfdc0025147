"""The records that verify a domain, what the DNS returned, and the verdict."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from waypost.outbound import DnsLookup

_QUOTES = "\"'“”\u2018\u2019 \t"  # and blanks: often copied along with a value


@dataclass(frozen=True, slots=True)
class DnsEvidence:
    txt: DnsLookup
    chain: Sequence[DnsLookup]
    """The CNAME lookups from the hostname on, at least one."""
    addresses: Sequence[str] = ()
    advice: str = ""
    """What to do when the record was found at a wrong name."""


@dataclass(frozen=True, slots=True)
class ExpectedRecords:
    hostname: str
    token: str
    target: str
    """What a CNAME record must point to."""
    needs_txt: bool = False
    """A CNAME record is not accepted: another account has verified the hostname before."""

    @property
    def txt_name(self) -> str:
        return f"_waypost.{self.hostname}"

    def are_in(self, evidence: DnsEvidence) -> bool:
        return self.has_token(evidence.txt) or (not self.needs_txt and self.has_target(*evidence.chain))

    def are_answered_by(self, evidence: DnsEvidence) -> bool:
        return evidence.txt.is_answer and (self.needs_txt or evidence.chain[-1].is_answer)

    def has_token(self, lookup: DnsLookup) -> bool:
        return any(value.strip(_QUOTES) == self.token for value in lookup.values)

    def has_target(self, *chain: DnsLookup) -> bool:
        return any(self.target in hop.values for hop in chain)


@dataclass(frozen=True, slots=True)
class DnsVerdict:
    outcome: Literal["verified", "unverified", "unclear"]
    """unclear: no name server could say."""
    error: str | None = None
    """For the owner, unless it is verified."""
