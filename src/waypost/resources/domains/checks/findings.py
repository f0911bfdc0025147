"""What a check goes by, what it saw, and what came of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from waypost.outbound import DnsLookup

_QUOTES = "\"'“”\u2018\u2019 \t"  # and blanks: what comes along when a value is copied


@dataclass(frozen=True, slots=True)
class Seen:
    txt: DnsLookup
    chain: Sequence[DnsLookup]
    """The look-ups of CNAME from the host name on, at least one."""
    addresses: Sequence[str] = ()
    advice: str = ""
    """For one whose record was found in a wrong place."""


@dataclass(frozen=True, slots=True)
class Claim:
    hostname: str
    token: str
    target: str
    """Where its CNAME may lead instead."""
    needs_txt: bool = False
    """A CNAME proves nothing: another account has verified the name before."""

    @property
    def txt_name(self) -> str:
        return f"_waypost.{self.hostname}"

    def is_proven(self, seen: Seen) -> bool:
        return self.has_token(seen.txt) or (not self.needs_txt and self.has_target(*seen.chain))

    def is_answered(self, seen: Seen) -> bool:
        return seen.txt.is_answer and (self.needs_txt or seen.chain[-1].is_answer)

    def has_token(self, lookup: DnsLookup) -> bool:
        return any(value.strip(_QUOTES) == self.token for value in lookup.values)

    def has_target(self, *chain: DnsLookup) -> bool:
        return any(self.target in hop.values for hop in chain)


@dataclass(frozen=True, slots=True)
class Proof:
    outcome: Literal["proven", "unproven", "unclear"]
    """unclear: nobody could tell."""
    error: str | None = None
    """In plain words, unless it is proven."""
