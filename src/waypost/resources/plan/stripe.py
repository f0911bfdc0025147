"""A client of Stripe's REST API with a pinned version: https://docs.stripe.com/api"""

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
