"""What an outbound request gets, and how fast it must arrive."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from waypost.kit.urls import Url


@dataclass(frozen=True, slots=True)
class OutboundResponse:
    status: int
    headers: Mapping[str, str]
    """Names are case-insensitive."""
    body: bytes
    """From `Outbound.request`: decompressed, and cut off at `max_body`."""
    url: Url

    def json(self) -> Any:
        """Raises ValueError for a body that is not JSON or is nested too deeply."""
        try:
            return json.loads(self.body)
        except RecursionError:
            raise ValueError("nested too deeply") from None


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast a response must arrive, so that a slow server does not use up the deadline."""

    first_byte: float
    """Seconds until the body begins."""
    rate: int
    """Bytes of the body per second, after that."""
