"""A client of Stripe's REST API with a pinned version, and the signatures of its events.

https://docs.stripe.com/api
https://docs.stripe.com/webhooks/signature: `Stripe-Signature: t=…,v1=…`, with one `v1` for each valid secret
"""

import hmac
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlencode

import structlog

from waypost.kit.errors import Unavailable
from waypost.kit.urls import canonical
from waypost.outbound import Outbound, OutboundError

VERSION = "2025-03-31.basil"
DEADLINE = 10.0  # seconds
MAX_RESPONSE_BODY = 1 << 20

_TIME = re.compile(r"[0-9]{1,12}")
_DIGEST = re.compile(r"[0-9a-f]{64}")
TOLERANCE = 300
"""Seconds by which the time of a signature may differ from the clock."""


log = structlog.get_logger(__name__)


class StripeUnavailable(Unavailable):
    """Stripe is not available right now. Try again in a moment."""


class Stripe:
    def __init__(self, outbound: Outbound, secret_key: str, base_url: str) -> None:
        self._outbound = outbound
        self._base_url = base_url.rstrip("/")
        self._headers = {"Authorization": f"Bearer {secret_key}", "Stripe-Version": VERSION}

    async def get(self, *path: str, **parameters: str) -> dict[str, Any]:
        """Raises StripeUnavailable."""
        return await self._request("GET", path, f"?{urlencode(parameters)}" if parameters else "", None, {})

    async def post(self, *path: str, fields: Mapping[str, str], idempotency_key: str = "") -> dict[str, Any]:
        """`idempotency_key`: a repeated request with the same key has no further effect. Raises StripeUnavailable."""
        form = {"Content-Type": "application/x-www-form-urlencoded"}
        headers = form | ({"Idempotency-Key": idempotency_key} if idempotency_key else {})
        return await self._request("POST", path, "", urlencode(fields).encode(), headers)

    async def delete(self, *path: str) -> dict[str, Any]:
        """Raises StripeUnavailable, also for an object that does not exist any more."""
        return await self._request("DELETE", path, "", None, {})

    async def _request(
        self, method: str, path: tuple[str, ...], query: str, body: bytes | None, headers: Mapping[str, str]
    ) -> dict[str, Any]:
        url = canonical(f"{self._base_url}/v1/{'/'.join(quote(part, safe='') for part in path)}{query}")
        try:
            response = await self._outbound.request(
                method,
                url,
                headers={**self._headers, **headers},
                body=body,
                deadline=DEADLINE,
                max_body=MAX_RESPONSE_BODY,
            )
            content = response.json()
            if response.status == 200 and isinstance(content, dict):
                return content
            reason = f"status {response.status}: {_error_message(content)}"
        except OutboundError as error:
            reason = str(error)
        except ValueError:
            reason = "the response is not valid JSON"
        log.warning("request to Stripe failed", resource=path[0], reason=reason)  # never the key
        raise StripeUnavailable


def _error_message(content: object) -> str:
    error = content.get("error") if isinstance(content, dict) else None
    return str(error.get("message"))[:300] if isinstance(error, dict) else ""


def signature(secret: str, t: int, body: bytes) -> str:
    return f"t={t},v1={_digest(secret, t, body)}"


def is_plausible(header: str, *, now: float) -> bool:
    """Whether the header is recent and well-formed, before the body is read."""
    return _read_signature(header, now) is not None


def is_signed(secret: str, header: str, body: bytes, *, now: float) -> bool:
    """`body`: as received."""
    parsed = _read_signature(header, now)
    if parsed is None:
        return False
    t, digests = parsed
    expected = _digest(secret, t, body)
    return any(hmac.compare_digest(expected, digest) for digest in digests)


def _read_signature(header: str, now: float) -> tuple[int, list[str]] | None:
    """Return (time, digests), or None unless there is one recent time and at least one digest."""
    pairs = [part.strip().partition("=")[::2] for part in header.split(",")]
    times = [value for name, value in pairs if name == "t" and _TIME.fullmatch(value)]
    digests = [value for name, value in pairs if name == "v1" and _DIGEST.fullmatch(value)]
    if len(times) != 1 or not digests or abs(now - int(times[0])) > TOLERANCE:
        return None
    return int(times[0]), digests


def _digest(secret: str, t: int, body: bytes) -> str:
    return hmac.digest(secret.encode(), b"%d.%b" % (t, body), "sha256").hex()
