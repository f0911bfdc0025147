"""What the account's pages need from the rest of the house, handed in once by the composition root."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from starlette.requests import Request

from waypost.accounts import FileLimiter, Limiter
from waypost.accounts.doors import Doors as Signing
from waypost.kit.errors import RateLimited
from waypost.kit.proxies import Network
from waypost.web.guard import household, peer_address

_PER_PERSON = 10
_PER_ADDRESS = 60
"""Attempts a minute."""


class Throttle:
    """How often an address may try: for one account, and for all together.

    Never an account alone: whoever guesses at it from elsewhere must not lock its owner out (R14).
    """

    def __init__(self, per_person: Limiter, per_address: Limiter, trusted: Sequence[Network]) -> None:
        self._per_person = per_person
        self._per_address = per_address
        self._trusted = trusted

    @classmethod
    def open(cls, data_dir: Path, trusted: Sequence[Network]) -> "Throttle":
        """Shared by all processes of this machine that have the same data directory."""
        run = data_dir / "run"
        person = FileLimiter(run / "limits-person", limit=_PER_PERSON, slots=8_192)
        return cls(person, FileLimiter(run / "limits-doors", limit=_PER_ADDRESS, slots=4_096), trusted)

    async def take(self, request: Request, email: str = "") -> None:
        """Raises RateLimited."""
        address = household(peer_address(request, self._trusted))
        taken = [await self._per_address.take(address)]
        if email and taken[0].allowed:
            taken.append(await self._per_person.take(address + email.strip().lower().encode(errors="replace")))
        if not taken[-1].allowed:
            raise RateLimited(taken[-1].retry_after)


@dataclass(frozen=True, slots=True)
class Doors:
    signing: Signing
    throttle: Throttle
    routes_changed: Callable[[Sequence[str]], None]
    """Called after the commit, so that this machine's very next redirect sees it."""
    shared_domain: str
    cname_target: str
