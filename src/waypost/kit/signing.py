"""Signatures of webhook deliveries: what a sender writes into `X-Signature`, and its verification by a receiver."""

import hmac
import re

TOLERANCE = 300
"""Seconds by which a signature's time may differ from the receiver's."""

_HEADER = re.compile(r"t=(?P<t>[0-9]{1,12}),v1=(?P<v1>[0-9a-f]{64})")


def signature(secret: str, t: int, body: bytes) -> str:
    """`t`: seconds since 1970, the time of signing."""
    return f"t={t},v1={_digest(secret, t, body)}"


def fault(secret: str, header: str, body: bytes, *, now: float) -> str | None:
    """Why a signature is invalid; None if it is valid. `body`: the bytes as received."""
    found = _HEADER.fullmatch(header)
    if not found:
        return "the signature is missing or malformed"
    if not hmac.compare_digest(_digest(secret, int(found["t"]), body), found["v1"]):
        return "the signature does not match the body and the secret"
    if abs(now - int(found["t"])) > TOLERANCE:
        return f"the signature's time is more than {TOLERANCE} seconds away"
    return None


def _digest(secret: str, t: int, body: bytes) -> str:
    return hmac.digest(secret.encode(), b"%d.%b" % (t, body), "sha256").hex()
