"""Time-based one-time passwords (RFC 6238): SHA-1, 6 digits, 30 seconds, which every authenticator app has. Pure."""

import base64
import hmac
import secrets
from collections.abc import Iterator
from datetime import datetime, timedelta
from urllib.parse import quote, urlencode

from waypost.kit.clock import EPOCH

DIGITS = 6
STEP = timedelta(seconds=30)
_WINDOW = 1
"""Steps that the clock of a phone may be ahead or behind."""
_SECRET_SIZE = 20  # bytes, as long as the digest


def new_secret() -> str:
    """Return a secret in base32, as authenticator apps take it."""
    return base64.b32encode(secrets.token_bytes(_SECRET_SIZE)).decode()


def code_of(secret: str, step: int) -> str:
    """Return the code of a time step, which is a number of half minutes since 1970."""
    digest = hmac.digest(base64.b32decode(secret), step.to_bytes(8, "big"), "sha1")
    start = digest[-1] & 0xF
    number = int.from_bytes(digest[start : start + 4], "big") & 0x7FFF_FFFF
    return f"{number % 10**DIGITS:0{DIGITS}}"


def step_at(at: datetime) -> int:
    return (at - EPOCH) // STEP


def matching_steps(secret: str, code: str, now: datetime) -> Iterator[int]:
    """Yield the time steps around `now` that have this code, the earliest first."""
    current = step_at(now)
    for step in range(current - _WINDOW, current + _WINDOW + 1):
        if hmac.compare_digest(code_of(secret, step).encode(), code.encode()):
            yield step


def uri(secret: str, email: str, issuer: str) -> str:
    """Return what the QR code of an enrolment contains."""
    parameters = urlencode({"secret": secret, "issuer": issuer}, quote_via=quote)
    return f"otpauth://totp/{quote(issuer)}:{quote(email)}?{parameters}"


def in_groups(secret: str) -> str:
    """Return the secret as people type it."""
    return " ".join(secret[start : start + 4] for start in range(0, len(secret), 4))
