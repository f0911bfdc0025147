"""Asks for a URL of this service itself, as a visitor would: its proxy and its certificate are what is checked."""

from pathlib import Path

from waypost.kit.urls import ANY_NAME, canonical
from waypost.outbound.client import OperatorOutbound

_DEADLINE = 5.0  # seconds


async def status_of(url: str, *, ca_file: Path | None) -> int:
    """Return the HTTP status. The address may be private: the URL is the operator's. Raises Unreachable."""
    outbound = OperatorOutbound(ca_file=ca_file)
    response = await outbound.request("GET", canonical(url, private=ANY_NAME), deadline=_DEADLINE, max_body=0)
    return response.status
