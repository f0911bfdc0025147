"""Signatures of webhook deliveries: the header `X-Signature` and its verification."""

import hmac
import re

TOLERANCE = 300
"""Seconds by which a signature's time may differ from the receiver's."""

_HEADER = re.compile(r"t=(?P<t>[0-9]{1,12}),v1=(?P<v1>[0-9a-f]{64})")


def signature(secret: str, t: int, body: bytes) -> str:
    """Return the header. `t`: time of signing, in seconds since 1970."""
    return f"t={t},v1={_digest(secret, t, body)}"


def find_problem(secret: str, header: str, body: bytes, *, now: float) -> str | None:
    """Return why a signature is invalid, or None. `body`: the bytes as received."""
    match = _HEADER.fullmatch(header)
    if not match:
        return "the signature is missing or malformed"
    if not hmac.compare_digest(_digest(secret, int(match["t"]), body), match["v1"]):
        return "the signature does not match the body and the secret"
    if abs(now - int(match["t"])) > TOLERANCE:
        return f"the signature's time is more than {TOLERANCE} seconds away"
    return None


def _digest(secret: str, t: int, body: bytes) -> str:
    return hmac.digest(secret.encode(), b"%d.%b" % (t, body), "sha256").hex()
