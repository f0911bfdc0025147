"""Asks for a URL of this service itself, as a visitor would: its proxy and its certificate are what is checked."""

from pathlib import Path

import aiohttp

from waypost.outbound.client import tls_context
from waypost.outbound.errors import Unreachable, reason_of

_DEADLINE = 5.0  # seconds


async def status_of(url: str, *, ca_file: Path | None) -> int:
    """Return the HTTP status. The address may be private: the URL is the operator's. Raises Unreachable."""
    timeout = aiohttp.ClientTimeout(total=_DEADLINE)
    try:
        async with (
            aiohttp.ClientSession(timeout=timeout) as session,
            session.get(url, ssl=tls_context(ca_file), allow_redirects=False) as response,
        ):
            return response.status
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        raise Unreachable(reason_of(error)) from None
