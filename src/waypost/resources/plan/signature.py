"""Verifies events from Stripe: `Stripe-Signature: t=…,v1=…`, with one `v1` for each valid secret.

https://docs.stripe.com/webhooks/signature
"""

import hmac
import re

_TIME = re.compile(r"[0-9]{1,12}")
_DIGEST = re.compile(r"[0-9a-f]{64}")
TOLERANCE = 300
"""Seconds by which the time of a signature may differ from the clock."""


def signature(secret: str, t: int, body: bytes) -> str:
    return f"t={t},v1={_digest(secret, t, body)}"


def is_plausible(header: str, *, now: float) -> bool:
    """Whether the header is recent and well-formed, before the body is read."""
    return _read(header, now) is not None


def is_signed(secret: str, header: str, body: bytes, *, now: float) -> bool:
    """`body`: as received."""
    read = _read(header, now)
    if read is None:
        return False
    t, digests = read
    expected = _digest(secret, t, body)
    return any(hmac.compare_digest(expected, digest) for digest in digests)


def _read(header: str, now: float) -> tuple[int, list[str]] | None:
    """(time, digests); None unless there is one recent time and at least one digest."""
    pairs = [part.strip().partition("=")[::2] for part in header.split(",")]
    times = [value for name, value in pairs if name == "t" and _TIME.fullmatch(value)]
    digests = [value for name, value in pairs if name == "v1" and _DIGEST.fullmatch(value)]
    if len(times) != 1 or not digests or abs(now - int(times[0])) > TOLERANCE:
        return None
    return int(times[0]), digests


def _digest(secret: str, t: int, body: bytes) -> str:
    return hmac.digest(secret.encode(), b"%d.%b" % (t, body), "sha256").hex()
