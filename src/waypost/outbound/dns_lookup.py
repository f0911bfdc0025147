"""The result of a DNS lookup."""

import unicodedata
from dataclasses import dataclass
from typing import Literal

RecordType = Literal["TXT", "CNAME", "A", "AAAA"]
LookupProblem = Literal["no_name", "no_record", "server_failed", "timed_out", "unreachable", "loop"]
MAX_PRINTED = 200  # characters


@dataclass(frozen=True, slots=True)
class DnsLookup:
    """The result of a lookup. Without values, `problem` is the reason."""

    name: str
    values: tuple[str, ...] = ()
    """TXT: the text, its strings joined. Others: names or addresses in lower case, without a trailing dot."""
    problem: LookupProblem | None = None
    code: str = ""
    """The name servers' own code: SERVFAIL, REFUSED."""

    @property
    def is_conclusive(self) -> bool:
        """False if no name server could answer: then it shows neither that the record exists nor that it does not."""
        return self.problem not in {"server_failed", "timed_out", "unreachable"}


def printable(text: str) -> str:
    """Remove control characters and line breaks, and limit the length."""
    clean = "".join(" " if unicodedata.category(char)[0] in "CZ" else char for char in text[:MAX_PRINTED])
    return clean.strip() if len(text) <= MAX_PRINTED else f"{clean[:-1].strip()}…"
