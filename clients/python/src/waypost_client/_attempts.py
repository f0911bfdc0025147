"""When a request is sent again, and after how long. Pure.

All requests may be sent again: `GET`, `PUT`, `PATCH` and `DELETE` lead to the same state, and each `POST` has an
`Idempotency-Key`.
"""

import random
from collections.abc import Callable
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from typing import Final

BUSY: Final = frozenset({429, 502, 503, 504})
"""Statuses after which a request is sent again; 502 and 504 are those of proxies whose service restarts."""
UNCERTAIN: Final = frozenset({502, 504})
"""After which nobody knows whether the service has processed the request."""
_FIRST_WAIT = 0.5
MAX_WAIT = 60.0
"""Seconds that a call waits between attempts, in all."""


class Attempts:
    """The attempts of one call."""

    def __init__(self, retries: int, choose: Callable[[], float] = random.random) -> None:
        self._retries = retries
        self._choose = choose
        self._done = 0
        self._left = MAX_WAIT

    def wait(self, retry_after: float | None) -> float | None:
        """Return the seconds to wait before the next attempt; None if there is none."""
        # a random part, so that clients which failed together do not return together
        backoff = _FIRST_WAIT * 2**self._done * (0.75 + self._choose() / 2)
        seconds = backoff if retry_after is None else retry_after
        if self._done >= self._retries or seconds > self._left:
            return None
        self._done += 1
        self._left -= seconds
        return seconds


def parse_retry_after(
    value: str | None, now: Callable[[], datetime] = lambda: datetime.now(timezone.utc)
) -> float | None:
    """Return the seconds that `Retry-After` asks for, as a number or a date. None if it is missing or malformed."""
    if value is None:
        return None
    if value.strip().isdecimal():
        return float(value)
    try:
        at = parsedate_to_datetime(value)
    except ValueError:
        return None
    at = at if at.tzinfo else at.replace(tzinfo=timezone.utc)
    return max(0.0, (at - now()).total_seconds())
