"""Whether an event is from Stripe: `Stripe-Signature: t=…,v1=…`, with a `v1` for each secret while one is replaced.

https://docs.stripe.com/webhooks/signature
"""

import hmac

TOLERANCE = 300
"""Seconds by which a signature's time may differ from ours."""


def signature(secret: str, t: int, body: bytes) -> str:
    return f"t={t},v1={_digest(secret, t, body)}"


def is_signed(secret: str, header: str, body: bytes, *, now: float) -> bool:
    """`body`: the bytes as they came."""
    pairs = [part.strip().partition("=")[::2] for part in header.split(",")]
    times = [value for name, value in pairs if name == "t" and value.isascii() and value.isdigit() and len(value) < 13]
    if len(times) != 1 or abs(now - int(times[0])) > TOLERANCE:
        return False
    wanted = _digest(secret, int(times[0]), body).encode()
    return any(hmac.compare_digest(wanted, value.encode()) for name, value in pairs if name == "v1")


def _digest(secret: str, t: int, body: bytes) -> str:
    return hmac.digest(secret.encode(), b"%d.%b" % (t, body), "sha256").hex()
