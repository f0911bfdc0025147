"""Errors of the certificate authority, from its problem documents (RFC 7807), with texts for domain owners.

AcmeError
├── AuthorityRefused      it refuses this name
├── AuthorityRateLimited  it refuses for now: too many orders for this name, or for all of ours
└── AuthorityUnavailable  it cannot be used: unreachable, failing, or not an ACME server
"""

import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from waypost.outbound.response import OutboundResponse

LONGEST_WAIT = 7 * 86_400.0
"""Seconds: longer waits that an authority requests are shortened to this."""
NO_ACCOUNT = (
    "The certificate authority does not accept this service's account. The administrator of this service has to fix it."
)
_URN = "urn:ietf:params:acme:error:"
_TEXT_LIMIT = 400
_INVISIBLE = re.compile(r"[^\x20-\x7e\xa1-\ufffd]+")
_REASONS = {
    "caa": "a CAA record of this domain forbids it",
    "connection": "it could not connect to port 80 of this hostname",
    "dns": "it found no IP address for this hostname, or its name servers did not answer",
    "incorrectResponse": "another server answers at this hostname",
    "unauthorized": "another server answers at this hostname",
    "rejectedIdentifier": "it does not issue certificates for this hostname",
    "unsupportedIdentifier": "it does not issue certificates for this hostname",
    "externalAccountRequired": "it requires an account created in advance, which is not supported",
    "userActionRequired": "its terms of service have changed and must be accepted on its site",
    "invalidContact": "it rejects the operator's email address",
    "unsupportedContact": "it rejects the operator's email address",
    "rateLimited": "too many certificates were requested recently",
}


class AcmeError(Exception):
    def __init__(self, reason: str, *, kind: str = "", detail: str = "", retry_after: float | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        """A sentence for the domain's owner."""
        self.kind = kind
        """The last part of the problem's URN, such as `badNonce`."""
        self.detail = detail
        """The authority's own text, or a text for the operator only."""
        self.retry_after = retry_after
        """Seconds to wait, as requested by the authority."""


class AuthorityRefused(AcmeError):
    pass


class AuthorityRateLimited(AcmeError):
    def is_about(self, hostname: str) -> bool:
        """Return whether it names this host or a parent domain: then other names may be ordered."""
        named = set(re.findall(r"[\w-]+(?:\.[\w-]+)+", self.detail.lower()))
        labels = hostname.split(".")
        parents = {".".join(labels[start:]) for start in range(len(labels) - 1)}
        return bool(named & parents) or "exact set of" in self.detail


class AuthorityUnavailable(AcmeError):
    pass


def problem_of(response: OutboundResponse) -> AcmeError:
    """Return the error of a response with status 400 or above."""
    try:
        kind, detail = _read(response.json())
    except ValueError:
        kind, detail = "", ""
    if response.status == 429:
        kind = "rateLimited"
    if kind != "rateLimited" and (response.status >= 500 or not kind):
        reason = f"The certificate authority is failing: it responded with status {response.status}."
        return AuthorityUnavailable(reason, retry_after=retry_after(response))
    return _refusal(kind, detail, retry_after(response))


def account_refused(refused: AuthorityRefused) -> AuthorityUnavailable:
    """A refusal of our account, which affects every name."""
    return AuthorityUnavailable(NO_ACCOUNT, detail=f"{refused.kind}: {refused.reason}", retry_after=refused.retry_after)


def problem_in(document: object) -> AcmeError:
    """Return the error in the `error` field of a challenge or an order."""
    return _refusal(*_read(document))


def retry_after(response: OutboundResponse) -> float | None:
    text = response.headers.get("Retry-After", "").strip()
    if text.isascii() and text.isdigit():
        seconds = float(text[:9])
    else:
        try:
            at = parsedate_to_datetime(text)
        except ValueError:
            return None
        seconds = (at.replace(tzinfo=at.tzinfo or UTC) - datetime.now(UTC)).total_seconds()
    return min(max(0.0, seconds), LONGEST_WAIT)


def _read(document: object) -> tuple[str, str]:
    """Return (kind, the authority's own text), empty if missing."""
    if not isinstance(document, dict):
        return "", ""
    kind, detail = document.get("type"), document.get("detail")
    return (
        kind.removeprefix(_URN)[:64] if isinstance(kind, str) else "",
        _INVISIBLE.sub(" ", detail)[:_TEXT_LIMIT].strip() if isinstance(detail, str) else "",
    )


def _refusal(kind: str, detail: str, retry_after: float | None = None) -> AcmeError:
    known = _REASONS.get(kind, "")
    quoted = f' It said: "{detail}"' if detail else ""
    reason = f"The certificate authority refused{': ' + known if known else ''}.{quoted}"
    refused = AuthorityRateLimited if kind == "rateLimited" else AuthorityRefused
    return refused(reason, kind=kind, detail=detail, retry_after=retry_after)
