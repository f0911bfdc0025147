"""Signatures of the bodies of webhooks, as Stripe's: a header has a time and, for each valid secret, a digest.

Those of Standard Webhooks take the secret decoded from base64 as key.
"""

import hmac
import re
import secrets
from base64 import b64decode, b64encode

TOLERANCE = 300
"""Seconds by which a signature's time may differ from the receiver's."""

_TIME = re.compile(r"[0-9]{1,12}")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_STANDARD_SECRET = re.compile(r"whsec_([A-Za-z0-9+/]{43}=)")
"""Older ones are in base64url, without padding."""


def new_secret() -> str:
    """Return a secret for both kinds of signatures: `signature` takes its characters as key."""
    return f"whsec_{b64encode(secrets.token_bytes(32)).decode()}"


def signature(secret: str, t: int, body: bytes) -> str:
    """Return the header. `t`: time of signing, in seconds since 1970."""
    return f"t={t},v1={_digest(secret, t, body)}"


def standard_headers(secret: str, message_id: str, t: int, body: bytes) -> dict[str, str]:
    """Return the headers of Standard Webhooks: none for an older secret. `t`: seconds since 1970."""
    encoded = _STANDARD_SECRET.fullmatch(secret)
    if not encoded:
        return {}
    digest = hmac.digest(b64decode(encoded[1]), b"%b.%d.%b" % (message_id.encode(), t, body), "sha256")
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(t),
        "webhook-signature": f"v1,{b64encode(digest).decode()}",
    }


def find_problem(secret: str, header: str, body: bytes, *, now: float) -> str | None:
    """Return why a signature is invalid, or None. `body`: the bytes as received."""
    parsed = _read(header)
    if parsed is None:
        return "the signature is missing or malformed"
    t, digests = parsed
    expected = _digest(secret, t, body)
    if not any(hmac.compare_digest(expected, digest) for digest in digests):
        return "the signature does not match the body and the secret"
    if abs(now - t) > TOLERANCE:
        return f"the signature's time is more than {TOLERANCE} seconds away"
    return None


def is_plausible(header: str, *, now: float) -> bool:
    """Return whether the header is recent and well-formed, before the body is read."""
    parsed = _read(header)
    return parsed is not None and abs(now - parsed[0]) <= TOLERANCE


def _read(header: str) -> tuple[int, list[str]] | None:
    """Return (time, digests), or None unless there is one time and at least one digest."""
    pairs = [part.strip().partition("=")[::2] for part in header.split(",")]
    times = [value for name, value in pairs if name == "t" and _TIME.fullmatch(value)]
    digests = [value for name, value in pairs if name == "v1" and _DIGEST.fullmatch(value)]
    return (int(times[0]), digests) if len(times) == 1 and digests else None


def _digest(secret: str, t: int, body: bytes) -> str:
    return hmac.digest(secret.encode(), b"%d.%b" % (t, body), "sha256").hex()
