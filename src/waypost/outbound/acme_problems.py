"""Why there is no certificate, in plain words: what an authority's problem documents (RFC 7807) come to.

AcmeError
├── Refused   the authority says no to this name
├── Limited   it says no for now: too many orders of this name, or of all of ours
└── Down      the authority itself cannot be used: unreachable, out of order, or no ACME server at all
"""

import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from waypost.outbound.client import OutboundResponse

LONGEST_WAIT = 7 * 86_400.0
"""Seconds: what an authority asks for beyond them is not believed."""
NO_ACCOUNT = (
    "The certificate authority does not take this service's account. Whoever runs the service must see to that."
)
_URN = "urn:ietf:params:acme:error:"
_TEXT_LIMIT = 400
_UNSEEN = re.compile(r"[^\x20-\x7e\xa1-\ufffd]+")
_WORDS = {
    "caa": "a CAA record of the name forbids it",
    "connection": "it could not connect to port 80 of the name's address",
    "dns": "it found no address of the name, or got no answer from its name servers",
    "incorrectResponse": "another server answered at the name's address",
    "unauthorized": "another server answered at the name's address",
    "rejectedIdentifier": "it issues no certificates for this name",
    "unsupportedIdentifier": "it issues no certificates for this name",
    "externalAccountRequired": "it serves only accounts that were opened with it beforehand, which we cannot",
    "userActionRequired": "its terms have changed and must be agreed to on its site",
    "invalidContact": "it does not take the e-mail address of whoever runs this service",
    "unsupportedContact": "it does not take the e-mail address of whoever runs this service",
    "rateLimited": "too many certificates were asked for lately",
}


class AcmeError(Exception):
    def __init__(self, reason: str, *, retry_after: float | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        """A sentence for the name's owner."""
        self.retry_after = retry_after
        """Seconds the authority asks to wait."""


class Refused(AcmeError):
    def __init__(self, kind: str, reason: str, *, retry_after: float | None = None) -> None:
        super().__init__(reason, retry_after=retry_after)
        self.kind = kind
        """The last part of the problem's URN, such as `badNonce`."""


class Limited(AcmeError):
    def __init__(self, detail: str, *, retry_after: float | None = None) -> None:
        super().__init__(_told("rateLimited", detail), retry_after=retry_after)
        self._detail = detail

    def is_about(self, hostname: str) -> bool:
        """Whether it names this host, or a domain it belongs to: other names may be ordered then."""
        said = set(re.findall(r"[\w-]+(?:\.[\w-]+)+", self._detail.lower()))
        labels = hostname.split(".")
        parents = {".".join(labels[start:]) for start in range(len(labels) - 1)}
        return bool(said & parents) or "exact set of" in self._detail


class Down(AcmeError):
    def __init__(self, reason: str, *, detail: str = "", retry_after: float | None = None) -> None:
        super().__init__(reason, retry_after=retry_after)
        self.detail = detail
        """For whoever runs the service, and nobody else."""


def problem_of(answer: OutboundResponse) -> AcmeError:
    """What an answer of 400 and above says."""
    kind, detail = _read(_document(answer))
    wait = retry_after(answer)
    if answer.status == 429 or kind == "rateLimited":
        return Limited(detail, retry_after=wait)
    if answer.status >= 500 or not kind:
        reason = f"The certificate authority is out of order: it answered with status {answer.status}."
        return Down(reason, retry_after=wait)
    return Refused(kind, _told(kind, detail), retry_after=wait)


def of_our_account(refused: Refused) -> Down:
    """What the authority refuses to us, it refuses to every name."""
    return Down(NO_ACCOUNT, detail=f"{refused.kind}: {refused.reason}", retry_after=refused.retry_after)


def problem_in(document: object) -> AcmeError:
    """What stands in the `error` of a challenge or of an order."""
    kind, detail = _read(document)
    return Limited(detail) if kind == "rateLimited" else Refused(kind, _told(kind, detail))


def retry_after(answer: OutboundResponse) -> float | None:
    text = answer.headers.get("Retry-After", "").strip()
    if text.isascii() and text.isdigit():
        seconds = float(text[:9])
    else:
        try:
            at = parsedate_to_datetime(text)
        except ValueError:
            return None
        seconds = (at.replace(tzinfo=at.tzinfo or UTC) - datetime.now(UTC)).total_seconds()
    return min(max(0.0, seconds), LONGEST_WAIT)


def _document(answer: OutboundResponse) -> object:
    try:
        return answer.json()
    except ValueError:
        return None


def _read(document: object) -> tuple[str, str]:
    """(kind, the authority's own words), both empty where there are none."""
    if not isinstance(document, dict):
        return "", ""
    kind, detail = document.get("type"), document.get("detail")
    return (
        kind.removeprefix(_URN)[:64] if isinstance(kind, str) else "",
        _UNSEEN.sub(" ", detail)[:_TEXT_LIMIT].strip() if isinstance(detail, str) else "",
    )


def _told(kind: str, detail: str) -> str:
    words = _WORDS.get(kind, "")
    said = f' It said: "{detail}"' if detail else ""
    return f"The certificate authority refused{': ' + words if words else ''}.{said}"
