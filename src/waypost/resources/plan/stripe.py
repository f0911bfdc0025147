"""Asks Stripe's REST API: forms go in, JSON comes out, and every answer is of the API version named here.

https://docs.stripe.com/api
"""

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlencode

import structlog

from waypost.kit.errors import Unavailable
from waypost.kit.urls import canonical
from waypost.outbound import Outbound, OutboundError

VERSION = "2025-03-31.basil"
DEADLINE = 10.0  # seconds
MAX_ANSWER = 1 << 20

log = structlog.get_logger(__name__)


class StripeUnavailable(Unavailable):
    """Stripe cannot be asked right now. Try again in a moment."""


class Stripe:
    def __init__(self, outbound: Outbound, secret_key: str, base_url: str) -> None:
        self._outbound = outbound
        self._base_url = base_url.rstrip("/")
        self._headers = {"Authorization": f"Bearer {secret_key}", "Stripe-Version": VERSION}

    async def get(self, *path: str, **wanted: str) -> dict[str, Any]:
        """Raises StripeUnavailable."""
        return await self._ask("GET", path, f"?{urlencode(wanted)}" if wanted else "", None, {})

    async def post(self, *path: str, fields: Mapping[str, str], only_once: str = "") -> dict[str, Any]:
        """`only_once`: asked for again under the same key, it is the same thing. Raises StripeUnavailable."""
        form = {"Content-Type": "application/x-www-form-urlencoded"}
        headers = form | ({"Idempotency-Key": only_once} if only_once else {})
        return await self._ask("POST", path, "", urlencode(fields).encode(), headers)

    async def delete(self, *path: str) -> dict[str, Any]:
        """Raises StripeUnavailable, also for what is gone already."""
        return await self._ask("DELETE", path, "", None, {})

    async def _ask(
        self, method: str, path: tuple[str, ...], query: str, body: bytes | None, headers: Mapping[str, str]
    ) -> dict[str, Any]:
        url = canonical(f"{self._base_url}/v1/{'/'.join(quote(part, safe='') for part in path)}{query}")
        try:
            answer = await self._outbound.request(
                method,
                url,
                headers={**self._headers, **headers},
                body=body,
                deadline=DEADLINE,
                max_body=MAX_ANSWER,
            )
            found = answer.json()
            if answer.status == 200 and isinstance(found, dict):
                return found
            fault = f"status {answer.status}: {_told(found)}"
        except OutboundError as error:
            fault = str(error)
        except ValueError:
            fault = "the answer is not the JSON it should be"
        log.warning("Stripe could not be asked", what=path[0], fault=fault)  # never the key
        raise StripeUnavailable


def _told(found: object) -> str:
    error = found.get("error") if isinstance(found, dict) else None
    return str(error.get("message"))[:300] if isinstance(error, dict) else ""
